"""What is asked of the program and how its answer ends. The host trusts nothing of it but its shape.

An answer is frames, four bytes of length (big-endian) and that many bytes: any number of `ARROW` with the next bytes of
an Arrow file, `AGAIN` where all of them so far are void and it begins anew, and one `END` with JSON.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

ARROW: Final = b"A"
AGAIN: Final = b"R"
END: Final = b"E"
MAX_PIECE: Final = 1 << 20
"""Of Arrow bytes in one frame."""
MAX_END: Final = 32 << 20
MAX_COLUMNS: Final = 4096
MAX_NAME: Final = 256
MAX_NOTICES: Final = 20
MAX_WORDS: Final = 600
"""Characters of one notice, reason or hint."""

LOG_UNSEEN: Final = (
    "Changes in a log beside the file could not be read and are not in this; they are once the program that writes to "
    "the file has closed it."
)

FileEngine = Literal["sqlite", "duckdb"]
FileFailureKind = Literal["statement", "time", "host", "gone", "other"]
"""host: this is not the file that was meant, or it is damaged; gone: not now, trying again may help."""


class FileQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question about one file."""

    source: FileEngine
    path: str
    do: Literal["query", "catalogue"]
    statement: str = ""
    parameters: tuple[bool | int | float | str | None, ...] = ()
    rows: int = 5_000_000
    bytes: int = 1 << 30
    """Of the whole Arrow file."""
    seconds: float = 300.0
    form: Literal["arrow", "json"] = "arrow"
    """json: a line for each row, a list of values, in place of the Arrow file."""


class FileRows(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="result"):
    """The Arrow file is whole."""

    rows: int
    cut: Literal["", "rows", "bytes"] = ""
    columns: tuple[tuple[str, str], ...] = ()
    """Names, and types in Arrow's words."""
    notices: tuple[str, ...] = ()


class FileCatalogue(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="catalogue"):
    """What the file shows; no Arrow."""

    catalogue: Any
    """As the host's `Catalogue`, in plain values."""


class FileFailure(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="failed"):
    """It was not done; Arrow bytes before it are void."""

    failure: FileFailureKind
    why: str
    hint: str = ""


FileAnswer = FileRows | FileCatalogue | FileFailure


class FileQueryFailed(Exception):
    """Raised inside the program: it becomes a `FileFailure`."""

    def __init__(self, failure: FileFailureKind, why: str, *, hint: str = "") -> None:
        super().__init__(why)
        self.answer = FileFailure(failure=failure, why=" ".join(why.split())[:MAX_WORDS], hint=hint[:MAX_WORDS])
