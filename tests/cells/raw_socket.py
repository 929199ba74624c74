"""Whoever sits in the broker's place and is none: bytes that no real broker says, at its socket."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


def frame(message: Any) -> bytes:
    payload = json.dumps(message).encode()
    return struct.pack(">I", len(payload)) + payload


@contextmanager
def saying(home: Path, said: bytes) -> Generator[None]:
    """Somebody who says this to the first who comes, and nothing more."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home / "broker.sock"))
        listening.listen()
        thread = threading.Thread(target=_say, args=(listening, said))
        thread.start()
        yield
        thread.join()


def _say(listening: socket.socket, said: bytes) -> None:
    line, _ = listening.accept()
    # Who does not like what is said leaves at once.
    with line, suppress(ConnectionResetError):
        line.sendall(said)
        line.shutdown(socket.SHUT_WR)
        while line.recv(1 << 16):
            pass
