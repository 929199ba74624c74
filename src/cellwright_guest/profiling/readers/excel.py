"""Workbooks become tables, one of each sheet: titles passed over, merged and doubled headers joined, notes left out."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import openpyxl
from openpyxl.utils import column_index_from_string

from cellwright_guest.profiling.raw import NotReadable, RawTable, ReadBudget, SourceFile, example
from cellwright_guest.profiling.readers import reader_columns
from cellwright_guest.profiling.readers.csv_layout import TableLayout, count_notes, find_layout
from cellwright_guest.profiling.records import Oddity, ReadOptions, SkippedFile
from cellwright_guest.profiling.wording import counted

_MOST_PART_BYTES: Final = 64 << 20
_MOST_SHEET_BYTES: Final = 1 << 30
_MOST_PARTS: Final = 4_000
_MOST_SHEETS: Final = 40
_LAST_ROW: Final = 1_048_576
_MOST_CELLS: Final = 3_000_000
_HEAD_ROWS: Final = 120
_MOST_EMPTY: Final = 10_000
"""Limit of consecutive empty rows; after them a sheet is taken to be at its end."""
_ERRORS: Final = frozenset({"#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"})
_MERGED: Final = re.compile(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
Merged = tuple[int, int, int, int]
"""First row, first column, last row, last column; from 0."""


def read_workbook(source: SourceFile, budget: ReadBudget) -> tuple[list[RawTable], list[SkippedFile], list[str]]:
    """A table for each sheet that holds one; raises `NotReadable` or the library's own errors."""
    _refuse_bombs(source)
    tables, skipped, notes = list[RawTable](), list[SkippedFile](), list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(str(source.path), read_only=True, data_only=True, keep_links=False)
        try:
            sheets: list[Any] = list(book.worksheets)
            for sheet in sheets[:_MOST_SHEETS]:
                try:
                    tables.append(_read_sheet(source, sheet, budget, is_only=len(sheets) == 1))
                except NotReadable as error:
                    skipped.append(SkippedFile(path=f"{source.shown} ({example(sheet.title)})", why=str(error)))
                if sheet.sheet_state != "visible":
                    notes.append(f"The sheet {example(sheet.title)!r} of {source.shown!r} is hidden.")
        finally:
            book.close()
    if len(sheets) > _MOST_SHEETS:
        notes.append(f"Only the first {_MOST_SHEETS} of {len(sheets):,} sheets of {source.shown!r} were read.")
    if not tables and len(sheets) <= 1:
        raise NotReadable("its only sheet is empty")
    return tables, skipped, notes


def _refuse_bombs(source: SourceFile) -> None:
    """What is packed in the file is of a size that can be read; a part gives no more bytes than it says."""
    with zipfile.ZipFile(source.path) as archive:
        parts = archive.infolist()
        if len(parts) > _MOST_PARTS:
            raise NotReadable(f"it holds {len(parts):,} parts, which no workbook does")
        names = {part.filename for part in parts}
        if "EncryptedPackage" in names or any(part.flag_bits & 1 for part in parts):
            raise NotReadable("it is encrypted: take its password off first")
        if not any(name.endswith("workbook.xml") for name in names):
            raise NotReadable("it is an archive (zip), no workbook")
        for part in parts:
            most = _MOST_SHEET_BYTES if "/worksheets/" in part.filename else _MOST_PART_BYTES
            if part.file_size > most and not part.filename.startswith("xl/media/"):
                raise NotReadable(f"a part of it unpacks to {part.file_size >> 20:,} MB, which is more than is read")
            if part.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in _beginning(archive, part):
                raise NotReadable("it declares XML entities, which no workbook does and which can fill the memory")


