"""What a commit would change, as a text for a person: made from the very bytes that would be imported."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.sandbox.git.delivery import MOST_SHOWN_FILE_BYTES, Objects
from cellwright.sandbox.git.objects import Entry
from cellwright.sandbox.git.verify import Checked, TreeChange, mode_name

_MOST_LINES: Final = 1_000
"""Of each side; comparing more line by line could take for ever, so longer ones are shown as replaced."""
_MOST_PATCH_CHARACTERS: Final = 200_000


def patch_of(checked: Checked) -> str:
    """A unified diff of every change, cut where it gets longer than anybody reads."""
    parts: list[str] = []
    left = _MOST_PATCH_CHARACTERS
    for number, change in enumerate(checked.changes):
        text = "\n".join(_lines_of(change, checked)) + "\n"
        if len(text) > left:
            rest = len(checked.changes) - number
            names = "\n".join(f"  {other.path}" for other in checked.changes[number : number + 200])
            parts += [text[:left], f"\n… the rest is too long to show; {rest} files from here on:\n{names}\n"]
            break
        parts.append(text)
        left -= len(text)
    return "".join(parts)


def _lines_of(change: TreeChange, checked: Checked) -> Iterator[str]:
    before, after = change.before, change.after
    yield f"diff --git a/{change.path} b/{change.path}"
    if before is None and after is not None:
        yield f"new file mode {mode_name(after)}"
    elif after is None and before is not None:
        yield f"deleted file mode {mode_name(before)}"
    elif before is not None and after is not None and before.mode != after.mode:
        yield f"old mode {mode_name(before)}"
        yield f"new mode {mode_name(after)}"
    old, new = _content(before, checked.known), _content(after, checked.objects)
    if old == new:
        return
    old_lines, new_lines = _text_lines(old), _text_lines(new)
    if new_lines is None or (old_lines is None and after is None):
        yield f"binary or long: {_size(old)} → {_size(new)}"
        return
    if old_lines is None:
        # A cage that withholds what was there must not thereby hide what comes.
        yield f"binary or long before: {_size(old)}"
        old_lines = []
    yield "--- " + ("/dev/null" if before is None else f"a/{change.path}")
    yield "+++ " + ("/dev/null" if after is None else f"b/{change.path}")
    yield from _hunks(old_lines, new_lines)


def _content(entry: Entry | None, objects: Objects) -> bytes | None:
    """The file's bytes; None if it is too long to be shown."""
    if entry is None:
        return b""
    return objects[entry.object][1] if entry.object in objects else None


def _text_lines(data: bytes | None) -> list[str] | None:
    if data is None or len(data) > MOST_SHOWN_FILE_BYTES or b"\0" in data[:8_000]:
        return None
    return data.decode("utf-8", "replace").split("\n")


def _size(data: bytes | None) -> str:
    return "not shown" if data is None else f"{len(data):,} bytes"


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    removed, added = old[same : len(old) - tail], new[same : len(new) - tail]
    if max(len(removed), len(added)) > _MOST_LINES:
        yield f"@@ -{same + 1},{len(removed)} +{same + 1},{len(added)} @@"
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    # Three lines of context on each side are all that a hunk needs.
    start, end = max(0, same - 3), max(0, tail - 3)
    lines = list(difflib.unified_diff(old[start : len(old) - end], new[start : len(new) - end], lineterm=""))[2:]
    yield from (_moved(line, start) if line.startswith("@@ ") else line for line in lines)


def _moved(hunk: str, lines: int) -> str:
    """A hunk's heading for a text that began further down."""
    _, old, new, _ = hunk.split(" ", 3)
    return f"@@ {_shifted(old, lines)} {_shifted(new, lines)} @@"


def _shifted(span: str, lines: int) -> str:
    first, comma, count = span[1:].partition(",")
    return f"{span[0]}{int(first) + lines}{comma}{count}"
