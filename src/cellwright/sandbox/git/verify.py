"""Checking what the cage delivered against the last commit: which files differ, and that nothing else came along."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Final

from cellwright.sandbox.git.delivery import MOST_CHANGES, Delivery
from cellwright.sandbox.git.objects import (
    DIRECTORY,
    LINK,
    SUBMODULE,
    Entry,
    Format,
    ObjectKind,
    Unsound,
    check_new_name,
    read_tree,
    tree_of_commit,
)
from cellwright.sandbox.git.store import ObjectStore

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
    objects: dict[str, tuple[ObjectKind, bytes]] = field(repr=False)
    """Those the repository does not have yet."""


def check_delivery(
    delivery: Delivery, store: ObjectStore, parent: str | None, *, prefix: str, hidden: Set[str]
) -> Checked:
    """The delivery, if it is sound: whole, below the project, and nothing hidden in it. `Unsound` otherwise."""
    form = store.format
    kind, data = ("commit", b"") if parent is None else store.read(parent)
    if kind != "commit":
        raise Unsound("what is checked out is no commit")
    before = form.empty_tree if parent is None else tree_of_commit(data, form)
    comparison = _Comparison(delivery, store, form)
    changes = tuple(comparison.compare(before, delivery.tree))
    for change in changes:
        _check_path(change.path, prefix, hidden)
    # Git writes some objects again because it cannot touch the old ones' times: those are there already.
    new = {name: one for name, one in delivery.objects.items() if store.kind_of(name) is None}
    if not new.keys() <= comparison.used:
        raise Unsound("it holds objects that belong to nothing")
    return Checked(parent=parent, tree=delivery.tree, changes=changes, objects=new)


def _check_path(path: str, prefix: str, hidden: Set[str]) -> None:
    if len(path.encode("utf-8", "surrogateescape")) > _LONGEST_PATH:
        raise Unsound("a path is longer than any system allows")
    if prefix and not path.startswith(prefix + "/"):
        raise Unsound(f"{path[:200]!r} lies outside the project")
    parts = path.split("/")
    if not hidden.isdisjoint("/".join(parts[:end]) for end in range(1, len(parts) + 1)):
        raise Unsound(f"{path[:200]!r} is hidden from agents")


class _Comparison:
    def __init__(self, delivery: Delivery, store: ObjectStore, form: Format) -> None:
        self._objects = delivery.objects
        self._store = store
        self._form = form
        self._count = 0
        self.used: set[str] = set()

    def compare(self, before: str | None, after: str | None, path: str = "", depth: int = 0) -> Iterator[TreeChange]:
        """Every file that differs between two trees; None is a directory that is not there."""
        if before == after:
            return
        if depth > _DEEPEST:
            raise Unsound("directories lie deeper than any project's")
        old, new = self._entries(before, is_new=False), self._entries(after, is_new=True)
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
        delivered = self._objects.get(entry.object)
        if delivered is None:
            if self._store.kind_of(entry.object) != "blob":
                raise Unsound(f"the content of {path[:200]!r} is missing")
            return
        kind, data = delivered
        if kind != "blob" or (entry.mode == LINK and (len(data) > _LONGEST_LINK or b"\0" in data or not data)):
            raise Unsound(f"{path[:200]!r} is not what it says")
        self.used.add(entry.object)

    def _entries(self, name: str | None, *, is_new: bool) -> dict[str, Entry]:
        if name is None:
            return {}
        delivered = self._objects.get(name) if is_new else None
        kind, data = delivered or self._store.read(name)
        if kind != "tree":
            raise Unsound(f"the object {name} is no directory")
        if delivered is not None:
            self.used.add(name)
        entries = read_tree(data, self._form, is_ours=delivered is not None)
        if is_new and name != self._form.empty_tree and not entries:
            raise Unsound("a directory is empty, which git does not know")
        return {entry.name: entry for entry in entries}


def mode_name(entry: Entry) -> str:
    """The mode as git writes it."""
    return f"{entry.mode:06o}" if entry.mode != DIRECTORY else "040000"
