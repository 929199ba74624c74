"""The wiring: which parts an interface gets, put together in one place.

Owns:   opening a notebook, a run's workspace, and the process that executes runs, all of it real.
Above:  cli, server, testing, and whoever writes Python.   Below: settings, and every room that does the work.
Never:  work of its own: it reads settings, chooses parts and hands them over.

`notebooks` opens one notebook, `workspaces` what agents work with, `toolset` lists their tools, `runs` executes runs,
`verification` checks and proves, `doctor` looks at this machine. Names that load agents and models are loaded when
first used.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

from cellwright.app.notebooks import Files, open_notebook, open_pool

if TYPE_CHECKING:
    from cellwright.app.run_network import Network
    from cellwright.app.workspaces import WorkspaceOptions, agent_context_opener, open_agent_context

__all__ = [
    "Files",
    "Network",
    "WorkspaceOptions",
    "agent_context_opener",
    "open_agent_context",
    "open_notebook",
    "open_pool",
]

_HOMES = {
    "Network": "run_network",
    "WorkspaceOptions": "workspaces",
    "agent_context_opener": "workspaces",
    "open_agent_context": "workspaces",
}
"""Names that take long to load, and the modules they are in."""
_RENAMED = {
    "StudioOptions": "WorkspaceOptions",
    "open_studio": "open_agent_context",
    "studio_opener": "agent_context_opener",
}
"""Names of the version before: they work for one version more."""


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        message = f"{__name__}.{name} is called {_RENAMED[name]} now; the old name goes with the next version."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
