"""What became of one document of an extraction: rows, a skip, or why nobody was asked. A journal step's result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cellwright.documents.document import UnreadReason
from cellwright.runs.extract.rows import ExtractedRow

SkipReason = UnreadReason | Literal["no-answer"]
"""no-answer: the model's answer could not be read, twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCost:
    """What models were asked for it."""

    model: str
    microdollars: int
    input_tokens: int
    output_tokens: int
    is_price_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedDocument:
    """What became of it."""

    name: str
    sha256: str = ""
    pages: int = 0
    rows: tuple[ExtractedRow, ...] = ()
    skipped: SkipReason | None = None
    why: str = ""
    """Of a skip, in words."""
    notices: tuple[str, ...] = ()
    """What of the document was not read."""
    costs: tuple[ExtractionCost, ...] = ()
    end: str = ""
    """Why the whole extraction comes to its end here: no model answers, or it would cost more than it may."""

    @property
    def microdollars(self) -> int | None:
        """What it cost; None: nobody knows the price of a model that was asked."""
        is_known = all(each.is_price_known for each in self.costs)
        return sum(each.microdollars for each in self.costs) if is_known else None


def counted_words(documents: Sequence[ExtractedDocument], fields: int) -> str:
    """How it went, in a sentence or two."""
    read = [each for each in documents if each.skipped is None and not each.end]
    skipped = [each for each in documents if each.skipped is not None]
    rows = [row for each in read for row in each.rows]
    marks = Counter(value.mark for row in rows for value in row.values)
    text = (
        f"{len(rows):,} row{_s(len(rows))} from {len(read):,} document{_s(len(read))}: "
        f"{marks['ok']:,} of {len(rows) * fields:,} values stand in their documents word for word"
    )
    refused = marks["no-quote"] + marks["not-in-quote"] + marks["wrong-type"]
    told = (
        (marks["missing"], "is not in its document", "are not in their documents"),
        (refused, "was refused", "were refused"),
        (marks["differs"], "was read differently", "were read differently"),
    )
    text += "".join(f", {count:,} {one if count == 1 else more}" for count, one, more in told if count) + "."
    if skipped:
        by_reason = dict[str, int]()
        for each in skipped:
            by_reason[str(each.skipped)] = by_reason.get(str(each.skipped), 0) + 1
        reasons = ", ".join(f"{count} {_REASONS.get(reason, reason)}" for reason, count in sorted(by_reason.items()))
        text += f" {len(skipped):,} document{_s(len(skipped))} could not be read: {reasons}."
    return text


_REASONS = {
    "no-text": "without a text layer (scanned: they need OCR)",
    "encrypted": "encrypted",
    "broken": "broken",
    "too-large": "too large",
    "unknown-kind": "of a kind that is not read",
    "gone": "not to be opened",
    "time": "that took too long",
    "crash": "that took their reader down",
    "no-answer": "whose answer from the model could not be read",
}


def _s(count: int) -> str:
    return "" if count == 1 else "s"
