"""Which changes come first, and how the places of a project are found and told apart."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cellwright.sandbox import linux
from cellwright.sandbox.left_files import FileChange
from cellwright.sandbox.spec import PROTECTED

_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x2, 0x4, 0x8
_RESOLVE = _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEFAULT_ACL = "system.posix_acl_default"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepPlan:
    """Changes in the order in which they are applied."""

    new: list[FileChange]
    gone_first: list[FileChange]
    """They make room: a file is where the project has a directory, or the other way round."""
    gone_last: list[FileChange]
    in_the_way: frozenset[str]

    @classmethod
    def of(cls, changes: Sequence[FileChange]) -> KeepPlan:
        """What takes nothing away before what does, but for what is in the way."""
        gone = [change for change in changes if change.kind == "deleted"]
        new = [change for change in changes if change.kind != "deleted"]
        there = {change.path: change.what for change in new} if gone else {}
        in_the_way: set[str] = set()
        for change in sorted(gone, key=lambda change: len(change.path)):
            above = change.path.rpartition("/")[0]
            if change.path in there or above in in_the_way or there.get(above, "directory") != "directory":
                in_the_way.add(change.path)
        return cls(
            new=new,
            gone_first=[change for change in gone if change.path in in_the_way],
            gone_last=[change for change in gone if change.path not in in_the_way],
            in_the_way=frozenset(in_the_way),
        )


def open_beneath(root: int, parts: Sequence[str]) -> int:
    """A directory below, following no link."""
    if not parts:
        return os.dup(root)
    try:
        return linux.openat2(root, "/".join(parts), DIRECTORY, 0, _RESOLVE)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    # Without openat2: step by step.
    here = os.dup(root)
    for name in parts:
        try:
            inner = os.open(name, DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    return here


def inherited(folder: int) -> tuple[object, ...]:
    """What tells folders apart: things move only within a mount, and take group and access from where they are made."""
    status = os.fstat(folder)
    try:
        acl = os.getxattr(folder, _DEFAULT_ACL)
    except OSError:
        acl = b""
    # The same file system may be mounted twice; only here the two can be told apart.
    lines = Path(f"/proc/self/fdinfo/{folder}").read_text().splitlines()
    mount = [line for line in lines if line.startswith("mnt_id")]
    return (status.st_dev, *mount, status.st_gid if status.st_mode & stat.S_ISGID else None, acl)


def status_of(directory: int, name: str) -> os.stat_result | None:
    """What is there, or None; a link itself, not what it leads to."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def stays_inside(parts: list[str], target: str) -> bool:
    """Only leading `..` and no more than there are directories: `..` after a name could leave through another link."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    steps = [step for step in target.split("/") if step not in {"", "."}]
    ups = 0
    while ups < len(steps) and steps[ups] == "..":
        ups += 1
    names = {step.casefold() for step in steps[ups:]}
    return ups < len(parts) and ".." not in names and not names & set(PROTECTED)
