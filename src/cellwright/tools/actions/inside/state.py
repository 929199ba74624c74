"""A paused program as bytes: who wrote it, what it has used, which calls are open, and monty's own dump.

Only ever read in a cage. Monty's dumps are bound to its version, so a state of another one is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

_encode = json.JSONEncoder(separators=(",", ":")).encode
_MAGIC = b"cellwright program 1\n"


class BadState(Exception):
    """These bytes cannot be continued; `str()` says why."""


@dataclass(slots=True, kw_only=True)
class ProgramProgress:
    """What a program has done so far, besides what monty knows."""

    calls: int = 0
    """How many tool calls it made."""
    slept: float = 0.0
    """Seconds."""
    output: str = ""
    """What it had printed when its state was taken."""
    open: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    """Calls without an answer, by their id: name and arguments."""


def pack(progress: ProgramProgress, output: str, dump: bytes, version: str) -> bytes:
    """Everything needed to go on elsewhere; the output is all there was until now."""
    used = {"calls": progress.calls, "slept": progress.slept, "output": output, "open": progress.open}
    head = _encode({"monty": version, **used}).encode()
    return b"%s%d\n%s%s" % (_MAGIC, len(head), head, dump)


def unpack(state: bytes, version: str) -> tuple[ProgramProgress, bytes]:
    """What `pack` was given; `BadState` for anything else."""
    if not state.startswith(_MAGIC):
        raise BadState("it is no state of a program")
    size, newline, rest = state[len(_MAGIC) :].partition(b"\n")
    if not newline or not size.isdigit() or int(size) > len(rest):
        raise BadState("it is cut short")
    try:
        head = cast("dict[str, Any]", json.loads(rest[: int(size)]))
        writer = head["monty"]
        calls = {int(number): call for number, call in head["open"].items()}
        progress = ProgramProgress(
            calls=int(head["calls"]), slept=float(head["slept"]), output=str(head["output"]), open=calls
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadState("its head cannot be read") from error
    if writer != version:
        raise BadState(f"it was written by monty {writer}, and this is monty {version}")
    return progress, rest[int(size) :]
