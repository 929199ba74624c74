"""The zygote's process: begun with an empty environment, before anything else is loaded if a command is in a hurry.

Python's standard library only: a command begins it first, and loads itself while the zygote loads marimo and pandas.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cellwright.framing import pack_json

_MAIN = Path(__file__).with_name("zygote_main.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZygoteProcess:
    """A zygote that was started and has said nothing yet."""

    connection: socket.socket
    process: subprocess.Popen[bytes]


def begin_zygote(cache: Path, *, is_warm: bool = False) -> ZygoteProcess:
    """Start it; with `is_warm` it imports what kernels need without waiting for the first to be asked for."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        arguments = [str(theirs.fileno()), str(cache), *package_paths()]
        command = [sys.executable, "-I", "-S", str(_MAIN), *arguments]
        # A direct exec, in this thread: nothing is waited for here.
        process = subprocess.Popen(
            command, env={}, cwd="/", pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    if is_warm:
        ours.send(pack_json({"op": "warm"}))
    return ZygoteProcess(connection=ours, process=process)


@contextmanager
def beginning_zygote(cache: Path, *, is_warm: bool) -> Generator[ZygoteProcess]:
    """A zygote for a pool that is yet to be opened; it ends with the block at the latest."""
    begun = begin_zygote(cache, is_warm=is_warm)
    try:
        yield begun
    finally:
        begun.connection.close()
        if begun.process.poll() is None:
            # No pool took it, so it started nothing.
            begun.process.kill()
            begun.process.wait()


def package_paths() -> list[str]:
    """Where our pinned packages lie: what the zygote may import, and a cage sees read-only."""
    home = str(Path(__file__).parents[3])
    site = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    return list(dict.fromkeys([home, *site]))