def _beginning(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    with archive.open(part) as stream:
        return stream.read(4_096)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """The cells of a sheet, from the first column that holds something on."""

    rows: list[list[Any]]
    first_column: int
    width: int
    full_width: int
    """With what stands apart on the right of the table, or is too much to be read."""
    is_whole: bool
    errors: int
    """Cells with the error of a formula instead of a value."""
    last_row: int
    """As the sheet says itself."""


def _read_sheet(source: SourceFile, sheet: Any, budget: ReadBudget, *, is_only: bool) -> RawTable:
    grid = _grid(sheet, budget)
    texts = [_texts(row) for row in grid.rows[:_HEAD_ROWS]]
    layout = _laid_out(grid, _with_merged(texts, _merged_cells(source, sheet), grid))
    rows = grid.rows[layout.first_row :]
    last = [_texts(row) for row in rows[-40:]]
    notes = count_notes(last, grid.width) if grid.is_whole else 0
    rows = rows[: len(rows) - notes]
    stride = reader_columns.starting_stride(len(rows), budget.most_rows)
    columns, odd = reader_columns.typed_columns(layout.names, rows[::stride])
    total = len(rows) if grid.is_whole else max(len(rows), min(grid.last_row, _LAST_ROW) - layout.first_row)
    reading, name = _reading(source, sheet, layout, grid, notes), source.stem if is_only else ""
    odd += [
        *reader_columns.oddities_around("row", texts[: layout.start], last[len(last) - notes :], layout.names),
        *_oddities(grid),
    ]
    return reader_columns.raw_table(
        source, reading, columns, odd, rows=total, seen=len(rows), stride=stride, is_whole=grid.is_whole, name=name
    )


def _reading(source: SourceFile, sheet: Any, layout: TableLayout, grid: _Grid, notes: int) -> ReadOptions:
    return ReadOptions(
        path=source.shown,
        format="excel",
        part=sheet.title,
        header_rows=() if layout.is_named_by_hand else (0,),
        skip_first=layout.first_row if layout.is_named_by_hand else layout.start,
        skip_last=notes,
        names=tuple(layout.names) if layout.is_named_by_hand else (),
        width=grid.width if grid.first_column or grid.width < grid.full_width else 0,
        first_column=grid.first_column,
    )


def _grid(sheet: Any, budget: ReadBudget) -> _Grid:
    last_row = int(sheet.max_row or 0)
    # What a sheet says about its size can be wrong, and openpyxl would make as many cells.
    sheet.reset_dimensions()
    rows, cells, empty, errors, is_whole = list[list[Any]](), 0, 0, 0, True
    for row in islice(sheet.iter_rows(values_only=True), _LAST_ROW):
        errors += sum(1 for value in row if isinstance(value, str) and value in _ERRORS)
        rows.append(_trimmed(row))
        cells += len(row) + 1
        empty = 0 if rows[-1] else empty + 1
        if cells > _MOST_CELLS or empty > _MOST_EMPTY or (len(rows) % 2_000 == 0 and budget.is_spent):
            is_whole = False
            break
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise NotReadable("it is an empty sheet")
    first = min(next(at for at, value in enumerate(row) if value is not None) for row in rows if row)
    full = max(len(row) for row in rows) - first
    width = min(_table_width(rows, first, full), budget.most_columns)
    even = [[*row[first : first + width], *[None] * (first + width - max(first, len(row)))] for row in rows]
    return _Grid(
        rows=even,
        first_column=first,
        width=width,
        full_width=full,
        is_whole=is_whole,
        errors=errors,
        last_row=last_row,
    )


def _trimmed(row: Sequence[Any]) -> list[Any]:
    values = [_value(value) for value in row]
    while values and values[-1] is None:
        values.pop()
    return values


def _value(value: Any) -> Any:
    """A cell's value as pandas takes it: whole numbers are integers, errors and empty text are nothing."""
    if isinstance(value, str):
        return None if not value or value in _ERRORS else value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _table_width(rows: Sequence[Sequence[Any]], first: int, full: int) -> int:
    """Columns of the table: a few cells behind an empty column are remarks on its side."""
    filled = [0] * full
    for row in rows:
        for at, value in enumerate(row[first:]):
            filled[at] += value is not None
    for at in range(1, full):
        if not filled[at] and sum(filled[at:]) <= min(10, sum(filled[:at]) / 10):
            return at
    return full


def _texts(row: Sequence[Any]) -> list[str]:
    """A row as text, for deciding where the table stands; an empty one has no fields."""
    return (
        ["" if value is None else reader_columns.as_text(value) for value in row]
        if any(v is not None for v in row)
        else []
    )


def _merged_cells(source: SourceFile, sheet: Any) -> list[Merged]:
    """Cells that were made one, as the sheet's own file says (openpyxl tells only when it reads everything)."""
    with zipfile.ZipFile(source.path) as archive:
        part = archive.getinfo(sheet._worksheet_path)
        content = archive.read(part) if part.file_size <= _MOST_PART_BYTES else b""
    found = list[Merged]()
    for match in islice(_MERGED.finditer(content), _MOST_PARTS):
        first, top, last, bottom = (group.decode() for group in match.groups())
        columns = column_index_from_string(first) - 1, column_index_from_string(last) - 1
        found.append((int(top) - 1, columns[0], int(bottom) - 1, columns[1]))
    return found


def _with_merged(texts: Sequence[list[str]], merged: Sequence[Merged], grid: _Grid) -> list[list[str]]:
    """The first rows with the text of merged cells in each of them; a title over everything stays what it is."""
    filled = [list(row) for row in texts]
    for top, first, bottom, last in merged:
        start, end = first - grid.first_column, min(last - grid.first_column, grid.width - 1)
        if top >= len(filled) or not filled[top] or start < 0 or end <= start or bottom != top:
            continue
        if end - start + 1 < 0.8 * grid.width:
            filled[top][start : end + 1] = [filled[top][start]] * (end + 1 - start)
    return filled


def _laid_out(grid: _Grid, texts: list[list[str]]) -> TableLayout:
    layout = find_layout(texts, grid.width)
    line = grid.rows[layout.start] if layout.first_row > layout.start else []
    is_text = all(value is None or isinstance(value, str) for value in line)
    return replace(layout, is_named_by_hand=layout.is_named_by_hand or not is_text)


def _oddities(grid: _Grid) -> Iterator[Oddity]:
    if grid.errors:
        says = f"{counted(grid.errors, 'cell')} hold the error of a formula (such as #DIV/0!) and count as empty."
        yield Oddity(kind="placeholder-nulls", says=says, count=grid.errors)
    if grid.width < grid.full_width:
        says = f"{counted(grid.full_width - grid.width, 'column')} on the right of the table were not read."
        yield Oddity(kind="not-read", says=says, count=grid.full_width - grid.width)
