"""Rows that stand in more than one file: copies, and what was saved again with a few changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.records import SharedRows

_LEAST_ROWS: Final = 3
_MOST_ROWS: Final = 20_000
_MOST_ROWS_TOGETHER: Final = 200_000
_DISTINCT_SHARE: Final = 0.9
"""Rows of a few values are alike by chance."""
_SHARED_SHARE: Final = 0.5


def note_shared_rows(tables: Sequence[RawTable]) -> None:
    """Each table of which at least half stands in another file says so; names do not count, values do."""
    owners: dict[tuple[str, int], dict[int, str]] = {}
    left = _MOST_ROWS_TOGETHER
    # What is longer, or has the shorter name, is taken for the original.
    for table in sorted(tables, key=lambda table: (-table.rows, len(table.reading.path))):
        left -= table.looked_at
        rows = set(_rows(table)) if left >= 0 and _is_comparable(table) else set[int]()
        if len(rows) < max(_LEAST_ROWS, _DISTINCT_SHARE * table.looked_at):
            continue
        known = owners.setdefault((table.reading.format, len(table.columns)), {})
        for other, count in Counter(known[row] for row in rows if row in known).most_common(1):
            if count >= _SHARED_SHARE * len(rows):
                path = table.reading.path
                table.shared = (SharedRows(file=path, other=other, rows=count, of=len(rows)),)
        known |= {row: table.reading.path for row in rows if row not in known}


def _is_comparable(table: RawTable) -> bool:
    is_whole = not table.sampling and table.looked_at <= _MOST_ROWS
    kinds = (column.values.type for column in table.columns)
    return is_whole and len(table.columns) > 1 and not any(pa.types.is_nested(kind) for kind in kinds)


def _rows(table: RawTable) -> Iterator[int]:
    return map(hash, zip(*(column.values.to_pylist() for column in table.columns), strict=True))
