"""`@cellwright.tool`: a mark on a notebook's function that agents may call. Where nobody looks, it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

MARK: Final = "__cellwright_tool__"
"""The attribute that is `True` on a marked function."""

Function = TypeVar("Function", bound=Callable[..., Any])


def tool(function: Function) -> Function:
    """Mark a function as callable by agents: it is given back as it is, and works as before."""
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"@cellwright.tool marks functions, and this is a {type(function).__name__}.")
    setattr(function, MARK, True)
    return function
