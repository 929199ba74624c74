"""Server: the daemon, one process per state directory in which runs live, and the way to it.

Owns:   starting, finding, replacing and ending the daemon; its socket and protocol; falling back to none;
        the HTTP API with its event streams, the same for other agents over MCP and for editors over
        ACP, and marimo's editor.
Above:  cli.   Below: app, settings, telemetry, runs, journal, background.
Never:  what a run does (runs), API keys (models' gateway has them), reading and steering runs: that is the journal's.

`daemon/` is the process and its client, `http/` the API (`routes/`, `schemas/`, `auth/`, `sse`), `editor/` marimo's
editor on an origin of its own, `mcp/` tools for other agents, `acp/` runs in editors, `executor` what all of them
call. An interface loads only what it takes to speak with the daemon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellwright.server.names import __getattr__ as __getattr__

if TYPE_CHECKING:
    from cellwright.server.daemon.client import DaemonClient, connect, runs_here_or_there
    from cellwright.server.daemon.launch import DaemonLaunch
    from cellwright.server.daemon.messages import DaemonStatus, WebAddress
    from cellwright.server.executor import RunClient
    from cellwright.server.http.addresses import WebOptions

__all__ = [
    "DaemonClient",
    "DaemonLaunch",
    "DaemonStatus",
    "RunClient",
    "WebAddress",
    "WebOptions",
    "connect",
    "runs_here_or_there",
]
