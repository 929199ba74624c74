"""The room's names that take long to load, each from its module when it is first used."""

from __future__ import annotations

import importlib

_ROOM = "cellwright.app"
_HOMES = {
    "run_network": ("Network",),
    "workspaces": ("WorkspaceOptions", "agent_context_opener", "open_agent_context"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{_ROOM}.{home}"), name)
    raise AttributeError(f"module {_ROOM!r} has no attribute {name!r}")
