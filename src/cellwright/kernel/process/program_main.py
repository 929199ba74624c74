"""Inside a cage: starts the program it is told of, with the cage's line as standard input and output.

Run by path with our interpreter and nothing but the standard library. What to start comes over the line, so that a
secret among its variables is never in the zygote, of which all kernels are copies. When the program has ended, a last
line that begins with a zero byte says how, with the end of what it said on standard error.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections import deque
from typing import Any

_LINE = 3
_NOT_STARTED = 127
_SAID_BYTES = 4096
_LAST_WORDS_SECONDS = 5


def main() -> None:
    """Start it, wait for its end, tell of it."""
    line = socket.socket(fileno=_LINE)
    (size,) = struct.unpack(">I", _receive(line, 4))
    told = json.loads(_receive(line, size))
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(told, writing)
    os.close(writing)
    said = _last_of(reading)
    _, status = os.waitpid(pid, 0)
    last = {"exit": os.waitstatus_to_exitcode(status), "said": said.decode("utf-8", "replace")}
    # Nobody may read any more.
    line.settimeout(_LAST_WORDS_SECONDS)
    line.sendall(b"\n\0" + json.dumps(last).encode() + b"\n")


def _receive(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def _become(told: dict[str, Any], said: int) -> None:
    try:
        os.dup2(_LINE, 0)
        os.dup2(_LINE, 1)
        os.dup2(said, 2)
        os.closerange(3, 64)
        os.chdir(told["folder"])
        os.execvpe(told["command"][0], told["command"], {**os.environ, **told["variables"]})
    except OSError as error:
        os.write(2, f"{told['command'][0]!r} cannot be started: {error.strerror}".encode())
    finally:
        os._exit(_NOT_STARTED)


def _last_of(reading: int) -> bytes:
    """The end of what comes, until nobody is left to write."""
    kept: deque[bytes] = deque()
    size = 0
    while piece := os.read(reading, _SAID_BYTES):
        kept.append(piece)
        size += len(piece)
        while size - len(kept[0]) >= _SAID_BYTES:
            size -= len(kept.popleft())
    return b"".join(kept)[-_SAID_BYTES:]


if __name__ == "__main__":
    main()
