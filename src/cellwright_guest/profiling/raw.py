"""A table as it was read, before anybody thought about it. Between reading and profiling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cellwright_guest.profiling.records import Oddity, Reading


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
    reading: Reading
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
