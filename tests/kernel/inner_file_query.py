"""The program that reads database files, asked without a cage: its own walls are all there is."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from cellwright.framing import FrameUnpacker
from cellwright_guest.file_queries.arrow_frames import ArrowFrames
from cellwright_guest.file_queries.main import answer_question
from cellwright_guest.file_queries.records import AGAIN, ARROW, FileFailure, FileQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerAnswer:
    """What it sent, and how it ended."""

    end: Any
    """A `FileRows`, a `FileCatalogue` or a `FileFailure`."""
    table: Any
    """A `pyarrow.Table`; None unless it gave rows."""
    bytes: int
    begun_anew: bool

    @property
    def rows(self) -> list[dict[str, Any]] | None:
        """None unless it gave rows."""
        return None if self.table is None else self.table.to_pylist()


def ask_inside(question: FileQuestion) -> InnerAnswer:
    """Its answer, in this process."""
    ours, theirs = socket.socketpair()
    received = bytearray()

    def receive() -> None:
        while piece := ours.recv(1 << 20):
            received.extend(piece)

    reader = threading.Thread(target=receive)
    reader.start()
    with ours:
        with theirs:
            frames = ArrowFrames(theirs)
            end = answer_question(question, frames)
            frames.end(msgspec.json.encode(end))
        reader.join()
    arrow, begun_anew = bytearray(), False
    for frame in FrameUnpacker().feed(bytes(received)):
        if frame[:1] == ARROW:
            arrow += frame[1:]
        elif frame[:1] == AGAIN:
            arrow.clear()
            begun_anew = True
    table = None if isinstance(end, FileFailure) else pa.ipc.open_file(pa.py_buffer(bytes(arrow))).read_all()
    return InnerAnswer(end=end, table=table, bytes=len(arrow), begun_anew=begun_anew)
