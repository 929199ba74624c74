"""Cellwright: state a goal, get a notebook you can trust.

Importing this package costs nothing: every name is loaded when first used (PEP 562).
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from cellwright.platforms import check_platform

if TYPE_CHECKING:
    from cellwright.app import open_notebook
    from cellwright_cells import connection, files, tool

__all__ = ["connection", "files", "open_notebook", "tool"]

# What notebooks write comes from where a notebook in a cage has it: without the host's rooms.
_HOMES = {
    "connection": "cellwright_cells",
    "files": "cellwright_cells",
    "open_notebook": "cellwright.app",
    "tool": "cellwright_cells",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cellwright' has no attribute {name!r}")
    if name == "open_notebook":
        check_platform(sys.platform)
    return getattr(importlib.import_module(home), name)
