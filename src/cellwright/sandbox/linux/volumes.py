"""File systems that are mounted inside a project, such as a container's volumes.

An overlay shows none of them, and in a user namespace the system lets nobody take a directory apart from what is
mounted below it. So whoever builds a cage must know where they are.
"""

# Plain paths: this runs in the zygote, too.
# ruff: noqa: PTH112, PTH113, PTH123

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_HOLD_FILES = {
    "tmpfs", "ramfs", "overlay", "fuse", "nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "afs", "9p",
    "virtiofs", "zfs", "shiftfs", "aufs", "vboxsf", "vmhgfs", "prl_fs", "drvfs", "fakeowner", "bcachefs",
}  # fmt: skip
"""Kinds without a block device that hold somebody's files. Others, such as `proc`, speak for the system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volumes:
    """Where something is mounted below a project; paths relative to it, the outer first."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Single files that are mounted."""
    closed: tuple[str, ...] = ()
    """What holds nobody's files, or is closed to us: not for a notebook."""

    @property
    def all(self) -> tuple[str, ...]:
        """Everything that is mounted there."""
        return (*self.folders, *self.files, *self.closed)

    @property
    def innermost(self) -> tuple[str, ...]:
        """Folders with nothing mounted below them."""
        return tuple(path for path in self.folders if not any(one.startswith(f"{path}/") for one in self.all))


def mounted_in(project: str) -> Volumes:
    """What is mounted below this directory, as this process sees it. Blocking."""
    with open("/proc/self/mountinfo", "rb") as file:
        kinds = {point: kind for point, kind in map(_point_and_kind, file) if point.startswith(f"{project}/")}
    if not kinds:
        return Volumes()
    with open("/proc/filesystems", encoding="utf-8") as file:
        on_disks = {line.strip() for line in file if not line.startswith("nodev")}
    folders: list[str] = []
    files: list[str] = []
    closed: list[str] = []
    for point in sorted(kinds):
        kind = kinds[point].partition(".")[0]
        if kind not in on_disks | _HOLD_FILES:
            found = closed
        else:
            found = folders if os.path.isdir(point) else files if os.path.isfile(point) else closed
        found.append(point.removeprefix(f"{project}/"))
    return Volumes(folders=tuple(folders), files=tuple(files), closed=tuple(closed))


def _point_and_kind(line: bytes) -> tuple[str, str]:
    before, _, after = line.partition(b" - ")
    return unescaped(before.split(b" ")[4]), os.fsdecode(after.split(b" ")[0])


def unescaped(point: bytes) -> str:
    """A path as /proc writes it: blanks and backslashes as octal numbers."""
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), point))
