"""Checking what the cage delivered against the last commit: which files differ, and that nothing else came along."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Final

from cellwright.sandbox.git.delivery import MOST_CHANGES, Delivery, Objects
from cellwright.sandbox.git.objects import (
    DIRECTORY,
    LINK,
    SUBMODULE,
    Entry,
    Format,
    Unsound,
    check_new_name,
    read_tree,
    tree_of_commit,
)

_LONGEST_PATH: Final = 4_096
_LONGEST_LINK: Final = 4_096
_DEEPEST: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One file that is not as in the last commit. At least one side is there."""

    path: str
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
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


def check_delivery(delivery: Delivery, form: Format, parent: str | None, *, prefix: str, hidden: Set[str]) -> Checked:
    """The delivery, if it is sound: whole, below the project, and nothing hidden in it. `Unsound` otherwise."""
    before = form.empty_tree if parent is None else tree_of_commit(commit_in(delivery.known, parent), form)
    comparison = _Comparison(delivery, form)
    changes = tuple(comparison.compare(before, delivery.tree))
    for change in changes:
        _check_path(change.path, prefix, hidden)
    if not delivery.objects.keys() <= comparison.used:
        raise Unsound("it holds objects that belong to nothing")
    return Checked(parent=parent, tree=delivery.tree, changes=changes, objects=delivery.objects, known=delivery.known)


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
    def __init__(self, delivery: Delivery, form: Format) -> None:
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

    def _compare_entry(self, old: Entry | None, new: Entry | None, path: str, depth: int) -> Iterator[TreeChange]:
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

    def _change(self, path: str, before: Entry | None, after: Entry | None) -> TreeChange:
        self._count += 1
        if self._count > MOST_CHANGES:
            raise Unsound(f"more than {MOST_CHANGES} files differ")
        if SUBMODULE in {entry.mode for entry in (before, after) if entry is not None}:
            raise Unsound(f"{path[:200]!r} is a submodule, which only the person changes")
        if after is not None:
            self._check_file(path, after)
        return TreeChange(path=path, before=before, after=after)

    def _check_file(self, path: str, entry: Entry) -> None:
        kind, data = self._new.get(entry.object, ("", b""))
        if kind != "blob" or (entry.mode == LINK and (len(data) > _LONGEST_LINK or b"\0" in data or not data)):
            raise Unsound(f"{path[:200]!r} is not what it says")
        self.used.add(entry.object)

    def _entries(self, name: str | None, objects: Objects) -> dict[str, Entry]:
        if name is None:
            return {}
        # The tree without entries exists in every repository, written or not.
        kind, data = objects.get(name, ("tree", b"") if name == self._form.empty_tree else ("", b""))
        if kind != "tree":
            raise Unsound(f"the directory {name} was not delivered")
        if objects is self._new:
            self.used.add(name)
        return {entry.name: entry for entry in read_tree(data, self._form, is_ours=objects is self._new)}


def mode_name(entry: Entry) -> str:
    """The mode as git writes it."""
    return f"{entry.mode:06o}" if entry.mode != DIRECTORY else "040000"
