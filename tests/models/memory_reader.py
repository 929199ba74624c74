"""Programs of somebody who is not root, even where the tests are: a gateway, and one that wants to look into it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from tests.models import dying_gateway

NOBODY = 65534
PR_SET_DUMPABLE = 4


def become_somebody() -> None:
    """For root everything is open, so it would show nothing."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # Changing one's user closes a process to others; any other process of this person is open.
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def start(arguments: list[str]) -> None:
    """`peep PID` says which of its files could be opened."""
    become_somebody()
    opened: list[str] = []
    for name in ("environ", "mem", "maps", "fd/0", "cwd", "status"):
        try:
            os.close(os.open(Path(f"/proc/{arguments[0]}", name), os.O_RDONLY))
            opened.append(name)
        except PermissionError:
            pass
    sys.stdout.write(" ".join(opened) + "\n")
    sys.stdout.flush()


def start_open(_: list[str]) -> None:
    """An ordinary process, until its input ends."""
    become_somebody()
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    sys.stdin.read()


def start_gateway(arguments: list[str]) -> None:
    """The gateway, of somebody who is not root."""
    become_somebody()
    dying_gateway.start(arguments)
