"""The wiring: which parts an interface gets, put together in one place.

Owns:   opening a notebook, a run's workspace, and the process that executes runs, all of it real.
Above:  cli, server, testing, and whoever writes Python.   Below: settings, and every room that does the work.
Never:  work of its own: it reads settings, chooses parts and hands them over.

`notebooks` opens one notebook, `workspaces` what agents work with, `toolset` lists their tools, `runs` executes runs,
`verification` checks and proves, `doctor` looks at this machine. Names that load agents and models are loaded when
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellwright.app.names import __getattr__ as __getattr__
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
