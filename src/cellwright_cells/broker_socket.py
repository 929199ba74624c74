"""The broker of this machine, asked over its socket: one connection for one request, closed after the reply.

Frames are four bytes of length and that much JSON. Whoever listens there must be the same person.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import sys
from pathlib import Path
from typing import Any, Final, cast

from cellwright_cells.replies import ConnectionFailed, DataReply, read_object

VERSION: Final = 1
SOCKET: Final = "broker.sock"
_LENGTH: Final = struct.Struct(">I")
_CREDENTIALS: Final = struct.Struct("3i")
_MOST_BYTES: Final = 64 << 20
_GREETING_SECONDS: Final = 10.0
_START_SECONDS: Final = 60.0
_AWAY: Final = (FileNotFoundError, ConnectionRefusedError)


def ask_broker(request: dict[str, Any]) -> DataReply:
    """Ask the broker, and wait for its reply. Raises `ConnectionFailed`; an interrupt takes the request back."""
    name = str(request["connection"])
    place = state_directory() / SOCKET
    if not hasattr(socket, "SO_PEERCRED"):
        raise _nobody(name)
    try:
        with _connected(place, name) as line:
            _greet(line)
            # How long a query may take is the broker's to say, and a person may be asked first.
            line.settimeout(None)
            _send(line, request)
            body = _receive(line)
            return DataReply(body=body, descriptors=_descriptors(line) if body.get("descriptors") else ())
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or "it went away"
        raise ConnectionFailed(f"The broker of the connection {name!r} did not answer: {why}.") from None


def state_directory() -> Path:
    """Where Cellwright keeps its state, as its settings find it."""
    if own := os.environ.get("CELLWRIGHT_HOME"):
        return Path(own)
    person = Path(os.environ.get("HOME") or "/")
    return Path(os.environ.get("XDG_STATE_HOME") or person / ".local" / "state") / "cellwright"


def _connected(place: Path, name: str) -> socket.socket:
    try:
        return _connect(place)
    except _AWAY:
        if not _start_broker():
            raise _nobody(name) from None
    try:
        return _connect(place)
    except _AWAY:
        raise _nobody(name) from None


def _connect(place: Path) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(_GREETING_SECONDS)
        _dial(line, place)
        credentials = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(credentials)[1] != os.geteuid():
            raise ConnectionFailed(f"Somebody else listens at {str(place)!r}: nothing was sent there.")
    except BaseException:
        line.close()
        raise
    return line


def _dial(line: socket.socket, place: Path) -> None:
    # The address has room for 107 bytes; a folder's descriptor makes any path short.
    folder = os.open(place.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        line.connect(f"/proc/self/fd/{folder}/{place.name}")
    finally:
        os.close(folder)


def _start_broker() -> bool:
    """Whether there was a `cellwright` to start it."""
    beside = Path(sys.executable).with_name("cellwright")
    program = str(beside) if beside.is_file() else shutil.which("cellwright")
    if program is None:
        return False
    import subprocess

    try:
        subprocess.run(
            [program, "data", "start"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True


def _nobody(name: str) -> ConnectionFailed:
    return ConnectionFailed(
        f"The connection {name!r} is not on this machine: add it with `cellwright data connect {name}`, or put a "
        f'database connection of your own in the place of `connection("{name}")` in the one cell that names it.'
    )


def _greet(line: socket.socket) -> None:
    _send(line, {"kind": "hello", "version": VERSION})
    match _receive(line):
        case {"kind": "welcome", "version": 1}:
            return
        case {"kind": "welcome", "version": other}:
            why = f"The broker speaks version {other!r}, and this cellwright-cells version {VERSION}: update the older."
        case _:
            why = "Whoever listens in the broker's place is none."
    raise ConnectionFailed(why)


def _send(line: socket.socket, message: dict[str, Any]) -> None:
    payload = json.dumps(message).encode()
    line.sendall(_LENGTH.pack(len(payload)) + payload)


def _receive(line: socket.socket) -> dict[str, Any]:
    (length,) = cast("tuple[int]", _LENGTH.unpack(_exactly(line, _LENGTH.size)))
    if length > _MOST_BYTES:
        raise ConnectionFailed(f"The answer of a connection is too large: {length:,} bytes.")
    return read_object(_exactly(line, length))


def _exactly(line: socket.socket, size: int) -> bytes:
    taken = bytearray()
    # Not one byte more: a descriptor comes with the byte behind the frame.
    while len(taken) < size:
        if not (chunk := line.recv(size - len(taken))):
            raise EOFError
        taken += chunk
    return bytes(taken)


def _descriptors(line: socket.socket) -> tuple[int, ...]:
    data, descriptors, _, _ = socket.recv_fds(line, 1, 1, socket.MSG_CMSG_CLOEXEC)
    if not data or not descriptors:
        raise EOFError
    return tuple(descriptors)
