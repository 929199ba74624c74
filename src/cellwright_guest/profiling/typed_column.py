"""A column with its values made out: each different text read once, each row a number that points to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from cellwright_guest.profiling.records import Conversion, Kind, Oddity, OddityKind, Severity
from cellwright_guest.profiling.wording import cut, sentence

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

compute: Any = pyarrow.compute
"""pyarrow makes its functions when it is imported, so that no type checker knows them."""

NULL: Final = -1
_EXAMPLES: Final = 5
_LONGEST_REPAIRED: Final = 200
"""Limit of characters of a value that a repair may name."""
_MOST_ROWS: Final = 20


@dataclass(slots=True, kw_only=True)
class TypedColumn:
    """A column whose kind is known."""

    name: str
    kind: Kind
    codes: Codes
    texts: Any
    """A pyarrow array of strings: the different values as they stand in the file, or written out."""
    values: Floats | None = None
    """Of each different value: the number, 0 or 1, or seconds since 1970; not-a-number where it does not fit."""
    conversion: Conversion = field(default_factory=Conversion)
    unit: str = ""
    is_text_format: bool = False
    is_stored_as_text: bool = False
    has_leading_zeros: bool = False
    is_plain: bool = False
    """Numbers as Python writes them."""
    is_ambiguous: bool = False
    """A point may divide thousands or decimals: nothing in the column decides it."""
    oddities: list[Oddity] = field(default_factory=list[Oddity])
    """What was noticed while its kind was found out."""
    unfit: Codes = field(default_factory=lambda: np.empty(0, np.int64))
    """Codes of values that do not fit the kind."""
    impossible: Codes = field(default_factory=lambda: np.empty(0, np.int64))
    """Codes of values that look like dates of this column, but are no day of any calendar: 2024-02-30."""

    def counts(self) -> Codes:
        """How often each different value occurs."""
        return count_codes(self.codes, len(self.texts))

    def row_values(self) -> Floats:
        """The value of each row; not-a-number where there is none."""
        assert self.values is not None
        return np.append(self.values, np.nan)[self.codes]

    def codes_of(self, values: Any) -> Codes:
        """Where the different values are that are one of these."""
        assert self.values is not None
        return np.flatnonzero(np.isin(self.values, values))

    def text(self, code: Any) -> str:
        """One different value as it stands in the file."""
        return str(self.texts[int(code)].as_py())

    def some_texts(self, codes: Any, most: int) -> list[str]:
        """A few different values as they stand in the file."""
        return [self.text(code) for code in list(codes)[:most]]

    def is_null(self) -> Mask:
        """Rows without a value."""
        return self.codes == NULL

    def oddity(
        self,
        kind: OddityKind,
        says: str,
        count: int,
        *,
        texts: Sequence[str] = (),
        examples: Sequence[str] | None = None,
        codes: Any = (),
        rows: Any = (),
        severity: Severity = "warning",
    ) -> Oddity:
        """Something odd about this column; `texts` are the values concerned, found in `rows` or where `codes` stand."""
        shown = texts if examples is None else examples
        found = np.flatnonzero(np.isin(self.codes, np.asarray(codes, np.int64))) if len(codes) else rows
        return Oddity(
            kind=kind,
            column=self.name,
            says=sentence(says),
            count=count,
            examples=tuple(cut(text) for text in shown[:_EXAMPLES]),
            values=tuple(text for text in texts if len(text) <= _LONGEST_REPAIRED),
            rows=tuple(int(row) for row in found[:_MOST_ROWS]),
            severity=severity,
        )


def count_codes(codes: Codes, size: int) -> Codes:
    """How often each code from 0 to `size` occurs."""
    return np.bincount(codes + 1, minlength=size + 1)[1:].astype(np.int64)


def encode(values: Any) -> tuple[Codes, Any]:
    """A pyarrow array or chunked array by its different values: where each row's is among them, and the values.

    They are in the order of first sight, a pyarrow array without nulls; -1: nothing there. Dictionaries are looked
    through.
    """
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(whole, pa.ChunkedArray):  # it stays so beyond 2 GB
        kind = pa.large_string() if pa.types.is_string(whole.type) else whole.type
        whole = pa.concat_arrays([chunk.cast(kind) for chunk in whole.chunks])
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    if pa.types.is_string_view(whole.type) or pa.types.is_large_string(whole.type):
        whole = whole.cast(pa.large_string())
    encoded = whole.dictionary_encode()
    codes = compute.fill_null(encoded.indices, NULL).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary


def spread(size: int, most: int) -> Codes:
    """Places of a sample, evenly spread."""
    return np.arange(size) if size <= most else np.linspace(0, size - 1, most).astype(np.int64)
