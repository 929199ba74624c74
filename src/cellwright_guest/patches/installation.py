"""Putting the patches in, taking them out, and telling which held."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from cellwright_guest.patches.swap import Swap, Swapped, put_back, put_in, why_not


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One reason marimo is slow, and the module that removes it."""

    name: str
    module: str
    """In this package; imported when the patch is applied, so that a symbol marimo lost spoils one patch only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The patch is in."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplied:
    """marimo's own code runs, unchanged, in this patch's place."""

    name: str
    reason: str


Outcome = Applied | NotApplied

PATCHES: Final = (
    Patch(name="entry-points", module="entry_points"),
    Patch(name="spans", module="spans"),
    Patch(name="graph-index", module="graph_index"),
    Patch(name="graph-walks", module="graph_walks"),
    Patch(name="invalidation", module="invalidation"),
    Patch(name="broadcast", module="broadcast"),
    Patch(name="post-execution", module="post_execution"),
    Patch(name="semicolon", module="semicolon"),
)

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


def _apply_one(patch: Patch, disabled: Collection[str]) -> Outcome:
    if patch.name in disabled:
        return NotApplied(name=patch.name, reason="switched off")
    if patch.name in _installed:
        return Applied(name=patch.name)
    try:
        module = importlib.import_module(f"cellwright_guest.patches.{patch.module}")
        swaps: tuple[Swap, ...] = module.SWAPS
    except (ImportError, AttributeError) as error:
        return NotApplied(name=patch.name, reason=str(error))
    reasons = [reason for reason in map(why_not, swaps) if reason]
    if reasons:
        return NotApplied(name=patch.name, reason="; ".join(reasons))
    before_put_in: Callable[[], None] | None = getattr(module, "before_put_in", None)
    if before_put_in is not None:
        before_put_in()
    _installed[patch.name] = put_in(swaps)
    return Applied(name=patch.name)
