"""A broker for tests of what runs outside kernels: a real socket in a state directory, the protocol, a real database.

`opened_broker` is all that tests use of it.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.cells.duck_source import DuckSource, Refused

LENGTH = struct.Struct(">I")


@contextmanager
def opened_broker(home: Path, *, version: int = 1) -> Generator[DuckSource]:
    """One that listens in this state directory; what it answers from."""
    source = DuckSource()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home / "broker.sock"))
        listening.listen()
        thread = threading.Thread(target=_serve, args=(listening, source, version))
        thread.start()
        try:
            yield source
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            (home / "broker.sock").unlink()


def _serve(listening: socket.socket, source: DuckSource, version: int) -> None:
    while True:
        try:
            line, _ = listening.accept()
        except OSError:
            return
        with line, suppress(OSError, EOFError):
            _answer(line, source, version)


def _answer(line: socket.socket, source: DuckSource, version: int) -> None:
    assert _receive(line) == {"kind": "hello", "version": 1}
    _send(line, {"kind": "welcome", "version": version})
    try:
        reply, descriptors = source.answer(_receive(line))
    except Refused as refusal:
        _send(line, {"kind": "failed", "message": str(refusal), "hint": "Ask for another."})
        return
    _send(line, reply)
    if descriptors:
        socket.send_fds(line, [b"\0"], descriptors)
        for descriptor in descriptors:
            socket.close(descriptor)


def _send(line: socket.socket, message: dict[str, Any]) -> None:
    payload = json.dumps(message).encode()
    line.sendall(LENGTH.pack(len(payload)) + payload)


def _receive(line: socket.socket) -> dict[str, Any]:
    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (more := line.recv(size - len(data))):
                raise EOFError
            data += more
        return data

    return json.loads(exactly(LENGTH.unpack(exactly(4))[0]))
