"""The room's names that take long to load, each from its module when it is first used."""

from __future__ import annotations

import importlib
import warnings

_ROOM = "cellwright.app"
_HOMES = {
    "run_network": ("Network",),
    "workspaces": ("WorkspaceOptions", "agent_context_opener", "open_agent_context"),
}
_RENAMED = {
    "StudioOptions": "WorkspaceOptions",
    "open_studio": "open_agent_context",
    "studio_opener": "agent_context_opener",
}
"""Names of the version before: they work for one version more."""


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        message = f"{_ROOM}.{name} is called {_RENAMED[name]} now; the old name goes with the next version."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{_ROOM}.{home}"), name)
    raise AttributeError(f"module {_ROOM!r} has no attribute {name!r}")
