"""The program in the cage: one question on descriptor 3, one profile back, then it is gone.

`python -I -S main.py PACKAGES…`; the packages are our pinned ones, and no `.pth` file is read. It sees the files it is
asked about, and nothing else.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import os

import msgspec

from cellwright_guest.profiling.records import ProfileRequest

_DESCRIPTOR = 3
_CHUNK_BYTES = 1 << 16


def main() -> None:
    """Answer, and end."""
    left = memoryview(answer(msgspec.json.decode(_read(_DESCRIPTOR), type=ProfileRequest)))
    while left:
        left = left[os.write(_DESCRIPTOR, left) :]


def answer(question: ProfileRequest) -> bytes:
    """The profile of what was asked about, as JSON."""
    # What is slow to load is loaded only now: a question that cannot be read costs nothing.
    from cellwright_guest.profiling.profiler import profile_tables
    from cellwright_guest.profiling.readers.reader import read_tables
    from cellwright_guest.profiling.survey import survey_files

    if question.is_plan:
        from cellwright_guest.profiling.footers import plan_files

        return msgspec.json.encode(plan_files(question))
    survey = survey_files(question)
    tables, skipped, notes = read_tables(survey.question)
    profile = profile_tables(tables, (*survey.skipped, *skipped), notes)
    return msgspec.json.encode(msgspec.structs.replace(profile, shapes=survey.shapes))


def _read(descriptor: int) -> bytes:
    data = bytearray()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        data += chunk
    return bytes(data)


if __name__ == "__main__":
    main()
