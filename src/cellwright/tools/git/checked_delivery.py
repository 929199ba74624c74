"""Checking what the cage delivered against the last commit, and showing it to a person as a patch.

Which files differ, that nothing else came along, and a text made from the very bytes that would be imported.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from cellwright.sandbox.host.git_files import (
    LINK,
    SUBMODULE,
    ObjectFormat,
    TreeEntry,
    Unsound,
    check_new_name,
    read_tree,
    tree_of_commit,
)
from cellwright.tools.git.cage import MOST_CHANGES, MOST_SHOWN_FILE_BYTES, GitDelivery, Objects

_LONGEST_PATH: Final = 4_096
_LONGEST_LINK: Final = 4_096
_DEEPEST: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One file that is not as in the last commit. At least one side is there."""

    path: str
    before: TreeEntry | None
    after: TreeEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDelivery:
    """A delivery that may be imported."""

    parent: str | None
    """The commit it was compared with; None for a first one."""
    tree: str
    changes: tuple[TreeChange, ...]
    """Found by us, not told by the cage."""
    objects: Objects = field(repr=False)
    """All that the changes need."""
    known: Objects = field(repr=False)
    """What the last commit has in their place."""


def check_delivery(
    delivery: GitDelivery, form: ObjectFormat, parent: str | None, *, prefix: str, hidden: Set[str]
) -> CheckedDelivery:
    """The delivery, if it is sound: whole, below the project, and nothing hidden in it. `Unsound` otherwise."""
    before = form.empty_tree if parent is None else tree_of_commit(commit_in(delivery.known, parent), form)
    comparison = _Comparison(delivery, form)
    changes = tuple(comparison.compare(before, delivery.tree))
    for change in changes:
        _check_path(change.path, prefix, hidden)
    if not delivery.objects.keys() <= comparison.used:
        raise Unsound("it holds objects that belong to nothing")
    return CheckedDelivery(
        parent=parent, tree=delivery.tree, changes=changes, objects=delivery.objects, known=delivery.known
    )


def commit_in(objects: Objects, name: str) -> bytes:
    """The content of a commit that was delivered."""
    kind, data = objects.get(name, ("", b""))
    if kind != "commit":
        raise Unsound(f"the commit {name} was not delivered")
    return data


def _check_path(path: str, prefix: str, hidden: Set[str]) -> None:
    if len(path.encode("utf-8", "surrogateescape")) > _LONGEST_PATH:
        raise Unsound("a path is longer than any system allows")
    if prefix and not path.startswith(prefix + "/"):
        raise Unsound(f"{path[:200]!r} lies outside the project")
    parts = path.split("/")
    if not hidden.isdisjoint("/".join(parts[:end]) for end in range(1, len(parts) + 1)):
        raise Unsound(f"{path[:200]!r} is hidden from agents")


class _Comparison:
    def __init__(self, delivery: GitDelivery, form: ObjectFormat) -> None:
        self._new = delivery.objects
        self._old = delivery.known
        self._form = form
        self._count = 0
        self.used: set[str] = set()

    def compare(self, before: str | None, after: str | None, path: str = "", depth: int = 0) -> Iterator[TreeChange]:
        """Every file that differs between two trees; None is a directory that is not there."""
        if before == after:
            return
        if depth > _DEEPEST:
            raise Unsound("directories lie deeper than any project's")
        old, new = self._entries(before, self._old), self._entries(after, self._new)
        if depth and after is not None and not new:
            raise Unsound("a directory is empty, which git does not know")
        for name in sorted(old.keys() | new.keys()):
            yield from self._compare_entry(old.get(name), new.get(name), f"{path}{name}", depth)

    def _compare_entry(
        self, old: TreeEntry | None, new: TreeEntry | None, path: str, depth: int
    ) -> Iterator[TreeChange]:
        if old == new:
            return
        if new is not None:
            check_new_name(new.name, new.mode)
        old_tree = old.object if old is not None and old.is_directory else None
        new_tree = new.object if new is not None and new.is_directory else None
        if old_tree is not None or new_tree is not None:
            yield from self.compare(old_tree, new_tree, f"{path}/", depth + 1)
        before = None if old_tree is not None else old
        after = None if new_tree is not None else new
        if before is not None or after is not None:
            yield self._change(path, before, after)

    def _change(self, path: str, before: TreeEntry | None, after: TreeEntry | None) -> TreeChange:
        self._count += 1
        if self._count > MOST_CHANGES:
            raise Unsound(f"more than {MOST_CHANGES} files differ")
        if SUBMODULE in {entry.mode for entry in (before, after) if entry is not None}:
            raise Unsound(f"{path[:200]!r} is a submodule, which only the person changes")
        if after is not None:
            self._check_file(path, after)
        return TreeChange(path=path, before=before, after=after)

    def _check_file(self, path: str, entry: TreeEntry) -> None:
        kind, data = self._new.get(entry.object, ("", b""))
        if kind != "blob" or (entry.mode == LINK and (len(data) > _LONGEST_LINK or b"\0" in data or not data)):
            raise Unsound(f"{path[:200]!r} is not what it says")
        self.used.add(entry.object)

    def _entries(self, name: str | None, objects: Objects) -> dict[str, TreeEntry]:
        if name is None:
            return {}
        # The tree without entries exists in every repository, written or not.
        kind, data = objects.get(name, ("tree", b"") if name == self._form.empty_tree else ("", b""))
        if kind != "tree":
            raise Unsound(f"the directory {name} was not delivered")
        if objects is self._new:
            self.used.add(name)
        return {entry.name: entry for entry in read_tree(data, self._form, is_ours=objects is self._new)}


_MOST_LINES: Final = 1_000
"""Of each side; comparing more line by line could take for ever, so longer ones are shown as replaced."""
_MOST_PATCH_CHARACTERS: Final = 200_000


def patch_of(checked: CheckedDelivery) -> str:
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


def _lines_of(change: TreeChange, checked: CheckedDelivery) -> Iterator[str]:
    before, after = change.before, change.after
    yield f"diff --git a/{change.path} b/{change.path}"
    if before is None and after is not None:
        yield f"new file mode {after.mode:06o}"
    elif after is None and before is not None:
        yield f"deleted file mode {before.mode:06o}"
    elif before is not None and after is not None and before.mode != after.mode:
        yield f"old mode {before.mode:06o}"
        yield f"new mode {after.mode:06o}"
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


def _content(entry: TreeEntry | None, objects: Objects) -> bytes | None:
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
    return re.sub(r"([-+])(\d+)", lambda span: f"{span[1]}{int(span[2]) + lines}", hunk)
