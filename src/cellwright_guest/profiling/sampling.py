"""Rows of a stream, thinned evenly while they come: the same rows every time, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from cellwright_guest.profiling.arrow import Batch, Table
from cellwright_guest.profiling.sources import Allowance


@dataclass(slots=True, kw_only=True)
class Sample:
    """Every `stride`-th row of all that were offered, in their order."""

    allowance: Allowance
    stride: int = 1
    seen: int = 0
    """Rows offered."""
    kept: list[Batch] = field(default_factory=list[Batch])
    rows: int = 0
    bytes: int = 0

    def offer(self, batch: Batch) -> None:
        """Take the rows of `batch`, which come next, that the stride falls on."""
        first = -self.seen % self.stride
        self.seen += batch.num_rows
        if first < batch.num_rows:
            self.add(batch if self.stride == 1 else _every(batch, first, self.stride))

    def add(self, batch: Batch) -> None:
        """Keep rows that somebody chose by the stride already."""
        self.kept.append(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        while self.rows > 1 and (self.rows > self.allowance.most_rows or self.bytes > self.allowance.most_bytes):
            self._thin()

    def table(self, rows: int) -> Table | None:
        """What was kept of the first `rows` rows; None: no batch ever came."""
        if not self.kept:
            return None
        wanted = -(-rows // self.stride)
        return pa.Table.from_batches(self.kept).slice(0, wanted)

    def _thin(self) -> None:
        self.stride *= 2
        offset, thinned = 0, list[Batch]()
        for batch in self.kept:
            first = offset % 2
            offset += batch.num_rows
            if first < batch.num_rows:
                thinned.append(_every(batch, first, 2))
        self.kept = [combined(thinned)]
        self.rows = self.kept[0].num_rows
        self.bytes = self.kept[0].nbytes


def combined(batches: Sequence[Batch]) -> Batch:
    """One batch of several of one schema; their own memory can go."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def starting_stride(rows: int, most_rows: int) -> int:
    """Which rows to keep of about so many."""
    return max(1, -(-rows // max(1, most_rows)))


def told(*, stride: int, seen: int, is_counted: bool, total: int) -> str:
    """How the rows were chosen, in words; empty: all of them."""
    part = "every row" if stride == 1 else f"every {ordinal(stride)}"
    if is_counted:
        return "" if stride == 1 else f"{part} of {total:,} rows"
    part = f"{part} of the first {seen:,} rows" if stride > 1 else f"the first {seen:,} rows"
    return f"{part}; there are about {total:,} in all"


def ordinal(number: int) -> str:
    """`2nd`, `50th`, `101st`."""
    if number % 100 in (11, 12, 13):
        return f"{number:,}th"
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _every(batch: Batch, first: int, stride: int) -> Batch:
    return batch.take(pa.array(range(first, batch.num_rows, stride), type=pa.int64()))
