"""What the first process of a cage says, read as our own values. Nothing of it is trusted."""

from __future__ import annotations

from typing import Any, cast

from cellwright.errors import Unavailable
from cellwright.sandbox.control_frames import KernelExit
from cellwright.sandbox.host.file_changes import ChangeWhat, FileChange

LIMITS = {"memory", "cpu", "disk", "inodes"}
"""The limits that can end a kernel."""


def integer(value: object) -> int:
    """A number; -1 for anything else, which is the number of nothing."""
    return value if isinstance(value, int) else -1


def items(value: object) -> list[object]:
    """A list; an empty one for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def read_exit(message: dict[str, Any]) -> KernelExit:
    """How a kernel ended, as far as the message says it properly."""
    code, number = message.get("exit_code"), message.get("signal")
    limit = message.get("limit")
    return KernelExit(
        exit_code=code if isinstance(code, int) else None,
        signal=number if isinstance(number, int) else None,
        limit=limit if limit in LIMITS else None,
    )


def _printable(name: str) -> str:
    """A name as proper Unicode; one that is none is changed here, and so found nowhere and not kept."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def read_change(raw: object) -> FileChange:
    """One changed file; `Unavailable` if it is told in no form we know."""
    match raw:
        case [str(path), ("created" | "modified" | "deleted") as kind, str(what), int(size), int(mode)]:
            name, _, target = what.partition(":")
            if name not in {"file", "directory", "symlink"}:
                raise Unavailable(f"The cage reported a {name[:20]!r}, which is no kind of file.")
            return FileChange(
                path=_printable(path[:4096]),
                kind=kind,
                what=cast("ChangeWhat", name),
                bytes=max(0, size),
                mode=mode,
                target=_printable(target[:4096]),
            )
        case _:
            raise Unavailable("The cage reported its changes in a form nobody knows.")
