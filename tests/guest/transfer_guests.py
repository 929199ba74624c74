"""Kernels as processes of their own, spoken to over the wire, that can reach one memory file between them."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from cellwright_guest import report_wire, wire

PATIENCE_SECONDS = 120
_IMPORTED = "from cellwright_guest.transfer import variable_transfer as _c\n"
_PROGRAM = """
import socket, sys
connection = socket.socket(fileno=int(sys.argv[1]))
from cellwright_guest.driver import Driver
Driver().serve(connection)
"""
_decoder = msgspec.msgpack.Decoder(wire.FromGuest)


def memory_file(most_bytes: int = 256 << 20) -> int:
    """As the host makes one: nobody can make it larger."""
    descriptor = os.memfd_create("carried", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, most_bytes)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return descriptor


class Guest:
    """One kernel process."""

    def __init__(self, folder: Path, file: int) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(PATIENCE_SECONDS)
        self._file = file
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno(), file], cwd=folder)
        theirs.close()
        self._requests = 0
        self._buffer = b""
        self.ran: list[str] = []
        """Cells of the last order that ran, in order."""
        self._send(wire.Bind(filename=str(folder / "notebook.py"), threads=1))
        assert isinstance(self._receive(), wire.Ready)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait(PATIENCE_SECONDS)

    def apply(
        self,
        cells: Mapping[str, str] | None = None,
        *,
        run: list[str] | None = None,
        reactive: bool = True,
        **more: str,
    ) -> str:
        """Have these cells, run some of them (all of them, if nothing is said), and give what they printed."""
        self._requests += 1
        codes = {**(cells or {}), **more}
        upsert = [wire.CellCode(cell=name, code=code) for name, code in codes.items()]
        wanted = list(codes) if run is None else run
        self._send(wire.Apply(request=self._requests, upsert=upsert, run=wanted, reactive=reactive))
        self.ran = []
        printed = ""
        while True:
            match self._receive():
                case wire.CellStarted(cell=cell):
                    self.ran.append(cell)
                case wire.Console(text=text, stream="stdout"):
                    printed += text
                case wire.CellFinished(report=report_wire.CellReport(cell=cell, error=error)) if error is not None:
                    raise AssertionError(f"{cell}: {error.type}: {error.message}\n{error.traceback}")
                case wire.Finished(error=error):
                    assert not error, error
                    return printed
                case _:
                    pass

    def says(self, expression: str, before: str = "") -> Any:
        """What an expression is, as JSON."""
        code = f"import json as _json\n{before}\nprint(_json.dumps({expression}))"
        return json.loads(self.apply(question=code))

    def kinds(self) -> dict[str, str]:
        """What kind of value each name has, as the host would hear it."""
        self._requests += 1
        self._send(wire.Look(request=self._requests))
        looked = self._receive()
        assert isinstance(looked, wire.Looked)
        return {variable.name: variable.kind for variable in looked.variables}

    def export(self, *names: str, most_bytes: int = 256 << 20) -> dict[str, Any]:
        """What became of `variable_transfer.export` in its process."""
        made = f"_carrying.export(globals(), {list(names)!r}, {self._file}, most_bytes={most_bytes})"
        before = f"from cellwright_guest.transfer import variable_transfer as _carrying\n_made = {made}"
        return self.says("dict(carried=_made.carried, left=_made.left, bytes=_made.bytes)", before)

    def restore(self) -> dict[str, Any]:
        """What became of `variable_transfer.restore`."""
        before = f"{_IMPORTED}_made = _c.restore(globals(), {self._file})"
        return self.says("dict(restored=_made.restored, left=_made.left)", before)

    def mark_fresh(self, *cells: str) -> list[str]:
        """What became of `variable_transfer.mark_fresh`."""
        before = f"{_IMPORTED}from marimo._runtime.context import get_context as _get"
        return self.says(f"_c.mark_fresh(_get()._kernel, {list(cells)!r})", before)

    def _send(self, message: wire.FromHost) -> None:
        self._socket.sendall(wire.encode(message))

    def _receive(self) -> wire.FromGuest:
        while True:
            if len(self._buffer) >= wire.HEADER.size:
                length, lane = wire.HEADER.unpack_from(self._buffer)
                end = wire.HEADER.size + length
                if len(self._buffer) >= end:
                    body, self._buffer = self._buffer[wire.HEADER.size : end], self._buffer[end:]
                    assert lane == wire.TYPED
                    return _decoder.decode(body)
            chunk = self._socket.recv(1 << 16)
            assert chunk, "the kernel is gone"
            self._buffer += chunk
