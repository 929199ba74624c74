"""How one function of marimo's is exchanged for ours, only if it is the one we know, and put back.

A `Swap` names the function and the fingerprint of the source it was written against. When marimo's source
differs, nothing is touched and the reason is told. Not here: what any patch does.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """One of marimo's functions, and ours for it."""

    owner: type | ModuleType
    name: str
    fingerprint: str
    """`fingerprint_of` the source that `ours` was written against."""
    ours: Function

    @property
    def target(self) -> str:
        """Dotted name, for reports."""
        where = self.owner.__name__ if isinstance(self.owner, ModuleType) else self.owner.__qualname__
        return f"{where}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapped:
    """What has to be put back."""

    swap: Swap
    stock: object
    """As it lay in the owner: a function, or a classmethod around it."""
    ours: object


def fingerprint_of(function: Function) -> str:
    """The first 12 hex digits of the SHA-256 of a function's source, decorators included."""
    return hashlib.sha256(inspect.getsource(inspect.unwrap(function)).encode()).hexdigest()[:12]


def why_not(swap: Swap) -> str:
    """Why this swap must not be made; empty when marimo's function is the one we know."""
    stock = vars(swap.owner).get(swap.name)
    if stock is None:
        return f"{swap.target} is gone"
    try:
        found = fingerprint_of(_plain(stock))
    except (OSError, TypeError):
        return f"{swap.target} has no source to compare"
    if found != swap.fingerprint:
        return f"{swap.target} has changed: {found} instead of {swap.fingerprint}"
    return ""


def put_in(swaps: Sequence[Swap]) -> tuple[Swapped, ...]:
    """Exchange the functions where they live, where they were imported to, and in marimo's lists of hooks."""
    done = tuple(_swapped(swap) for swap in swaps)
    _exchange([(one.swap, one.stock, one.ours) for one in done])
    return done


def put_back(swapped: Sequence[Swapped]) -> None:
    """Undo `put_in`."""
    _exchange([(one.swap, one.ours, one.stock) for one in swapped])


def _swapped(swap: Swap) -> Swapped:
    stock = vars(swap.owner)[swap.name]
    ours = classmethod(swap.ours) if isinstance(stock, classmethod) else swap.ours
    return Swapped(swap=swap, stock=stock, ours=ours)


def _plain(stock: object) -> Function:
    return cast("Function", stock.__func__ if isinstance(stock, classmethod) else stock)


def _exchange(changes: Sequence[tuple[Swap, object, object]]) -> None:
    for swap, _, new in changes:
        setattr(swap.owner, swap.name, new)
    # By identity, because a module's values need not be hashable; in one pass, because marimo has 500 modules.
    moved = {id(old): new for swap, old, new in changes if isinstance(swap.owner, ModuleType)}
    for module in _marimo_modules() if moved else ():
        for alias, value in list(vars(module).items()):
            if id(value) in moved:
                setattr(module, alias, moved[id(value)])
            elif alias.endswith("_HOOKS") and isinstance(value, list):
                hooks = cast("list[object]", value)
                hooks[:] = [moved.get(id(hook), hook) for hook in hooks]


def _marimo_modules() -> Iterator[ModuleType]:
    yield from [module for name, module in sys.modules.items() if name.startswith("marimo.")]
