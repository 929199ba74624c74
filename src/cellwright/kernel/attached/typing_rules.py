"""When a cell may be changed that a person could be typing in. Pure: what was heard, and the time.

marimo's page tells what is typed only after 0.4 s without a key, all of it at once, and replaces what it has not told
by what it is sent. So the moment right after it told something is the one in which it holds back nothing; in a long
silence nobody is likely to type; at any other time somebody may be in the middle of a word.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.ids import CellId

Permission = Literal["no", "now", "standing"]
"""now: a person has just said yes, so they are not typing elsewhere. standing: they said so of all turns before."""

CELL_QUIET_SECONDS: Final = 3.0
"""A cell somebody has just typed in, after a yes of this moment."""
PAGE_QUIET_SECONDS: Final = 1.2
OWN_CELL_SECONDS: Final = 10.0
"""The cell somebody types in is theirs until they have typed nothing in it for so long."""
MOMENT_SECONDS: Final = 0.25
"""So long after a page told all it had, it has nothing new: nobody leaves one cell and types in another sooner."""
SILENCE_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 60.0
"""After so long an edit gives up."""
PATIENCE_SECONDS: Final = 3.0
"""A program that begins later than this after it was sent does nothing: what it was sent about may have changed."""
_MOMENT_PATIENCE_SECONDS: Final = 0.4
"""The same, where only the moment allows it: somebody may soon be typing again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypingSigns:
    """What was heard of people's pages, by a clock that only grows."""

    typed: Mapping[CellId, float]
    """When each cell was last told to have been typed in."""
    typed_at: float
    """The last sign of typing, wherever."""
    told_at: float
    """When a page last told all it had."""
    since: float
    """From when on anything was heard at all."""
    pages: int
    """How many pages can edit; the moment after one told is none for another."""


def seconds_to_wait(signs: TypingSigns, touched: Collection[CellId], permission: Permission, now: float) -> float:
    """How long to wait before looking again; 0: these cells may be changed now."""
    if not touched or not signs.pages:
        return 0.0
    typed = max((signs.typed.get(cell, -LONGEST_SECONDS) for cell in touched), default=-LONGEST_SECONDS)
    if permission == "now":
        return max(0.0, typed + CELL_QUIET_SECONDS - now, signs.typed_at + PAGE_QUIET_SECONDS - now)
    if (own := typed + OWN_CELL_SECONDS - now) > 0:
        return own
    is_moment = signs.pages == 1 and now - signs.told_at < MOMENT_SECONDS and signs.typed_at <= signs.told_at
    return 0.0 if is_moment else max(0.0, max(signs.since, signs.typed_at) + SILENCE_SECONDS - now)


def patience_seconds(silent_since: float, touched: Collection[CellId], permission: Permission, now: float) -> float:
    """How late a change of these cells may begin. On a busy machine silence is what lets one through at all."""
    is_silent = now - silent_since >= SILENCE_SECONDS
    return _MOMENT_PATIENCE_SECONDS if touched and permission == "standing" and not is_silent else PATIENCE_SECONDS
