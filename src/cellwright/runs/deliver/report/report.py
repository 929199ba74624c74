"""The report of a run: one HTML page that needs nothing else, and its first screen in words for a terminal.

The page loads nothing and runs nothing: no script, no style from elsewhere, no picture but those it holds.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cellwright.errors import Unavailable
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.deliver.report.text import MARK, duration, report_text

if TYPE_CHECKING:
    from cellwright.ids import CellId
    from cellwright.kernel.observation import CellOutcome
    from cellwright.notebook.document import Document

__all__ = ["DrawCharts", "draw_charts", "duration", "read_report", "report_html", "report_text"]

DrawCharts = Callable[[Sequence[str]], Awaitable[Sequence[str | None]]]
"""Specifications of charts, as JSON, become SVG; None for what cannot be drawn. May raise `Unavailable`."""
_MARKED_WITHIN: Final = 2_000
"""Bytes of a report in which its mark stands."""
_logger = logging.getLogger(__name__)


def read_report(path: Path) -> bytes | None:
    """The page in this file; None if it is no report of ours: any other file of that name is somebody's. Blocking."""
    if not path.is_file() or path.is_symlink():
        return None
    page = path.read_bytes()
    return page if MARK.encode() in page[:_MARKED_WITHIN] else None


async def draw_charts(
    outcomes: Mapping[CellId, CellOutcome], draw: DrawCharts, *, more: Sequence[object] = ()
) -> Mapping[str, str]:
    """The charts that cells show as pictures, for `report_html`. Without whom to draw them, there are none.

    `more`: specifications that are drawn too.
    """
    from cellwright.runs.deliver.report.outputs import Charts, output_html

    charts = Charts()
    for spec in more:
        charts.html(spec)
    for outcome in outcomes.values():
        output = outcome.output
        if output is not None and ("vega" in output.mimetype or "vega" in output.data):
            output_html(outcome, charts)
    try:
        pictures = await draw(list(charts.found)) if charts.found else ()
    except Unavailable as error:
        _logger.warning("The charts of a report are not drawn: %s", error)
        return {}
    return {spec: picture for spec, picture in zip(charts.found, pictures, strict=True) if picture is not None}


def report_html(
    delivery: Delivery,
    document: Document | None = None,
    outcomes: Mapping[CellId, CellOutcome] | None = None,
    *,
    charts: Mapping[str, str] | None = None,
    masked: Callable[[str], str] = str,
    article: Sequence[tuple[str, str]] = (),
) -> str:
    """The whole report as one page, with what the notebook shows; `masked` has the last word on its text.

    A chart that is not among `charts` is replaced by a note. `article`: titles and texts that are the report's body,
    markdown made ready by us; the first is its beginning.
    """
    # Loads marimo, which whoever only wants the words need not wait for.
    from cellwright.runs.deliver.report.page import page_html

    # On the page they are no text any more.
    pictures = {spec: masked(picture) for spec, picture in (charts or {}).items()}
    return masked(page_html(delivery, document, outcomes or {}, pictures, article))
