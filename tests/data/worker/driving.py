"""A worker as the broker starts it, and what it is asked."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cellwright.framing import FrameUnpacker, pack_json, read_json

SECONDS = 60
MEMORY = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A reply, and the table that came with it."""

    reply: dict[str, Any]
    table: pa.Table | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        assert self.table is not None, self.reply
        return self.table.to_pylist()

    @property
    def failure(self) -> tuple[str, str]:
        assert self.reply["kind"] == "failed", self.reply
        why = self.reply["why"]
        assert why and "\n" not in why and len(why) <= 2000
        assert "Traceback" not in why
        return self.reply["failure"], why


class DrivenWorker:
    """The broker's end of the socket."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
        self.process, self.connection = process, connection
        self._frames = FrameUnpacker()
        self.heard = ""
        """Everything that it ever said, results aside."""

    def ask(self, **request: Any) -> Answered:
        self.send(**request)
        return self.answer()

    def query(self, statement: str, *parameters: Any, **limits: Any) -> Answered:
        self.start(statement, *parameters, **limits)
        return self.answer()

    def start(self, statement: str, *parameters: Any, **limits: Any) -> None:
        wanted = {"rows": 10_000_000, "bytes": MEMORY, "seconds": SECONDS} | limits
        self.send(kind="query", statement=statement, parameters=list(parameters), **wanted)

    def send(self, **request: Any) -> None:
        self.connection.sendall(pack_json(request))

    def answer(self) -> Answered:
        reply = self._reply()
        if not reply.get("descriptors"):
            return Answered(reply=reply)
        mark, descriptors, _, _ = socket.recv_fds(self.connection, 1, 4)
        assert (mark, len(descriptors)) == (b"F", 1)
        return Answered(reply=reply, table=_table(descriptors[0], reply))

    def _reply(self) -> dict[str, Any]:
        while (payload := self._frames.take()) is None:
            # A byte at a time behind the head: the mark with the descriptor must not be read with the frame.
            data = self.connection.recv(_missing(self._frames))
            if not data:
                raise EOFError
            self._frames.put(data)
        self.heard += payload.decode() + str(reply := read_json(payload))
        return reply


def _missing(frames: FrameUnpacker) -> int:
    held = frames._buffer
    return 4 - len(held) if len(held) < 4 else 4 + int.from_bytes(held[:4], "big") - len(held)


def _table(descriptor: int, reply: Mapping[str, Any]) -> pa.Table:
    try:
        place = Path(f"/proc/self/fd/{descriptor}")
        assert hashlib.sha256(place.read_bytes()).hexdigest() == reply["sha256"]
        assert os.fstat(descriptor).st_size == reply["bytes"]
        with pa.memory_map(str(place)) as file:
            table = pa.ipc.open_file(file).read_all()
    finally:
        os.close(descriptor)
    table.validate(full=True)
    assert [[field.name, str(field.type)] for field in table.schema] == reply["columns"]
    assert table.num_rows == reply["rows"]
    return table


@contextmanager
def driven_worker(without: str = "") -> Generator[DrivenWorker]:
    """A process of its own; `without` a module, as if it were not installed."""
    ours, theirs = socket.socketpair()
    ours.settimeout(SECONDS)
    program = ["-m", "cellwright.data.worker", str(theirs.fileno())]
    if without:
        lacking = f"import sys; sys.modules[{without!r}] = None; sys.argv = ['worker', {str(theirs.fileno())!r}]"
        program = ["-c", f"{lacking}; from cellwright.data.worker.__main__ import main; main()"]
    process = subprocess.Popen([sys.executable, "-I", *program], pass_fds=[theirs.fileno()])
    theirs.close()
    try:
        yield DrivenWorker(process, ours)
    finally:
        ours.close()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
            process.wait()


def peak_memory_mb(pid: int) -> int:
    """The most that a process ever had of its own."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024
