"""The program in the cage: one question on descriptor 3, rows or a catalogue back, then it is gone.

`python -I -S main.py PACKAGES…`; the packages are our pinned ones, and no `.pth` file is read. It sees the file it is
asked about, what its engine keeps beside it, and nothing else.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import os
import socket
from typing import Final

import msgspec

from cellwright_guest.file_queries.arrow_frames import ArrowFrames
from cellwright_guest.file_queries.records import FileAnswer, FileFailure, FileQueryFailed, FileQuestion

_DESCRIPTOR: Final = 3


def main() -> None:
    """Answer, and end."""
    with socket.socket(fileno=_DESCRIPTOR) as line, line.makefile("rb") as reading:
        question = msgspec.json.decode(reading.read(), type=FileQuestion)
        frames = ArrowFrames(line, question.form)
        answer = answer_question(question, frames)
        frames.end(msgspec.json.encode(answer))
        # A database of gigabytes need not be closed in order: nothing was changed.
        os._exit(0)


def answer_question(question: FileQuestion, frames: ArrowFrames) -> FileAnswer:
    """What came of it; the Arrow file is in the frames."""
    try:
        if question.source == "sqlite":
            from cellwright_guest.file_queries.sqlite_file import answer_sqlite as answer
        else:
            from cellwright_guest.file_queries.duckdb_file import answer_duckdb as answer
        return answer(question, frames)
    except FileQueryFailed as failed:
        return failed.answer
    except MemoryError:
        return FileFailure(failure="statement", why="It needs more memory than there is.", hint="Ask for less.")


if __name__ == "__main__":
    main()
