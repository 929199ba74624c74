"""The report of a run: one HTML page that needs nothing else, and the same in words for a terminal. The answer first.

The page loads nothing and runs nothing: no script, no style from elsewhere, no picture but those it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cellwright.runs.delivery import Delivery
from cellwright.runs.report_words import MARK, duration, report_text

if TYPE_CHECKING:
    from cellwright.ids import CellId
    from cellwright.kernel import CellOutcome
    from cellwright.notebook import Document

__all__ = ["MARK", "duration", "report_html", "report_text"]


def report_html(
    delivery: Delivery,
    document: Document | None = None,
    outcomes: Mapping[CellId, CellOutcome] | None = None,
    *,
    masked: Callable[[str], str] = str,
) -> str:
    """The whole report as one page, with what the notebook shows; `masked` has the last word on its text."""
    # Loads marimo, which whoever only wants the words need not wait for.
    from cellwright.runs.report_page.page import page_html

    return masked(page_html(delivery, document, outcomes or {}))
