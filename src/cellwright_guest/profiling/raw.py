"""Between reading and profiling: a file that is to be read, what that may cost, and a table as it was read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final

from cellwright_guest.profiling.records import LONGEST_VALUE, Oddity, ReadOptions, SharedRows
from cellwright_guest.profiling.wording import cut

_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of the question."""

    path: Path
    shown: str
    """As it was asked for; for a file of a folder, the folder as it was asked for and the way from there."""
    size_bytes: int
    groups: tuple[int, ...] | None = None
    """The row groups that are there; None: all."""

    @property
    def stem(self) -> str:
        """The file's name without its endings: `sales` of `sales.csv.gz`."""
        name = self.path.name.removesuffix(".gz")
        return Path(name).stem or name


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBudget:
    """What reading one file may cost."""

    most_rows: int
    most_columns: int
    until: float
    """On the monotonic clock: after that it reads no further, and says so."""
    most_bytes: int = 120 << 20
    """Of values kept in memory."""

    @property
    def is_spent(self) -> bool:
        """No time is left."""
        return monotonic() > self.until


class NotReadable(Exception):
    """A file, or a part of it, cannot be read; the text says why, as the end of a sentence about the file."""


def example(text: str) -> str:
    """A value to be shown: on one line and of bounded length."""
    return cut(_UNSEEN.sub(" ", text[: LONGEST_VALUE * 2]).strip())


def unused_name(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, or the first of `wanted_2`, `wanted_3` … that is not taken."""
    taken, number, name = set(taken), 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


@dataclass(slots=True, kw_only=True)
class RawColumn:
    """One column of the rows looked at."""

    name: str
    """Unique in its table, as a reader of the same kind (pandas) would name it: a second `a` is `a.1`."""
    values: Any
    """A pyarrow Array or ChunkedArray: strings for text formats (null where a field is empty), else as typed there."""
    is_text_format: bool
    """The file holds text only (csv): what the values mean is to be found out."""


@dataclass(slots=True, kw_only=True)
class RawTable:
    """One table, bounded in rows."""

    name: str
    reading: ReadOptions
    columns: list[RawColumn]
    rows: int
    """In the whole table."""
    is_counted: bool = True
    looked_at: int
    sampling: str = ""
    bytes: int = 0
    oddities: list[Oddity] = field(default_factory=list[Oddity])
    """What was noticed while reading: encoding, ragged rows, repeated headers, footnotes, duplicate names …"""
    files: tuple[str, ...] = ()
    shared: tuple[SharedRows, ...] = ()
