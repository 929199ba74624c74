"""Parquet and Feather (Arrow files): typed columns, of which a large file gives evenly spread pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from cellwright_guest.profiling.raw import NotReadable, RawTable, ReadBudget, SourceFile
from cellwright_guest.profiling.readers import reader_columns
from cellwright_guest.profiling.records import ReadOptions

_BATCH_ROWS: Final = 8_192
_LONGEST_FOOTER: Final = 64 << 20
_LARGEST_GROUP: Final = 2 << 30
_READ_ALL_BELOW: Final = 20
"""Limit of rows, as a multiple of those wanted, up to which all are read."""


def read_parquet(source: SourceFile, budget: ReadBudget) -> RawTable:
    """The table in a Parquet file; raises `NotReadable` or arrow's own errors."""
    with source.path.open("rb") as stream:
        stream.seek(-8, 2)
        footer = stream.read(8)
    if footer[4:] == b"PARE":
        raise NotReadable("it is encrypted")
    if footer[4:] != b"PAR1" or int.from_bytes(footer[:4], "little") > min(_LONGEST_FOOTER, source.size_bytes):
        raise NotReadable("it is a broken or unfinished Parquet file")
    with pyarrow.parquet.ParquetFile(
        str(source.path),
        pre_buffer=False,
        memory_map=False,
        buffer_size=1 << 20,
        thrift_string_size_limit=_LONGEST_FOOTER,
        thrift_container_size_limit=1 << 20,
    ) as file:
        schema = file.schema_arrow
        if not schema.names:
            raise NotReadable("it has no columns")
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        if any(group.total_byte_size > _LARGEST_GROUP for group in groups):
            raise NotReadable(f"one of its row groups is larger than {_LARGEST_GROUP >> 30} GB")
        sizes = [group.num_rows for group in groups]
        if any(size < 0 for size in sizes) or sum(sizes) != file.metadata.num_rows:
            raise NotReadable("it is a broken Parquet file: it says two different numbers of rows")
        chosen = _chosen(sizes, budget)
        if source.groups is not None:
            chosen = [number for number in source.groups if number < len(sizes)]
        places = (
            f"{len(chosen):,} of {len(sizes):,} row groups spread over the file" if len(chosen) < len(sizes) else ""
        )
        stride = reader_columns.starting_stride(sum(sizes[number] for number in chosen), budget.most_rows)
        sample = reader_columns.RowSample(budget=budget, stride=stride)
        reading = ReadOptions(path=source.shown, format="parquet")
        batches = _batches(file, chosen, schema.names[: budget.most_columns])
        return reader_columns.sampled_table(source, reading, schema, batches, sample, sum(sizes), places)


def read_feather(source: SourceFile, budget: ReadBudget) -> RawTable:
    """The table in a Feather or Arrow file; raises `NotReadable` or arrow's own errors."""
    with pa.memory_map(str(source.path)) as mapped, pyarrow.ipc.open_file(mapped) as file:
        if not file.schema.names:
            raise NotReadable("it has no columns")
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
        reading, sample = ReadOptions(path=source.shown, format="feather"), reader_columns.RowSample(budget=budget)
        return reader_columns.sampled_table(source, reading, file.schema, batches, sample, rows=None)


def _chosen(sizes: Sequence[int], budget: ReadBudget) -> list[int]:
    """The row groups that are read: all, or of a large file some, spread evenly."""
    rows = sum(sizes)
    if rows <= budget.most_rows * _READ_ALL_BELOW or len(sizes) < 8:
        return list(range(len(sizes)))
    step = max(1, len(sizes) * budget.most_rows * _READ_ALL_BELOW // rows)
    return sorted({round(number * (len(sizes) - 1) / max(1, step - 1)) for number in range(step)})


def _batches(
    file: pyarrow.parquet.ParquetFile, chosen: Sequence[int], wanted: Sequence[str]
) -> Iterator[reader_columns.Batch]:
    columns = None if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names) else list(wanted)
    for number in chosen:
        yield from file.iter_batches(_BATCH_ROWS, row_groups=[number], columns=columns, use_threads=False)
