"""Findings: what is claimed, what was found instead, and code that fails because of it. Questions: what data raises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FoundBy = Literal["reviewer", "code"]
Standing = Literal["shown", "not shown", "mended"]
"""shown: its code fails in the notebook as it is. not shown: it does not, so nobody is bothered with it. mended: it
failed, and does not any more."""
DisputeVerdict = Literal["keep", "drop", "replace"]
"""What becomes of an acceptance test that a builder says is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that does not hold in a notebook."""

    claim: str
    """What the notebook or its answer says."""
    found: str
    """What holds instead."""
    shows: str
    """Python that asserts what ought to hold, over the notebook's variables and files."""
    by: FoundBy = "reviewer"
    kind: str = ""
    """Of what code finds: `second-opinion`, `total-rows` …"""
    is_of_words: bool = False
    """Its code holds the answer's own words, which no variable gives: of another answer it says nothing."""

    @property
    def says(self) -> str:
        """In a sentence or two."""
        return f"{self.claim.rstrip('.')}. {self.found}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFinding:
    """A finding, and what became of the code that is to show it."""

    finding: Finding
    standing: Standing
    error: str = ""
    """How it failed."""

    @property
    def fails(self) -> str:
        """In words, with how it failed."""
        # What code finds says it all.
        is_said = not self.error or self.finding.by == "code"
        return self.finding.says if is_said else f"{self.finding.says} ({self.error})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQuestion:
    """Something in the data that makes figures wrong in silence, and whether the notebook settles it."""

    kind: str
    """`total-rows`, `sentinel`, `many-to-many`, `mixed-units`, `doubled-headers`, `lost-rows`, `missing-periods`."""
    says: str
    """In a sentence, with file and column."""
    settled: str = ""
    """By which cell and how; empty: it is open, and told."""

    @property
    def unsettled(self) -> str:
        """As a delivery tells it."""
        return f"Not settled: {self.says}"
