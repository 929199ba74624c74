"""Where a table stands in its text: titles before it, lines of names, rows, notes behind it. Pure decisions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cellwright_guest.profiling.readers.csv_dialect import are_years, is_null, is_rule, is_typed
from cellwright_guest.profiling.readers.reader_columns import joined_names, numbered_names, pandas_names
from cellwright_guest.profiling.records import LONGEST_NAME

_NOTE: Final = re.compile(
    r"\s*(?:\*|†|‡|©|#|--|\(\d+ rows?|\[?\d\]|(?:source|note|notes|quelle|anmerkung|hinweis|stand|footnote|remark|data|"
    r"generated|exported|printed|created|copyright|disclaimer|report|fuente|nota|end of)\b)",
    re.IGNORECASE,
)
_BODY: Final = 100
_MOST_HEADERS: Final = 3
_LONGEST_LOOK_BACK: Final = 40
"""Limit of records at the end that are searched for notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """Where things stand, counted in records from the file's beginning, blank ones too."""

    start: int
    """The first header line, or the first row where there is none."""
    first_row: int
    """The first record behind the lines of names, or `start` where there are none."""
    names: list[str]
    is_named_by_hand: bool
    """No one line gives these names: whoever reads the file again must be told them."""
    header: list[str]
    """The last line of names as it stands, to find it again among the rows."""

    @property
    def width(self) -> int:
        """Columns."""
        return len(self.names)


def find_layout(found: Sequence[list[str]], width: int) -> TableLayout:
    """Where the table stands, by its first records, blank ones (empty lists) among them, and their usual width."""
    start = _start(found, width)
    headers = _count_headers([record for record in found[start:] if record])
    if headers and width > 1:
        for at in range(start - 1, max(-1, start - 3), -1):
            if not _is_group_line(found[at], width):
                break
            start, headers = at, headers + 1
    first_row = start
    while headers and first_row < len(found):
        headers -= bool(found[first_row])
        first_row += 1
    return _named(start, first_row, found, width)


def _start(found: Sequence[list[str]], width: int) -> int:
    """The first record that is as full as a header or a row would be."""
    for at, record in enumerate(found):
        filled = sum(1 for cell in record if cell.strip())
        if width == 1 and filled:
            return at
        is_full = filled >= max(2, width / 2) and not is_rule(record)
        if len(record) >= width and is_full:
            return at
        if len(record) == width - 1 and is_full and _lacks_a_name(record, found[at + 1 :], width):
            return at
    return next((at for at, record in enumerate(found) if len(record) == width), 0)


def _lacks_a_name(record: Sequence[str], after: Sequence[list[str]], width: int) -> bool:
    """A header over rows whose first field, the row's own name, has none; not a title over a header."""
    rows = [row for row in after[:_BODY] if row]
    if not after or len(after[0]) != width or any(is_typed(cell) for cell in record):
        return False
    return len(rows) < 2 or not _typed_columns(rows[1:], rows[0])


def _is_group_line(record: Sequence[str], width: int) -> bool:
    """A line of names that count for several columns: full width, some filled, none a quantity."""
    filled = [cell for cell in record if cell.strip()]
    if len(record) != width or len(filled) < 2:
        return False
    return all(not is_typed(cell) or cell.strip().isdigit() for cell in filled)


def _count_headers(body: Sequence[list[str]]) -> int:
    if not body:
        return 0
    count = 1
    if len(body) > 2 and _is_group_line(body[0], len(body[0])) and _goes_on(body[1], body[2 : 2 + _BODY], body[0]):
        count = 2
    elif not _is_header(body[0], body[1 : 1 + _BODY]):
        return 0
    while count < min(_MOST_HEADERS, len(body) - 1) and _goes_on(
        body[count], body[count + 1 : count + 1 + _BODY], body[0]
    ):
        count += 1
    return count


