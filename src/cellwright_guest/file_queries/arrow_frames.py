"""Rows on their way out: an Arrow file in frames, as long as rows and bytes let it. Nothing is held back here."""

from __future__ import annotations

import json
import math
import socket
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

import pyarrow as pa

from cellwright_guest.file_queries.records import AGAIN, ARROW, END, MAX_COLUMNS, MAX_NAME, MAX_PIECE, FileQueryFailed

_LENGTH: Final = struct.Struct(">I")
_BLOCK_BYTES: Final = 64
"""What the footer needs for each batch, amply."""
_SPARE_BYTES: Final = 4096
_TYPE_CHARACTERS: Final = 200


class ArrowFrames:
    """The line to the host. A file-like object: what is written to it are bytes of the Arrow file."""

    closed = False

    def __init__(self, line: socket.socket, form: Literal["arrow", "json"] = "arrow") -> None:
        self._line = line
        self.form = form
        self._waiting = bytearray()
        self.sent = 0
        """Bytes of the Arrow file so far."""

    def write(self, data: Any) -> int:
        """Take bytes; small ones wait for more."""
        view = memoryview(data).cast("B")
        self.sent += len(view)
        for at in range(0, len(view), MAX_PIECE):
            self._waiting += view[at : at + MAX_PIECE]
            if len(self._waiting) >= MAX_PIECE:
                self._send_waiting()
        return len(view)

    def flush(self) -> None:
        """Nothing: what waits is sent with what comes, or at the end."""

    def close(self) -> None:
        """Nothing: an answer may follow."""

    def again(self) -> None:
        """What was sent is void; the Arrow file begins anew."""
        self._waiting.clear()
        if self.sent:
            self._frame(AGAIN, b"")
        self.sent = 0

    def end(self, answer: bytes) -> None:
        """Say how it ended."""
        self._send_waiting()
        self._frame(END, answer)

    def _send_waiting(self) -> None:
        for at in range(0, len(self._waiting), MAX_PIECE):
            self._frame(ARROW, self._waiting[at : at + MAX_PIECE])
        self._waiting.clear()

    def _frame(self, mark: bytes, payload: bytes | bytearray) -> None:
        self._line.sendall(_LENGTH.pack(len(payload) + 1) + mark + payload)


class BoundedWriter:
    """An Arrow file of at most so many rows and bytes; `cut` says which of them there were more of."""

    def __init__(self, frames: ArrowFrames, schema: pa.Schema, *, most_rows: int, most_bytes: int) -> None:
        if len(schema) > MAX_COLUMNS:
            raise FileQueryFailed("statement", f"It gives {len(schema):,} columns; {MAX_COLUMNS:,} at most.")
        self.schema = schema
        self.rows = 0
        self.cut: Literal["", "rows", "bytes"] = ""
        self._frames = frames
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._blocks = 0
        self._footer = schema.serialize().size + _SPARE_BYTES
        self._file = JsonRows(frames) if frames.form == "json" else _arrow_file(frames, schema)

    def write(self, batch: pa.RecordBatch) -> bool:
        """Whether more may come."""
        if batch.num_rows == 0:
            return True
        left = self._most_rows - self.rows
        if batch.num_rows > left:
            self.cut = "rows"
            batch = batch.slice(0, left)
        fitting = self._fitting(batch)
        if fitting < batch.num_rows:
            self.cut = "bytes"
            batch = batch.slice(0, fitting)
        if batch.num_rows:
            self._file.write_batch(batch)
            self.rows += batch.num_rows
            self._blocks += 1
        return not self.cut

    def close(self) -> None:
        """The file is whole then."""
        self._file.close()

    def _fitting(self, batch: pa.RecordBatch) -> int:
        """How many of its rows there is room for."""
        room = self._most_bytes - self._frames.sent - self._footer - (self._blocks + 1) * _BLOCK_BYTES
        count = batch.num_rows
        while count and (size := pa.ipc.get_record_batch_size(batch.slice(0, count))) > room:
            count = min(count - 1, int(count * max(room, 0) / size))
        return count


class JsonRows:
    """In place of an Arrow file: a line of JSON for each row."""

    def __init__(self, frames: ArrowFrames) -> None:
        self._frames = frames

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """All its rows."""
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            self._frames.write(json.dumps([plain_value(value) for value in row], ensure_ascii=False).encode() + b"\n")

    def close(self) -> None:
        """Nothing more."""


def plain_value(value: Any) -> Any:
    """As JSON has it; what it has not, as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _arrow_file(frames: ArrowFrames, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(pa.PythonFile(frames, mode="w"), schema)


def write_all(
    frames: ArrowFrames, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, most_rows: int, most_bytes: int
) -> BoundedWriter:
    """All that may be sent of them."""
    writer = BoundedWriter(frames, schema, most_rows=most_rows, most_bytes=most_bytes)
    for batch in batches:
        if not writer.write(batch):
            break
    writer.close()
    return writer


def columns_of(schema: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Their names and types, for people."""
    return tuple((field.name[:MAX_NAME], str(field.type)[:_TYPE_CHARACTERS]) for field in schema)


def unique_names(names: Sequence[str]) -> list[str]:
    """Each column by a name of its own: tables with the same one twice cannot be used by polars."""
    taken = set(names)
    given: set[str] = set()
    unique: list[str] = []
    for name in names:
        free, number = name, 0
        while free in given or (number and free in taken):
            number += 1
            free = f"{name}_{number}"
        given.add(free)
        unique.append(free)
    return unique
