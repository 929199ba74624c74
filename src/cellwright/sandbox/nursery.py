"""Control groups made ahead of time: a cage is born inside its group instead of being moved there.

Moving a process between groups waits for every processor of the machine (some 15 ms); a new process is simply where its
parent is. So the zygote, while idle, goes and waits in the group of the next cage.
"""

from __future__ import annotations

import atexit
import os

from cellwright.sandbox import cgroups
from cellwright.sandbox.cgroups import Group


class Nursery:
    """The zygote's place among the groups. One per process."""

    def __init__(self) -> None:
        self._count = 0
        self._home: Group | None = None
        self._here: Group | None = None
        self._is_free = False
        self._is_impossible = False

    def prepare(self) -> None:
        """Be in a fresh group for the next cage; does nothing where there are no groups."""
        if self._is_free or self._is_impossible:
            return
        try:
            group = self.create()
        except OSError:
            self._is_impossible = True
            return
        self._move(group)
        self._is_free = True

    def create(self) -> Group:
        """A fresh group that nobody is in."""
        if self._home is None:
            cgroups.sweep()
            self._home = cgroups.own()
            atexit.register(self.close)
        self._count += 1
        return cgroups.create(str(self._count), within=self._home)

    def take(self) -> Group | None:
        """The prepared group, in which the next child will be born; call `prepare` again soon after."""
        if not self._is_free:
            return None
        self._is_free = False
        return self._here

    def leave(self, group: Group) -> None:
        """Be somewhere else than in this group, so that it can be removed."""
        if self._here is group and self._home is not None:
            self._move(self._home)
            self._here = None
            self._is_free = False

    def close(self) -> None:
        """Go home and take the prepared group away; cages that still run keep theirs."""
        if self._here is not None:
            group, is_unused = self._here, self._is_free
            self.leave(group)
            if is_unused:
                group.remove()

    def _move(self, group: Group) -> None:
        group.add(os.getpid())
        self._here = group
