"""What was tried in a branch, as a value: told in the run's own stream, and read again from there by every door.

A tool puts it into its result, so it is recorded, masked and bounded like everything a tool gives back; whoever made
the call tells it from there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from cellwright.journal import Event, Fact, Json

BRANCH_TRIED: Final = "branch-tried"
"""The topic of the fact that tells of a branch. Its subject is the branch, its text the JSON of a `BranchTried`."""
BRANCHES: Final = "branches"
"""Under this name a tool's value holds what it tried."""

TrialStatus = Literal["passed", "failed", "refused", "lost"]
"""passed: nothing failed and every check held. failed: a cell or a check did. refused: its edits did not fit the cells.
lost: it came to no end, out of time or with its kernel."""
BranchDecision = Literal["", "accepted", "dropped"]
"""Empty: nobody was asked, or has said anything yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCell:
    """A cell that ran in the branch."""

    cell: str
    name: str
    status: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedVariable:
    """A variable that is another one in the branch than in the notebook."""

    name: str
    type: str = ""
    before: str = ""
    """A short look at it in the notebook; empty: it was not there."""
    after: str = ""
    """A short look at it in the branch; empty: it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCheck:
    """Something that had to hold."""

    check: str
    has_passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTried:
    """One branch, from its making to its end."""

    branch: str
    """Names it in its run: the call that made it, and of several its number."""
    agent: str = ""
    """The workflow that tried it."""
    purpose: str = ""
    """What for, in a few words: `mend clean`, a candidate's name."""
    group: str = ""
    """Branches that were tried side by side have the same; empty: it was alone."""
    way: str = ""
    """fork, carried or replayed; empty: it was not made."""
    reasons: tuple[str, ...] = ()
    """Why it was no fork."""
    status: TrialStatus
    cells: tuple[TriedCell, ...] = ()
    checks: tuple[TriedCheck, ...] = ()
    variables: tuple[TriedVariable, ...] = ()
    """Those that differ."""
    files: tuple[str, ...] = ()
    """Paths of the project's files that it changed."""
    ms: float = 0.0
    """From the request until its outcome was known."""
    is_kept: bool = False
    """What was tried is in the notebook now."""
    note: str = ""
    """Why it was not kept although it passed, or what else there is to say."""
    waits: bool = False
    """A person was asked whether it is kept; until it is told again, nothing of it is in the notebook."""
    decision: BranchDecision = ""
    """What the person said."""
    decided_by: str = ""

    @property
    def checks_passed(self) -> int:
        """How many of its checks held."""
        return sum(check.has_passed for check in self.checks)

    @property
    def failures(self) -> int:
        """How many of its cells have no result."""
        return sum(cell.status not in _SOUND for cell in self.cells)


_SOUND: Final = frozenset({"ok", "stopped", "disabled", "stale"})
_TRIED: Final = TypeAdapter(BranchTried)


def tried_json(tried: BranchTried) -> Json:
    """As plain values."""
    return _TRIED.dump_python(tried, mode="json")


def parse_tried(value: Any) -> BranchTried | None:
    """The branch of such values; None for anything else."""
    try:
        return _TRIED.validate_python(value)
    except ValidationError:
        return None


def branch_told(tried: BranchTried) -> Fact:
    """The branch as the run's stream keeps it."""
    text = json.dumps(tried_json(tried), ensure_ascii=False)
    numbers = {"ms": round(tried.ms, 3), "is_kept": float(tried.is_kept)}
    return Fact(topic=BRANCH_TRIED, subject=tried.branch, text=text, numbers=numbers)


def read_branch(event: Event) -> BranchTried | None:
    """The branch an event tells of; None if it tells of something else."""
    if not isinstance(event, Fact) or event.topic != BRANCH_TRIED:
        return None
    try:
        return parse_tried(json.loads(event.text))
    except ValueError:
        return None


def tried_in(value: Json) -> tuple[BranchTried, ...]:
    """What a tool's value says was tried in branches."""
    held = value.get(BRANCHES) if isinstance(value, dict) else None
    found = [parse_tried(each) for each in held] if isinstance(held, list) else []
    return tuple(each for each in found if each is not None)
