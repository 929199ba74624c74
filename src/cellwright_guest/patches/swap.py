"""How marimo's functions are exchanged for ours, only where they are the ones we know; which patches hold.

A `Swap` names the function and the fingerprint of the source it was written against. When marimo's source differs,
nothing is changed, and that patch says so.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, cast

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


Swapped = tuple[Swap, object, object]
"""A swap, what lay in the owner (a function, or a classmethod around it), and what lies there now."""


def fingerprint_of(function: Function) -> str:
    """The first 12 hex digits of the SHA-256 of a function's source, decorators included."""
    return hashlib.sha256(inspect.getsource(inspect.unwrap(function)).encode()).hexdigest()[:12]


def why_not(swap: Swap) -> str:
    """Why this swap must not be made; empty when marimo's function is the one we know."""
    stock = vars(swap.owner).get(swap.name)
    if stock is None:
        return f"{swap.target} is gone"
    try:
        found = fingerprint_of(cast("Function", stock.__func__ if isinstance(stock, classmethod) else stock))
    except (OSError, TypeError):
        return f"{swap.target} has no source to compare"
    if found != swap.fingerprint:
        return f"{swap.target} has changed: {found} instead of {swap.fingerprint}"
    return ""


def put_in(swaps: Sequence[Swap]) -> tuple[Swapped, ...]:
    """Exchange the functions where they live, where they were imported to, and in marimo's lists of hooks."""
    stocks = [(swap, vars(swap.owner)[swap.name]) for swap in swaps]
    done = tuple(
        (swap, stock, classmethod(swap.ours) if isinstance(stock, classmethod) else swap.ours) for swap, stock in stocks
    )
    _exchange(done)
    return done


def put_back(swapped: Sequence[Swapped]) -> None:
    """Undo `put_in`."""
    _exchange([(swap, ours, stock) for swap, stock, ours in swapped])


def _exchange(changes: Sequence[Swapped]) -> None:
    for swap, _, new in changes:
        setattr(swap.owner, swap.name, new)
    # By identity, because a module's values need not be hashable; in one pass, because marimo has 500 modules.
    moved = {id(old): new for swap, old, new in changes if isinstance(swap.owner, ModuleType)}
    marimo = [module for name, module in sys.modules.items() if name.startswith("marimo.")]
    for module in marimo if moved else ():
        for alias, value in list(vars(module).items()):
            if id(value) in moved:
                setattr(module, alias, moved[id(value)])
            elif alias.endswith("_HOOKS") and isinstance(value, list):
                hooks = cast("list[object]", value)
                hooks[:] = [moved.get(id(hook), hook) for hook in hooks]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchApplied:
    """The patch is in."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchNotApplied:
    """marimo's own code runs, unchanged, in this patch's place."""

    name: str
    reason: str


Outcome = PatchApplied | PatchNotApplied

PATCHES: Final = (
    *("entry-points", "spans", "graph-index", "graph-walks"),
    *("invalidation", "broadcast", "post-execution", "semicolon"),
)
"""Reasons why marimo is slow. Each has a module of that name in this package, imported when the patch is applied, so
that a symbol marimo lost spoils one patch only."""

_installed: dict[str, tuple[Swapped, ...]] = {}


def apply(disabled: Collection[str] = frozenset()) -> tuple[Outcome, ...]:
    """Put every patch in that fits this marimo, and say of each whether it is in.

    Call it before the kernel is created: a kernel keeps the hooks it was born with. Calling it again changes nothing,
    except that patches named in `disabled` are taken out.
    """
    if any(name in _installed for name in disabled):
        remove()
    return tuple(_apply_one(patch, disabled) for patch in PATCHES)


def remove() -> None:
    """Give marimo all its own functions back."""
    while _installed:
        # Last in, first out: two patches may have exchanged one function, one after the other.
        _, swapped = _installed.popitem()
        put_back(swapped)


def _apply_one(patch: str, disabled: Collection[str]) -> Outcome:
    if patch in disabled:
        return PatchNotApplied(name=patch, reason="switched off")
    if patch in _installed:
        return PatchApplied(name=patch)
    try:
        module = importlib.import_module(f"cellwright_guest.patches.{patch.replace('-', '_')}")
        swaps: tuple[Swap, ...] = module.SWAPS
    except (ImportError, AttributeError) as error:
        return PatchNotApplied(name=patch, reason=str(error))
    reasons = [reason for reason in map(why_not, swaps) if reason]
    if reasons:
        return PatchNotApplied(name=patch, reason="; ".join(reasons))
    before_put_in: Callable[[], None] | None = getattr(module, "before_put_in", None)
    if before_put_in is not None:
        before_put_in()
    _installed[patch] = put_in(swaps)
    return PatchApplied(name=patch)
