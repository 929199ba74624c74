"""A peer program: started with the peers' Python, asked one thing at a time, ended with the bench."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from bench.failure import BenchFailed

_REPOSITORY = Path(__file__).parent.parent
_ANSWER_SECONDS = 300
_END_SECONDS = 20
_ANSWER_BYTES = 1 << 20


class Peer:
    """One running peer program. It times what it is asked to do by itself; the pipe is not in the figure."""

    def __init__(self, program: str, process: anyio.abc.Process, said: Path) -> None:
        assert process.stdout is not None
        self._program = program
        self._process = process
        self._answers = BufferedByteReceiveStream(process.stdout)
        self._said = said

    @property
    def pid(self) -> int:
        """Of its process, which leads a session of its own."""
        return self._process.pid

    async def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """What the program answers to one request."""
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send(json.dumps({"do": operation, **arguments}).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._failed("it is gone") from error
        return await self.answer()

    async def ms(self, operation: str, **arguments: Any) -> float:
        """How long an operation took, as the program itself saw it."""
        return float((await self.ask(operation, **arguments))["ms"])

    async def answer(self) -> dict[str, Any]:
        """The next line it says."""
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                answer = json.loads(await self._answers.receive_until(b"\n", _ANSWER_BYTES))
        except TimeoutError as error:
            raise self._failed(f"no answer within {_ANSWER_SECONDS} s") from error
        except (anyio.EndOfStream, anyio.IncompleteRead) as error:
            raise self._failed("it ended") from error
        if "error" in answer:
            raise self._failed(answer["error"])
        return answer

    async def end(self) -> None:
        """It ends its kernels when its input ends; what does not heed that is killed with its whole session."""
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        with anyio.move_on_after(_END_SECONDS):
            await self._process.wait()
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        await self._process.wait()
        await self._answers.aclose()

    def _failed(self, why: str) -> BenchFailed:
        tail = self._said.read_text(errors="replace").strip()[-2_000:]
        return BenchFailed(f"The peer {self._program!r} failed: {why}" + (f"\n{tail}" if tail else ""))


@asynccontextmanager
async def start_peer(python: Path, program: str, folder: Path) -> AsyncGenerator[Peer]:
    """A program of `bench.peers`, working in a folder of its own, without our environment variables."""
    said = folder / f"{program}.log"
    with said.open("wb") as log:
        process = await anyio.open_process(
            [str(python), "-m", f"bench.peers.{program}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=folder,
            env={
                "PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(folder),
                "LANG": "C.UTF-8",
                "PYTHONPATH": str(_REPOSITORY),
            },
            # Ctrl-C is for the bench, which then ends its peers.
            start_new_session=True,
        )
    peer = Peer(program, process, said)
    try:
        await peer.answer()
        yield peer
    finally:
        with anyio.CancelScope(shield=True):
            await peer.end()
