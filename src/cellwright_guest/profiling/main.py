"""The program in the cage: one question on descriptor 3, one profile back, then it is gone.

`python -I -S main.py PACKAGES…`; the packages are our pinned ones, and no `.pth` file is read. It sees the files it is
asked about, and nothing else.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import math
import os

import msgspec

from cellwright_guest.profiling.records import ColumnProfile, Numbers, Profile, ProfileRequest, TableProfile

_DESCRIPTOR = 3
_CHUNK_BYTES = 1 << 16


def main() -> None:
    """Answer, and end."""
    question = msgspec.json.decode(_read(_DESCRIPTOR), type=ProfileRequest)
    left = memoryview(answer(question))
    while left:
        left = left[os.write(_DESCRIPTOR, left) :]


def answer(question: ProfileRequest) -> bytes:
    """The profile of what was asked about, as JSON."""
    # What is slow to load is loaded only now: a question that cannot be read costs nothing.
    from cellwright_guest.profiling.profiler import profile_tables
    from cellwright_guest.profiling.readers.reader import read_tables

    tables, skipped, notes = read_tables(question)
    return msgspec.json.encode(finite(profile_tables(tables, skipped, notes)))


def finite(profile: Profile) -> Profile:
    """The profile without figures that JSON has no word for: a distribution with an infinity says nothing."""
    return msgspec.structs.replace(profile, tables=tuple(_finite_table(table) for table in profile.tables))


def _finite_table(table: TableProfile) -> TableProfile:
    return msgspec.structs.replace(table, columns=tuple(_finite_column(column) for column in table.columns))


def _finite_column(column: ColumnProfile) -> ColumnProfile:
    is_sound = column.numbers is None or _is_finite(column.numbers)
    return column if is_sound else msgspec.structs.replace(column, numbers=None)


def _is_finite(numbers: Numbers) -> bool:
    figures = (numbers.least, numbers.greatest, numbers.mean, numbers.deviation, numbers.skew, *numbers.quartiles)
    return all(map(math.isfinite, figures))


def _read(descriptor: int) -> bytes:
    data = bytearray()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        data += chunk
    return bytes(data)


if __name__ == "__main__":
    main()
