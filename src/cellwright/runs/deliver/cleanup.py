"""Tidying a notebook before it is handed over: every cell named, a title on top; never a cell's code changed. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.notebook.document import DEFAULT_NAME, Cell, CellConfig, Document
from cellwright.notebook.edits import AtEnd, AtStart, CreateCell, Edit, RenameCell
from cellwright.notebook.source_text import identifier, literal, numbered
from cellwright.runs.deliver.cell_content import CellContent, charts_in, read_cell
from cellwright.runs.goal.new_notebook import title_code, title_line
from cellwright.runs.plan.plan import Plan

_IMPORT: Final = "import marimo as mo"
MOST_LINES: Final = 40
"""Longer code is hard to take in at once."""
_MOST_NAMES: Final = 8
_MOST_SILENT_RESULTS: Final = 4
_RESERVED: Final = frozenset({"app", "marimo", "setup", "mo"})
_READERS: Final = ("read_csv(", "read_parquet(", "read_excel(", "read_json(", "scan_csv(", "scan_parquet(")


def tidy(
    document: Document, *, title: str | None, plan: Plan | None = None, readings: Sequence[str] = ()
) -> list[Edit]:
    """The edits that name every code cell nobody named, put a title first where there is none, and at the end how the
    goal was read, where that matters and is not there yet.

    `title` is None for a notebook that somebody else began: it gets no title it did not have. Names people gave stay,
    and cells of one function or class stay unnamed, because others may import them from the notebook.
    """
    contents = [read_cell(cell) for cell in document.cells]
    edits: list[Edit] = []
    line = title_line(title or (plan.title if plan else "")) if title is not None else ""
    if line and not any(reading.has_title for reading in contents):
        edits += _title_edits(document, contents, line, title_line(plan.deliverable) if plan else "")
    taken = {cell.name for cell in document.cells} | _names_of_definitions(contents) | _RESERVED
    taken |= {edit.name for edit in edits if isinstance(edit, CreateCell)}
    has_marimo = any("mo" in reading.imports for reading in contents) or any(
        isinstance(edit, CreateCell) and edit.code == _IMPORT for edit in edits
    )
    if (code := _readings_code(readings)) and has_marimo and all(cell.code != code for cell in document.cells):
        name = _free("readings", taken)
        taken.add(name)
        edits.append(CreateCell(code=code, name=name, config=CellConfig(hide_code=True), place=AtEnd()))
    for cell, reading in zip(document.cells, contents, strict=True):
        if cell.name != DEFAULT_NAME or cell.is_setup or reading.is_definition or reading.is_markdown:
            continue
        name = _free(_name_for(reading), taken)
        taken.add(name)
        edits.append(RenameCell(cell=cell.id, base_version=cell.version, name=name))
    return edits


def _readings_code(readings: Sequence[str]) -> str:
    """A markdown cell, as a string without any expression in it: what readings are called comes from data."""
    if not readings:
        return ""
    lines = "\n".join(f"- {' '.join(each.split())}" for each in readings)
    return f"mo.md({literal(f'**How the question was read**{chr(10)}{chr(10)}{lines}')})"


def _title_edits(document: Document, readings: Sequence[CellContent], line: str, below: str) -> Iterator[Edit]:
    has_marimo = any("mo" in reading.imports for reading in readings)
    if not has_marimo and any("mo" in (*reading.defines, *reading.functions) for reading in readings):
        return
    names = {cell.name for cell in document.cells} | _names_of_definitions(readings)
    if not has_marimo:
        yield CreateCell(code=_IMPORT, name=_free("imports", names), place=AtStart())
    code = title_code(line, below if below != line else "")
    yield CreateCell(code=code, name=_free("title", names), config=CellConfig(hide_code=True), place=AtStart())


def _names_of_definitions(readings: Sequence[CellContent]) -> set[str]:
    """Functions and classes may stand at the top of the file, beside the cells: those names are theirs."""
    return {name for reading in readings for name in reading.functions}


def _name_for(reading: CellContent) -> str:
    """What a reader would call the cell."""
    if reading.is_imports:
        return "imports"
    defined = list(reading.defines)
    if reading.shows in defined:
        return reading.shows
    if defined:
        return defined[-1]
    if reading.functions:
        return f"define_{reading.functions[0]}"
    if reading.shows:
        return f"show_{reading.shows}"
    if not reading.is_parsed:
        return "broken"
    return "imports" if reading.imports else "result" if reading.has_result else "step"


def _free(wanted: str, taken: set[str]) -> str:
    """The name, or with a number; never one that pytest would take for a test."""
    plain = (
        identifier(wanted) if unicodedata.normalize("NFKC", wanted) != wanted or not wanted.isidentifier() else wanted
    )
    if plain.startswith(("test", "Test")):
        plain = f"cell_{plain}"
    return numbered(plain or "step", lambda name: name not in taken and name.isidentifier())


# ── whether a reader finds the way ──


def is_readable(document: Document) -> tuple[str, ...]:
    """What a reader would miss, as short sentences for whoever can repair it; empty if nothing."""
    readings = [(cell, read_cell(cell)) for cell in document.cells]
    found: list[str] = []
    if readings and not any(reading.has_title for _, reading in readings):
        found.append('The notebook has no title: begin with a markdown cell `mo.md("# …")`.')
    complaints = (said for cell, reading in readings for said in _complaints(cell, reading))
    return (*found, *complaints, *_silent_results(readings))


def _complaints(cell: Cell, reading: CellContent) -> Iterator[str]:
    label = _label(cell)
    if reading.is_markdown or not reading.is_parsed:
        return
    if "cellwright" in reading.modules:
        yield (
            f"{label} imports cellwright, which is not everywhere: write `import cellwright_cells as cellwright`, "
            "a small package with all that a notebook uses of it."
        )
    if reading.lines > MOST_LINES:
        yield f"{label} has {reading.lines} lines: split it, one idea per cell."
    elif len(reading.defines) > _MOST_NAMES:
        yield f"{label} defines {len(reading.defines)} variables: split it, one idea per cell."
    charts = charts_in(cell.code)
    if len(charts) > 1:
        yield f"{label} draws {len(charts)} charts: give each a cell of its own."
    elif charts and any(reader in cell.code for reader in _READERS):
        yield f"{label} reads data and draws a chart: give each a cell of its own."
    yield from (f"{label}: the chart needs {lacks}, with units." for lacks in charts.values() if lacks)


def _silent_results(readings: Sequence[tuple[Cell, CellContent]]) -> Iterator[str]:
    """Results without a word before them."""
    silent, has_words = 0, False
    for cell, reading in readings:
        if reading.is_markdown:
            silent, has_words = 0, True
        elif reading.has_result:
            silent += 1
            if silent == 1 and not has_words:
                yield f"{_label(cell)} shows a result, and no markdown before it says what it is about."
            elif silent == _MOST_SILENT_RESULTS:
                yield f"{silent} results up to {_label(cell)} follow each other without a word of explanation."


def _label(cell: Cell) -> str:
    return f"Cell {cell.id}" if cell.name == DEFAULT_NAME else f"Cell {cell.name}"
