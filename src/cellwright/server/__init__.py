"""Server: the daemon, one process per state directory in which runs live, and the way to it.

Owns:   starting, finding, replacing and ending the daemon; its socket and what is said over it; falling back to none;
        the web door (`web`) and marimo's editor beside it (`editor`).
Above:  cli.   Below: app, settings, telemetry, runs, journal, residents.
Never:  what a run does (runs), API keys (models' gateway has them), reading and steering runs: that is the journal's.

The daemon itself is in `cellwright.server.daemon`: a door loads only what it takes to speak with it.
"""

from cellwright.server.client import Daemon, connect, runs_here_or_there
from cellwright.server.door import RunsDoor
from cellwright.server.launching import Launch
from cellwright.server.protocol import Standing, TakenBack, WebOpen
from cellwright.server.web.addresses import WebWish

__all__ = [
    "Daemon",
    "Launch",
    "RunsDoor",
    "Standing",
    "TakenBack",
    "WebOpen",
    "WebWish",
    "connect",
    "runs_here_or_there",
]
