"""Parquet files of which only the footers are there: rows, columns, and which bytes a close look needs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet

from cellwright_guest.profiling.records import (
    LONGEST_NAME,
    ParquetPlan,
    ParquetPlans,
    ProfileRequest,
    RowGroup,
    SkippedFile,
)
from cellwright_guest.profiling.wording import cut

_LONGEST_FOOTER: Final = 64 << 20
_MOST_GROUPS: Final = 8
_LEAST_ROWS: Final = 20_000


def plan_files(question: ProfileRequest) -> ParquetPlans:
    """What each footer says; never raises for what one holds."""
    plans, skipped = list[ParquetPlan](), list[SkippedFile]()
    for path in question.paths:
        try:
            plans.append(_plan(path, question))
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            why = cut(f"its footer cannot be read: {error}", 200)
            skipped.append(SkippedFile(path=path, why=why))
    return ParquetPlans(plans=tuple(plans), skipped=tuple(skipped))


def _plan(path: str, question: ProfileRequest) -> ParquetPlan:
    with pyarrow.parquet.ParquetFile(
        path,
        pre_buffer=False,
        memory_map=False,
        thrift_string_size_limit=_LONGEST_FOOTER,
        thrift_container_size_limit=1 << 20,
    ) as file:
        metadata, schema = file.metadata, file.schema_arrow
        names = [cut(f"{field.name}: {field.type}", LONGEST_NAME) for field in schema]
        every = range(metadata.num_row_groups)
        sizes = [metadata.row_group(number).num_rows for number in every]
        wanted = _spread(sizes, question.most_rows)
        size = Path(path).stat().st_size
        groups = [_group(metadata.row_group(number), number, size) for number in wanted]
        # A long list of columns is told by its beginning; what follows still tells it from another.
        more = [hashlib.sha256("\n".join(names).encode()).hexdigest()] if len(names) > 499 else []
        return ParquetPlan(
            path=path,
            rows=metadata.num_rows,
            columns=(*names[:499], *more),
            groups=tuple(groups),
            all_groups=len(every),
        )


def _spread(sizes: list[int], rows: int) -> list[int]:
    """Some row groups from all over the file, with about so many rows."""
    if not sizes:
        return []
    each = max(1, sum(sizes) // len(sizes))
    count = min(len(sizes), _MOST_GROUPS, max(1, -(-max(rows, _LEAST_ROWS) // each)))
    return sorted({round(step * (len(sizes) - 1) / max(1, count - 1)) for step in range(count)})


def _group(group: pyarrow.parquet.RowGroupMetaData, number: int, size: int) -> RowGroup:
    columns = [group.column(at) for at in range(group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    stops = [start + column.total_compressed_size for start, column in zip(starts, columns, strict=True)]
    start, stop = min(starts), max(stops)
    if not 0 <= start <= stop <= size:
        raise ValueError("it says that bytes lie where the file has none")
    return RowGroup(number=number, start=start, stop=stop)
