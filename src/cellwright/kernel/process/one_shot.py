"""A one-shot process: one program in a cage of its own, one question, one answer. No notebook is near."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, Protocol

import anyio
from anyio.abc import UNIXSocketStream

from cellwright.errors import Unavailable
from cellwright.kernel.process.zygote import Zygote
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import DEFAULT_UID, CageSpec

_PIECE_BYTES: Final = 1 << 18


class AnswerSink(Protocol):
    """Where a program's answer goes, piece by piece."""

    def put(self, piece: bytes) -> None:
        """Take the next piece; what it raises ends the cage."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing, now that the program has ended."""
        ...


class _WholeAnswer:
    """All of it in memory, up to a bound."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self.data = bytearray()

    def put(self, piece: bytes) -> None:
        self.data += piece
        if len(self.data) > self._most:
            raise Unavailable(f"The answer is longer than {self._most} bytes.", hint="Ask for less.")

    @property
    def is_whole(self) -> bool:
        return bool(self.data)


async def run_one_shot(
    zygote: Zygote, spec: CageSpec, command: list[str], question: bytes, *, most_bytes: int, seconds: float
) -> bytes:
    """All that the program wrote to its descriptor 3 after it got `question` there; everything it started is gone then.

    `Unavailable` if it wrote nothing, too much, or took longer than `seconds`.
    """
    answer = _WholeAnswer(most_bytes)
    await stream_one_shot(zygote, spec, command, question, sink=answer, seconds=seconds)
    return bytes(answer.data)


async def stream_one_shot(
    zygote: Zygote, spec: CageSpec, command: list[str], question: bytes, *, sink: AnswerSink, seconds: float
) -> None:
    """The same for an answer that memory is not to hold: it goes to `sink` as it comes.

    `Unavailable` if it ended before that was whole, or took longer than `seconds`.
    """
    caged = await zygote.start(spec, command=command)
    control = CageControl(caged.control)
    try:
        with anyio.fail_after(seconds):
            if not await _converse(caged.kernel, question, sink) or not sink.is_whole:
                await _explain(control)
    except TimeoutError:
        raise Unavailable(f"It took longer than {seconds:g} s.", hint="Ask for less.") from None
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await caged.end(control)
            finally:
                caged.kernel.close()


async def run_one_shot_in_nothing(
    zygote: Zygote,
    name: str,
    command: list[str],
    question: bytes,
    *,
    most_bytes: int,
    seconds: float,
    environment: dict[str, str],
    **spec: Any,
) -> bytes:
    """The same in a cage whose project is empty; `spec` is what else `CageSpec` is to say."""
    answer = _WholeAnswer(most_bytes)
    with _cage_in_nothing(name, environment, spec) as cage:
        await stream_one_shot(zygote, cage, command, question, sink=answer, seconds=seconds)
    return bytes(answer.data)


async def stream_one_shot_in_nothing(
    zygote: Zygote,
    name: str,
    command: list[str],
    question: bytes,
    *,
    sink: AnswerSink,
    seconds: float,
    environment: dict[str, str],
    **spec: Any,
) -> None:
    """`stream_one_shot` in such a cage."""
    with _cage_in_nothing(name, environment, spec) as cage:
        await stream_one_shot(zygote, cage, command, question, sink=sink, seconds=seconds)


@contextmanager
def _cage_in_nothing(name: str, environment: dict[str, str], spec: dict[str, Any]) -> Generator[CageSpec]:
    with private_directory(name) as nowhere:
        yield CageSpec(
            name=f"cellwright-{name}-{os.getpid()}",
            project=str(nowhere),
            files="drop",
            uid=DEFAULT_UID,
            protected=(),
            environment=environment,
            **spec,
        )


async def _converse(kernel: socket.socket, question: bytes, sink: AnswerSink) -> bool:
    """Whether the line was closed in order, not broken."""
    try:
        line = await UNIXSocketStream.from_socket(kernel)
        await line.send(question)
        await line.send_eof()
    except (anyio.BrokenResourceError, OSError):
        return False
    while True:
        try:
            piece = await line.receive(_PIECE_BYTES)
        except anyio.EndOfStream:
            return True
        except (anyio.BrokenResourceError, OSError):
            return False
        sink.put(piece)


async def _explain(control: CageControl) -> NoReturn:
    """Why there was no whole answer, as an error."""
    end = await control.wait_kernel()
    why = f"the {end.limit} limit" if end.limit else f"signal {end.signal}" if end.signal else f"exit {end.exit_code}"
    raise Unavailable(f"The program in the cage ended without an answer ({why}).", hint="Ask for less, or try again.")
