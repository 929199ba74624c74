"""A result as a file in sealed memory: Arrow's IPC file format, written as batches arrive, within limits.

Memory stays flat: there is one batch at a time beside what was written. Only if a column's type turned out otherwise
late (see `TidyColumns`), what was written is copied once, into the types of the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa

from cellwright.data.sealed_memory import new_memory, seal
from cellwright.data.worker.source import BatchStream, SourceFailed
from cellwright.data.worker.tidy import TidyColumns, widen

Cut = Literal["", "rows", "bytes"]
MAX_SCHEMA_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedResult:
    """What is sent: the descriptor is open for reading only, and the receiver's."""

    descriptor: int
    rows: int
    bytes: int
    cut: Cut
    columns: tuple[tuple[str, str], ...]
    sha256: str


def write_result(stream: BatchStream, *, rows: int, size: int) -> SealedResult:
    """All of it, or as many rows and about as many bytes as may be. Raises `SourceFailed`. Blocking."""
    if stream.schema.serialize().size > MAX_SCHEMA_BYTES:
        raise SourceFailed("statement", "The result has too many columns, or their names are too long.")
    tidy = TidyColumns(stream.schema)
    parts = [_Part(tidy.schema)]
    try:
        count, cut = 0, ""
        for raw in stream.batches:
            batch = tidy.take(raw)
            if batch.schema != parts[-1].schema:
                parts[-1].finish()
                parts.append(_Part(tidy.schema))
            batch, cut = _fitting(batch, rows - count, size - sum(part.written for part in parts))
            parts[-1].write(batch)
            count += batch.num_rows
            if cut:
                break
        parts[-1].finish()
        if len(parts) > 1:
            parts = [_joined(parts, tidy.schema)]
        return _sealed(parts[0], count, cut)
    finally:
        for part in parts:
            part.close()


def _fitting(batch: pa.RecordBatch, rows: int, size: int) -> tuple[pa.RecordBatch, Cut]:
    """As many of its rows as may still be, and what stopped it."""
    cut: Cut = ""
    if batch.num_rows > rows:
        batch, cut = batch.slice(0, rows), "rows"
    if pa.ipc.get_record_batch_size(batch) <= size:
        return batch, cut
    fitting, beyond = 0, batch.num_rows
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if pa.ipc.get_record_batch_size(batch.slice(0, middle)) <= size:
            fitting = middle
        else:
            beyond = middle
    return batch.slice(0, fitting), "bytes"


class _Part:
    """Batches of one schema in memory that has a descriptor. Written, not mapped: it is no memory of this process."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.descriptor = new_memory()
        self._sink: pa.NativeFile = pa.OSFile(f"/proc/self/fd/{self.descriptor}", "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)
        self.written = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)
        self.written = self._sink.tell()

    def finish(self) -> None:
        self._writer.close()
        self._sink.close()
        self.written = os.fstat(self.descriptor).st_size

    def batches(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(f"/proc/self/fd/{self.descriptor}") as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)

    def close(self) -> None:
        with suppress(OSError):
            self._sink.close()
        os.close(self.descriptor)


def _joined(parts: list[_Part], schema: pa.Schema) -> _Part:
    whole = _Part(schema)
    try:
        while parts:
            for batch in parts[0].batches():
                whole.write(widen(batch, schema))
            # As soon as it is read, for two copies of everything would be much.
            parts.pop(0).close()
        whole.finish()
    except BaseException:
        whole.close()
        raise
    return whole


def _sealed(part: _Part, rows: int, cut: Cut) -> SealedResult:
    memory = seal(part.descriptor)
    return SealedResult(
        descriptor=memory.descriptor,
        rows=rows,
        bytes=memory.bytes,
        cut=cut,
        columns=tuple((field.name, str(field.type)) for field in part.schema),
        sha256=memory.sha256,
    )
