"""`@cellwright.tool`: a mark on a notebook's function that agents may call. Where nobody looks, it does nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, TypeVar

MARK: Final = "__cellwright_tool__"
"""The attribute that is `True` on a marked function."""
_PACKAGE: Final = "cellwright"

Function = TypeVar("Function", bound=Callable[..., Any])


def tool(function: Function) -> Function:
    """Mark a function as callable by agents: it is given back as it is, and works as before."""
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"@cellwright.tool marks functions, and this is a {type(function).__name__}.")
    setattr(function, MARK, True)
    return function


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
    module.__dict__.update(tool=tool, __all__=["tool"])
    if not _host:
        note_host()
    for name in _host:
        # Kept in our own list: taking a module apart would touch more than leaving it.
        sys.modules.pop(name, None)
    sys.modules[_PACKAGE] = module
