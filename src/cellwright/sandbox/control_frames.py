"""What the host and a cage's init send each other: objects, and pieces of files, told apart by a frame's first byte.

Both ends bound what they read. Python's standard library only, so that init can use it.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, Final, cast

from cellwright import framing
from cellwright.framing import BadFrame

JSON: Final = 1
DATA: Final = 2
MAX_FRAME: Final = 1 << 20
_REQUEST = struct.Struct(">I")
REQUEST_BYTES: Final = _REQUEST.size


def pack(kind: int, payload: bytes) -> bytes:
    """One frame as bytes."""
    return framing.pack(bytes([kind]) + payload, MAX_FRAME + 1)


def pack_json(message: dict[str, Any]) -> bytes:
    """A JSON object as a frame."""
    return pack(JSON, json.dumps(message, separators=(",", ":")).encode())


def pack_data(request: int, chunk: bytes) -> bytes:
    """A piece of a file as a frame, marked with the request it answers."""
    return pack(DATA, _REQUEST.pack(request) + chunk)


def request_of(payload: bytes) -> int | None:
    """Which request a DATA frame answers."""
    return _REQUEST.unpack_from(payload)[0] if len(payload) >= REQUEST_BYTES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelExit:
    """How the kernel's process ended: one of `exit_code` and `signal` is set."""

    exit_code: int | None
    signal: int | None
    limit: str | None = None
    """`memory`, `cpu`, `disk` or `inodes` when that limit ended it."""

    @property
    def out_of_memory(self) -> bool:
        """Whether it was killed because memory ran out."""
        return self.limit == "memory"


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


class ControlUnpacker:
    """Bytes in, kinds and payloads out; never holds more than one frame and one read."""

    def __init__(self) -> None:
        self._frames = framing.FrameUnpacker(MAX_FRAME + 1)

    def feed(self, data: bytes) -> None:
        """Take what was read from the socket."""
        self._frames.put(data)

    def next(self) -> tuple[int, bytes] | None:
        """The next whole frame, or nothing yet."""
        frame = self._frames.take()
        if frame is None:
            return None
        if not frame or frame[0] not in {JSON, DATA}:
            raise BadFrame(f"a frame of an unknown kind, of {len(frame)} bytes")
        return frame[0], frame[1:]
