"""Which pictures stand on the first screen: the one of the answer, and a small one for each finding.

A cell says so by its name: `report_picture`, `report_finding_1` to `report_finding_3`. Without such a mark the last
chart or image counts; without any, a small table of labels and numbers is drawn by whoever draws charts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.runs.deliver.cell_content import read_cell
from cellwright.runs.deliver.delivery import DeliveredFinding, Delivery
from cellwright.runs.deliver.first_screen import MOST_BARS
from cellwright.runs.deliver.report.outputs import Charts, output_html
from cellwright.runs.deliver.report.sanitizer import tokens

PICTURE_MARK: Final = "report_picture"
FINDING_MARK: Final = "report_finding_"
_IMAGE: Final = re.compile(r"<img [^<>]*>")
_ALT: Final = re.compile(r' alt="([^"]*)"')
_UNSAID: Final = frozenset({"", "chart"})
_MOST_ROWS: Final = 30
_LONGEST_LABEL: Final = 40
_LONGEST_MARKUP: Final = 200_000
_YEARS: Final = range(1800, 2200)
_DATE: Final = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2}(?:[T ][\d:.+Z-]*)?)?|[- ]?[QqWw]\d{1,2})?\Z", re.ASCII)
_COLOUR: Final = "#0072B2"


# ── of one cell ──


def picture_of(outcome: CellOutcome | None, charts: Charts) -> str:
    """The picture a cell shows, as an `img` that was made harmless: its first image, or its small table drawn."""
    if outcome is None or outcome.error is not None or outcome.output is None:
        return ""
    if found := _IMAGE.search(output_html(replace(outcome, console=""), charts)):
        return found[0]
    table = labelled_numbers(outcome)
    return (charts.html(table.chart()) or "") if table is not None else ""


def described(image: str, words: str) -> str:
    """The image, with these words for those who cannot see it, unless it has its own. They must be escaped."""
    alt = _ALT.search(image)
    if alt is None or alt[1] not in _UNSAID:
        return image
    return f'{image[: alt.start()]} alt="{words}"{image[alt.end() :]}'


def cell_named(document: Document, name: str) -> Cell | None:
    """The cell of this name, or of this id if it has no name."""
    if not name or name == DEFAULT_NAME:
        return None
    named = (cell for cell in document.cells if cell.name == name)
    return next(named, None) or document.find(CellId(name))


# ── of a delivery ──


def with_pictures(
    delivery: Delivery, document: Document, outcomes: Mapping[CellId, CellOutcome], drawn: Mapping[str, str]
) -> Delivery:
    """With the cells whose pictures stand on the first screen; what shows none is not named."""
    charts = Charts(drawn)

    def has_picture(name: str) -> bool:
        cell = cell_named(document, name)
        return cell is not None and picture_of(outcomes.get(cell.id), charts) != ""

    findings: list[DeliveredFinding] = []
    taken = set[str]()
    for number, finding in enumerate(delivery.findings, 1):
        wanted = [finding.cell, f"{FINDING_MARK}{number}"]
        cell = next((name for name in wanted if name not in taken and has_picture(name)), "")
        taken.add(cell)
        findings.append(replace(finding, cell=cell))
    asked = [name for name in (delivery.picture, PICTURE_MARK) if has_picture(name)]
    picture = asked[0] if asked else _last_picture(document, outcomes, charts, taken)
    findings = [replace(finding, cell="" if finding.cell == picture else finding.cell) for finding in findings]
    if findings and not any(finding.bars for finding in findings):
        findings[0] = replace(findings[0], bars=_bars_of(cell_named(document, picture), outcomes))
    return replace(delivery, picture=picture, findings=tuple(findings))


def charts_of_tables(
    delivery: Delivery, document: Document, outcomes: Mapping[CellId, CellOutcome]
) -> tuple[dict[str, Any], ...]:
    """The specifications of the tables that may have to be drawn: those that are named, and the last result."""
    marks = [f"{FINDING_MARK}{number}" for number in range(1, len(delivery.findings) + 1)]
    names = [delivery.picture, *(finding.cell for finding in delivery.findings), PICTURE_MARK, *marks]
    cells = [cell for name in names if (cell := cell_named(document, name)) is not None]
    cells += _results(document, outcomes)[:1]
    tables = [labelled_numbers(outcomes.get(cell.id)) for cell in dict.fromkeys(cells)]
    return tuple(table.chart() for table in tables if table is not None)


def _last_picture(document: Document, outcomes: Mapping[CellId, CellOutcome], charts: Charts, taken: set[str]) -> str:
    """The last chart or image; else the last result, if it is a small table."""
    results = _results(document, outcomes)
    for cell in results:
        html = output_html(replace(outcomes[cell.id], console=""), charts)
        if _reference(cell) not in taken and _IMAGE.search(html):
            return _reference(cell)
    return next((_reference(cell) for cell in results[:1] if picture_of(outcomes[cell.id], charts)), "")


def _results(document: Document, outcomes: Mapping[CellId, CellOutcome]) -> list[Cell]:
    """The cells that show something, but for those of words; the last first."""
    found: list[Cell] = []
    for cell in reversed(document.cells):
        outcome = outcomes.get(cell.id)
        is_shown = outcome is not None and outcome.error is None and outcome.output is not None
        if is_shown and not read_cell(cell).is_markdown:
            found.append(cell)
    return found


def _reference(cell: Cell) -> str:
    return str(cell.id) if cell.name == DEFAULT_NAME else cell.name


def _bars_of(cell: Cell | None, outcomes: Mapping[CellId, CellOutcome]) -> tuple[tuple[str, float], ...]:
    table = labelled_numbers(outcomes.get(cell.id)) if cell is not None else None
    return table.rows if table is not None and len(table.rows) <= MOST_BARS else ()


# ── of a table ──


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledNumbers:
    """A small table of one column of labels and one of numbers."""

    label: str
    number: str
    rows: tuple[tuple[str, float], ...]
    is_ordered: bool
    """Its labels are dates or years, in order."""

    def chart(self) -> dict[str, Any]:
        """As a Vega-Lite specification: bars, or a line over what has an order."""
        labels = {"field": "label", "type": "ordinal", "sort": None, "title": self.label}
        numbers = {"field": "number", "type": "quantitative", "title": self.number}
        values = [{"label": label, "number": number} for label, number in self.rows]
        if self.is_ordered:
            mark: dict[str, Any] = {"type": "line", "point": True, "color": _COLOUR}
            size, encoding = {"width": 640, "height": 300}, {"x": labels, "y": numbers}
        else:
            mark = {"type": "bar", "color": _COLOUR}
            size, encoding = {"width": 560, "height": {"step": 26}}, {"y": labels, "x": numbers}
        schema = "https://vega.github.io/schema/vega-lite/v6.json"
        return {"$schema": schema, "mark": mark, "data": {"values": values}, "encoding": encoding, **size}


def labelled_numbers(outcome: CellOutcome | None) -> LabelledNumbers | None:
    """What the cell shows, if it is a whole table of 2 to 30 rows with one column of labels and one of numbers."""
    rows = _shown_rows(outcome)
    if not 2 <= len(rows) <= _MOST_ROWS:
        return None
    columns = [name for name in rows[0] if name != "_marimo_row_id"]
    if len(columns) != 2 or any(not set(columns) <= set(row) for row in rows):
        return None
    numeric = [name for name in columns if all(_is_number(row[name]) for row in rows)]
    label = columns[0] if numeric == columns and _is_years([row[columns[0]] for row in rows]) else ""
    label = label or next((name for name in columns if name not in numeric), "")
    if not label or not numeric:
        return None
    number = next(name for name in columns if name != label)
    labels = [str(row[label]) for row in rows]
    if not all(isinstance(row[label], str | int) for row in rows) or len(set(labels)) < len(labels):
        return None
    return LabelledNumbers(
        label=_clipped(label),
        number=_clipped(number),
        rows=tuple((_clipped(text), float(row[number])) for text, row in zip(labels, rows, strict=True)),
        is_ordered=labels == sorted(labels) and all(_DATE.match(text) for text in labels),
    )


def _shown_rows(outcome: CellOutcome | None) -> Sequence[dict[str, Any]]:
    """The rows of a table that is shown whole, and alone; none otherwise."""
    output = outcome.output if outcome is not None and outcome.error is None else None
    if output is None or output.mimetype != "text/html" or not 0 < len(output.data) <= _LONGEST_MARKUP:
        return ()
    tables = [given for kind, tag, given in tokens(output.data) if kind == "start" and tag == "marimo-table"]
    if len(tables) != 1:
        return ()
    held = _parsed(tables[0].get("data-data", ""))
    rows = _parsed(held) if isinstance(held, str) else held
    total = tables[0].get("data-total-rows", "")
    if not isinstance(rows, list) or str(len(cast("list[Any]", rows))) != total:
        return ()
    rows = cast("list[Any]", rows)
    return [cast("dict[str, Any]", row) for row in rows] if all(isinstance(row, dict) for row in rows) else ()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) < 1e300 and math.isfinite(value)


def _is_years(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int) and value in _YEARS for value in values)


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LABEL else f"{line[: _LONGEST_LABEL - 1]}…"
