"""What a run did to its notebook, change by change and cell by cell, and what people said of it.

Reviews are events in the run's own stream, and read again from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from cellwright.ids import CellId
from cellwright.journal import Fact, Recorded, StepFinished
from cellwright.notebook import DEFAULT_NAME, Cell
from cellwright.tools.history.moves import change_text, moved_cells
from cellwright.tools.history.timeline import RevisionTimeline
from cellwright.tools.notebook.cell_changes import CellDiff

CellChangeKind = Literal["created", "edited", "deleted", "moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """What one change made of one cell."""

    cell: CellId
    name: str
    """Empty where nobody named it."""
    kind: CellChangeKind
    before: str | None = None
    """Its code; None where there was none, and for a cell that was only moved."""
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookChange:
    """One change of an agent."""

    number: int
    key: str
    """The call that made it."""
    agent: str
    is_undone: bool
    cells: tuple[CellChange, ...]
    texts: tuple[str, ...] = ()
    """What became of which cells, in words: `changed monthly_revenue`."""

    def find(self, cell: str) -> CellChange | None:
        """What it made of this cell."""
        return next((each for each in self.cells if each.cell == cell), None)


def changes_of(timeline: RevisionTimeline) -> tuple[NotebookChange, ...]:
    """Every change that is remembered, oldest first."""
    names, reverted = {cell.id: _name(cell) for cell in timeline.cells}, timeline.reverted
    return tuple(
        NotebookChange(
            number=change.number,
            key=change.key,
            agent=change.agent,
            is_undone=change.number in reverted,
            cells=(
                *(_cell(diff) for diff in change.changes),
                *(CellChange(cell=cell, name=names.get(cell, ""), kind="moved") for cell in moved_cells(change)),
            ),
            texts=tuple(change_text(diff) for diff in change.changes),
        )
        for change in timeline.changes
    )


def _cell(change: CellDiff) -> CellChange:
    before, after = change.before, change.after
    return CellChange(
        cell=change.id,
        name=_name(after or before),
        kind="created" if before is None else "deleted" if after is None else "edited",
        before=None if before is None else before.code,
        after=None if after is None else after.code,
    )


def _name(cell: Cell | None) -> str:
    return "" if cell is None or cell.name == DEFAULT_NAME else cell.name


ReviewVerdict = Literal["accepted", "rejected"]
_REVIEW: Final = "review"
_VERDICTS: Final[dict[str, ReviewVerdict]] = {"accepted": "accepted", "rejected": "rejected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReview:
    """What a person said about one cell's change."""

    verdict: ReviewVerdict
    comment: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReviews:
    """What a run's stream tells about its changes."""

    reviews: Mapping[tuple[str, str], CellReview] = field(default_factory=dict[tuple[str, str], CellReview])
    """By the call that made the change, and the cell. The last word counts."""
    made_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """When each call that changed something was done."""

    def find(self, key: str, cell: str) -> CellReview | None:
        """What was said about this cell's change."""
        return self.reviews.get((key, cell))

    def when(self, key: str) -> int | None:
        """When the change was made; calls inside a program were done with it."""
        return self.made_ms.get(key, self.made_ms.get(key.rpartition(".")[0]))


def review_event(key: str, cell: str, review: CellReview) -> Fact:
    """The review as the run's stream keeps it."""
    said = {"change": key, "verdict": review.verdict, "comment": review.comment, "by": review.by}
    return Fact(topic=_REVIEW, subject=cell, text=json.dumps(said, ensure_ascii=False))


def add_review_event(book: CellReviews, recorded: Recorded) -> CellReviews:
    """One more event."""
    match recorded.event:
        case StepFinished(effect=effect) if effect:
            return replace(book, made_ms={**book.made_ms, effect: recorded.at_ms})
        case Fact(topic="review", subject=cell, text=text):
            said: Any = json.loads(text)
            review = CellReview(verdict=_VERDICTS[said["verdict"]], comment=said["comment"], by=said["by"])
            return replace(book, reviews={**book.reviews, (said["change"], cell): review})
        case _:
            return book
