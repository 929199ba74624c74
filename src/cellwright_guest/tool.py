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


def offer() -> None:
    """From here on, `import cellwright` in this process gives a notebook what is meant for it, and nothing of the host.

    Not a wall, only good manners: the cage is what keeps a notebook's code in.
    """
    module = ModuleType(_PACKAGE, "What a notebook may use of Cellwright.")
    module.__spec__ = ModuleSpec(_PACKAGE, None)
    module.__dict__.update(tool=tool, __all__=["tool"])
    for name in [name for name in sys.modules if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]:
        del sys.modules[name]
    sys.modules[_PACKAGE] = module
