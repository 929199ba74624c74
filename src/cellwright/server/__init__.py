"""Server: the daemon, one process per state directory in which runs live, and the way to it.

Owns:   starting, finding, replacing and ending the daemon; its socket and what is said over it; falling back to none;
        the web door (`web`) and marimo's editor beside it (`editor`).
Above:  cli.   Below: app, settings, telemetry, runs, journal, residents.
Never:  what a run does (runs), API keys (models' gateway has them), reading and steering runs: that is the journal's.

The daemon itself is in `cellwright.server.daemon.daemon`: a door loads only what it takes to speak with it.
"""

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
