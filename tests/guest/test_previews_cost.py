"""A preview takes a fixed amount of memory, however much data there is. Counted, not timed."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cellwright_guest.previews import columns, preview

MB = 1 << 20


def peak_bytes(value: object) -> int:
    preview("warm", value)
    tracemalloc.start()
    try:
        preview("x", value)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def virtual(rows: int) -> np.ndarray[Any, Any]:
    # np.zeros of this size is address space only: a full scan would have to make it real.
    return np.zeros(rows)


def arrow_table(rows: int) -> object:
    return pa.table({"a": pa.array(virtual(rows))})


def arrow_cells() -> object:
    return pa.table({"s": ["x" * (4 * MB)] * 2, "l": [[1] * 250_000] * 2})


MAKERS: list[Callable[[int], object]] = [
    lambda rows: pd.DataFrame({"a": virtual(rows), "b": virtual(rows)}, copy=False),
    lambda rows: pd.DataFrame(np.zeros((rows // 4, 4)), copy=False),
    lambda rows: pd.Series(virtual(rows), copy=False),
    lambda rows: virtual(rows).reshape(-1, 8).T,
    lambda rows: pl.DataFrame({"a": pl.Series(virtual(rows))}),
    arrow_table,
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", MAKERS)
def test_the_memory_of_a_preview_does_not_grow_with_the_data(make: Callable[[int], object]) -> None:
    small, large = make(100_000), make(64_000_000 // 2)
    assert peak_bytes(small) < MB
    assert peak_bytes(large) < MB


# Made only when its own test runs: all of them would otherwise stay in every worker.
@pytest.mark.parametrize(
    "make",
    [
        lambda: "x" * (8 * MB),
        lambda: b"x" * (8 * MB),
        lambda: [1] * 2_000_000,
        lambda: dict.fromkeys(range(200_000), "x"),
        lambda: pd.DataFrame({"o": pd.Series(["x" * (4 * MB)] * 2, dtype=object)}),
        lambda: pd.DataFrame({"o": pd.Series(["x" * (4 * MB)] * 2, dtype="str")}),
        arrow_cells,
        lambda: pl.DataFrame({"s": ["x" * (4 * MB)] * 2, "l": [[1] * 250_000] * 2}),
        lambda: pd.DataFrame(np.zeros((1_000, 5_000))),
    ],
    ids=["str", "bytes", "list", "dict", "object cells", "str cells", "arrow cells", "polars cells", "wide"],
)
def test_large_values_are_never_copied(make: Callable[[], object]) -> None:
    assert peak_bytes(make()) < MB


class Counting(np.ndarray[Any, Any]):
    """Counts the elements that leave it as Python objects."""

    read = 0

    def tolist(self) -> Any:
        Counting.read += self.size
        return super().tolist()

    def __array_finalize__(self, obj: object) -> None:
        pass


def elements_read(rows: int) -> int:
    values = np.zeros(rows).view(Counting)
    Counting.read = 0
    preview("x", values)
    return Counting.read


def test_the_same_number_of_elements_is_read_of_any_array() -> None:
    assert elements_read(100_000) == elements_read(10_000_000) <= 1_000


class CountedColumn(columns.ArrowColumn):
    """How many values became Python objects."""

    boxed = 0

    def sample(self, start: int, stop: int) -> list[Any] | None:
        values = super().sample(start, stop)
        self.boxed += len(values or ())
        return values


def test_of_a_column_that_is_too_long_to_be_read_whole_only_a_sample_is_read() -> None:
    numbers = CountedColumn(pa.array(virtual(1_000_000)))
    texts = CountedColumn(pa.array(["a", None] * 500_000))
    told = [
        columns.describe(
            "x", source, rows=1_000_000, head_rows=1, brief=lambda value, _: str(value), until=float("inf")
        )
        for source in (numbers, texts)
    ]
    assert [column.line() for column in told] == ["x: double, 0 … 0 (sampled)", "x: string, nulls 500,000"]
    assert numbers.boxed <= columns.SAMPLE_ROWS + 1
