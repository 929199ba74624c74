"""What people said about a run's changes, cell by cell: told in the run's own stream, and read again from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from cellwright.journal import Fact, Recorded, StepFinished

Verdict = Literal["accepted", "rejected"]
_REVIEW: Final = "review"
_VERDICTS: Final[dict[str, Verdict]] = {"accepted": "accepted", "rejected": "rejected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a person said about one cell's change."""

    verdict: Verdict
    comment: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBook:
    """What a run's stream tells about its changes."""

    reviews: Mapping[tuple[str, str], Review] = field(default_factory=dict[tuple[str, str], Review])
    """By the call that made the change, and the cell. The last word counts."""
    made_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """When each call that changed something was done."""

    def find(self, key: str, cell: str) -> Review | None:
        """What was said about this cell's change."""
        return self.reviews.get((key, cell))

    def when(self, key: str) -> int | None:
        """When the change was made; calls inside a program were done with it."""
        return self.made_ms.get(key, self.made_ms.get(key.rpartition(".")[0]))


def review_told(key: str, cell: str, review: Review) -> Fact:
    """The review as the run's stream keeps it."""
    said = {"change": key, "verdict": review.verdict, "comment": review.comment, "by": review.by}
    return Fact(topic=_REVIEW, subject=cell, text=json.dumps(said, ensure_ascii=False))


def with_review(book: ReviewBook, recorded: Recorded) -> ReviewBook:
    """One more event."""
    match recorded.event:
        case StepFinished(effect=effect) if effect:
            return replace(book, made_ms={**book.made_ms, effect: recorded.at_ms})
        case Fact(topic="review", subject=cell, text=text):
            said: Any = json.loads(text)
            review = Review(verdict=_VERDICTS[said["verdict"]], comment=said["comment"], by=said["by"])
            return replace(book, reviews={**book.reviews, (said["change"], cell): review})
        case _:
            return book
