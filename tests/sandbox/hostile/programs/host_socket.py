"""Attacks on the host through the socket the kernel talks to it with. Judged by what became of the host."""

import os
import socket
import stat
import struct
import sys
from collections.abc import Iterable
from typing import Any

from .prelude import Targets, refuse

HEADER = struct.Struct("<IB")


def send_garbage(_: Targets) -> str:
    return send([HEADER.pack(4096, 0) + os.urandom(4096)])


def send_unframed_noise(_: Targets) -> str:
    return send([b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 64])


def send_forged_message(_: Targets) -> str:
    """Well framed and well encoded, of a type that only the host may send."""
    body = b"\x82\xa4type\xa7Granted\xa5tools\xa1*"
    return send([HEADER.pack(len(body), 0) + body])


def send_unknown_lane(_: Targets) -> str:
    return send([HEADER.pack(8, 255) + bytes(8)])


def send_deeply_nested(_: Targets) -> str:
    """A message that is all opening brackets overflows a recursive decoder."""
    body = b"\x91" * 1_000_000
    return send([HEADER.pack(len(body), 0) + body])


def send_huge_header(_: Targets) -> str:
    """Announces 4 GB; a reader that allocates what it is promised is gone."""
    return send([HEADER.pack(0xFFFFFFFF, 0) + bytes(65536)])


def send_flood(targets: Targets) -> str:
    body = b"\x81\xa4type\xa5Noise" + bytes(4096)
    frame = (HEADER.pack(len(body), 0) + body) * 250
    return send(frame for _ in range(targets["attempt"]))


def send_half_frame_and_hang_up(_: Targets) -> str:
    return send([HEADER.pack(4096, 0) + b"half"], hang_up=True)


def send_pickle(targets: Targets) -> str:
    """Whoever unpickles this makes the canary directory."""
    body = b"cos\nmkdir\n(V" + targets["canary"].encode() + b"\ntR."
    return send([HEADER.pack(len(body), 1) + body, HEADER.pack(len(body), 0) + body])


# ── as only somebody who read our code would ──


def send_storm_of_greetings(_: Targets) -> str:
    """`Ready` is what a kernel says once; a host that does something each time is kept busy."""
    storm = frame_of({"type": "Ready", "pid": 1, "python": "3", "threads": 1}) * 2_000
    return send(storm for _ in range(200))


def send_outcomes_of_others(_: Targets) -> str:
    """Reports for cells that do not exist, requests that were never made, and numbers that fit nowhere."""
    reports = [
        {"type": "CellFinished", "request": request, "report": {"cell": cell, "status": "ok", "ms": ms}}
        for request in (0, 1, 2, 2**63 - 1)
        for cell in ("", "not-a-cell", "../../etc/passwd", "\ud7ff" * 1000)
        for ms in (-1.0, 1e308)
    ]
    others = [
        {
            "type": "Looked",
            "request": 1,
            "variables": [{"name": "x", "kind": "x", "type": "x", "text": "x" * 9999}] * 99,
        },
        {"type": "Finished", "request": 2**40, "stale": ["not-a-cell"] * 9999, "error": "x" * 9999},
        {"type": "Progress", "request": 1, "cell": "x", "title": "x" * 99999, "done": 1e308, "total": -1.0},
        {"type": "CellStarted", "request": 1, "cell": "not-a-cell"},
    ]
    return send([b"".join(frame_of(message) for message in [*reports, *others])])


def flood_console_past_the_guest(targets: Targets) -> str:
    """What bounds the console in the kernel can be walked around. One wide character makes the whole text wide."""
    text = "\U0001f30a" + "x" * (1 << 20)
    frame = frame_of({"type": "Console", "request": 1, "cell": "x", "stream": "stdout", "text": text})
    return send(frame for _ in range(targets["attempt"]))


def flood_with_consoles_of_many_cells(_: Targets) -> str:
    """A little text for each of very many cells."""
    frames = [
        frame_of({"type": "Console", "request": 1, "cell": str(number), "stream": "stdout", "text": "\U0001f30a"})
        for number in range(200_000)
    ]
    return send(b"".join(frames[start : start + 1000]) for start in range(0, len(frames), 1000))


def replace_guest(_: Targets) -> str:
    """The kernel's own driver is only Python: make everything it says nonsense."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "cellwright_guest" and hasattr(module, "encode"):
            vars(module)["encode"] = nonsense
    return send([nonsense()])


def nonsense(*_: Any) -> bytes:
    return HEADER.pack(64, 0) + bytes(64)


def frame_of(message: dict[str, Any]) -> bytes:
    body = packed(message)
    return HEADER.pack(len(body), 0) + body


def packed(value: Any) -> bytes:
    """As msgpack, by hand: the control has no msgspec."""
    match value:
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case int():
            return b"\xd3" + struct.pack(">q", value)
        case str():
            text = value.encode()
            return b"\xdb" + struct.pack(">I", len(text)) + text
        case list():
            return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
        case dict():
            items = (packed(key) + packed(item) for key, item in value.items())
            return b"\xdf" + struct.pack(">I", len(value)) + b"".join(items)
        case other:
            raise TypeError(other)


def send(frames: Iterable[bytes], *, hang_up: bool = False) -> str:
    """Into every stream socket this process was born with."""
    sent = 0
    for fd in inherited_sockets():
        stream = socket.socket(fileno=os.dup(fd))
        stream.settimeout(5)
        try:
            for piece in frames:
                stream.sendall(piece)
                sent += len(piece)
            if hang_up:
                stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue
        finally:
            # the timeout made the shared description non-blocking, which the kernel's own loop must not inherit
            os.set_blocking(fd, True)
            stream.close()
    if not sent:
        raise refuse("no socket took a byte")
    return f"sent {sent} bytes"


def inherited_sockets() -> list[int]:
    """Not those this process made for itself, whose other end nobody reads."""
    found: list[int] = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode) and maker_of(int(name)) != os.getpid():
                found.append(int(name))
        except OSError:
            continue
    return found


def maker_of(fd: int) -> int:
    with socket.socket(fileno=os.dup(fd)) as pair:
        return struct.unpack("3i", pair.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