def _is_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    filled = [cell for cell in first if cell.strip()]
    typed = [cell for cell in filled if is_typed(cell)]
    if not rows:
        return not typed
    if typed and not (len(typed) < len(filled) and are_years(typed)):
        # Names such as `2024 (kg)` or `Q1 2024` among many others do not make a row of it.
        return len(typed) <= 0.2 * len(filled) and _typed_columns(rows, first) >= 2
    if _typed_columns([row for row in rows if row != first], first):
        return True
    if len(set(filled)) < len(filled) / 2 or any(len(cell) > LONGEST_NAME for cell in filled):
        return False
    return not any(
        cell.strip() and any(at < len(row) and row[at] == cell for row in rows) for at, cell in enumerate(first)
    )


def _typed_columns(rows: Sequence[Sequence[str]], first: Sequence[str]) -> int:
    """Columns of typed values whose first field is a word."""
    return sum(1 for at, cell in enumerate(first) if cell.strip() and not is_typed(cell) and _is_typed_column(rows, at))


def _is_typed_column(rows: Sequence[Sequence[str]], at: int) -> bool:
    cells = [row[at] for row in rows if at < len(row) and not is_null(row[at])]
    return bool(cells) and sum(1 for cell in cells if is_typed(cell)) >= 0.8 * len(cells)


def _goes_on(record: Sequence[str], rows: Sequence[Sequence[str]], first: Sequence[str]) -> bool:
    """One more line of names: it has words (a unit) in all columns in which the rows have values."""
    if is_rule(record):
        return True
    typed = [at for at in range(len(first)) if _is_typed_column(rows, at)]
    cells = [record[at] for at in typed if at < len(record)]
    words = [cell for cell in cells if not is_null(cell)]
    if len(rows) < 2 or len(words) < max(2, len(typed) / 2) or any(is_typed(cell) for cell in words):
        return False
    return list(record) != list(first)


def _named(start: int, first_row: int, found: Sequence[list[str]], width: int) -> TableLayout:
    lines = [record for record in found[start:first_row] if record]
    rows = [record for record in found[first_row:] if record]
    if not lines:
        names = numbered_names(width)
        return TableLayout(start=start, first_row=start, names=names, is_named_by_hand=True, header=[])
    header = lines[-1] if not is_rule(lines[-1]) else lines[0]
    width = max(len(line) for line in lines)
    fields = [len(row) for row in rows]
    usual = max(set(fields), key=fields.count) if fields else width
    # Empty fields beyond the names are not read.
    is_wider = usual > width and any(cell.strip() for row in rows for cell in row[width:])
    if is_wider and usual == width + 1 and len(lines) == 1:
        lines = [["", *lines[0]]]
    width = usual if is_wider else width
    is_plain = len(lines) == 1 and len(lines[0]) == width and header is lines[0]
    is_plain = is_plain and all(len(name) <= LONGEST_NAME for name in header)
    names = pandas_names(header) if is_plain else joined_names(lines, width)
    return TableLayout(start=start, first_row=first_row, names=names, is_named_by_hand=not is_plain, header=header)


def count_notes(last: Sequence[Sequence[str]], width: int) -> int:
    """How many of the last records are no rows but notes and the blanks among them."""
    count = 0
    for back in range(1, min(len(last), _LONGEST_LOOK_BACK) + 1):
        record = last[-back]
        before = last[-back - 1] if back < len(last) else ["x"]
        if not any(cell.strip() for cell in record):
            if record and width == 1:
                break
            continue
        if not _is_note(record, width, is_after_blank=not any(cell.strip() for cell in before)):
            break
        count = back
    while 0 < count < len(last) and not any(cell.strip() for cell in last[-count - 1]):
        count += 1
    return count


def _is_note(record: Sequence[str], width: int, *, is_after_blank: bool) -> bool:
    filled = [cell for cell in record if cell.strip()]
    text = record[0]
    is_note_like = bool(_NOTE.match(text)) or (text.strip().endswith((".", ":")) and " " in text)
    if width == 1:
        return is_after_blank and bool(_NOTE.match(text))
    if not text.strip() or (is_typed(text) and not _NOTE.match(text)):
        return False
    if len(record) == width and (len(filled) > 1 or width == 2):
        return bool(_NOTE.match(text)) and len(filled) == 1
    if len(filled) == 1:
        return is_note_like or is_after_blank or (len(record) == 1 and " " in text.strip() and width > 2)
    return len(record) != width and (bool(_NOTE.match(text)) or is_after_blank)
