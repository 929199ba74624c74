"""The room's names, each from its module when it is first used: a command that only connects needs little of it."""

from __future__ import annotations

import importlib

_ROOM = "cellwright.server"
_HOMES = {
    **dict.fromkeys(("DaemonClient", "connect", "runs_here_or_there"), "daemon.client"),
    "DaemonLaunch": "daemon.launch",
    **dict.fromkeys(("DaemonStatus", "WebAddress"), "daemon.messages"),
    "RunClient": "executor",
    "WebOptions": "http.addresses",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {_ROOM!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{_ROOM}.{_HOMES[name]}"), name)
