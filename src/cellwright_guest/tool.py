"""What a notebook in a kernel finds as `cellwright`: the few names that are meant for it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from cellwright_cells import connection, files, tool

_PACKAGE: Final = "cellwright"

_host: dict[str, ModuleType] = {}


def note_host() -> None:
    """In a zygote: which modules are the host's. A kernel that looked through all would copy a page for each name."""
    _host.update({
        name: module
        for name, module in sys.modules.items()
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
    })  # fmt: skip


def offer() -> None:
    """From here on, `import cellwright` in this process gives a notebook what is meant for it, and nothing of the host.

    Not a wall, only good manners: the cage is what keeps a notebook's code in.
    """
    module = ModuleType(_PACKAGE, "What a notebook may use of Cellwright.")
    module.__spec__ = ModuleSpec(_PACKAGE, None)
    module.__dict__.update(connection=connection, files=files, tool=tool, __all__=["connection", "files", "tool"])
    if not _host:
        note_host()
    for name in _host:
        # Kept in our own list: taking a module apart would touch more than leaving it.
        sys.modules.pop(name, None)
    sys.modules[_PACKAGE] = module
