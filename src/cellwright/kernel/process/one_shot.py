"""An errand: one program in a cage of its own, one question, one answer. No notebook is near."""

from __future__ import annotations

import os
import socket

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.process.zygote import CagedProcess, Zygote
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.spec import CageSpec

_END_SECONDS = 10
_CHUNK_BYTES = 1 << 20


async def run_one_shot(
    zygote: Zygote, spec: CageSpec, command: list[str], question: bytes, *, most_bytes: int, seconds: float
) -> bytes:
    """All that the program wrote to its descriptor 3 after it got `question` there; everything it started is gone then.

    `Unavailable` if it wrote nothing, too much, or took longer than `seconds`.
    """
    caged = await zygote.start(spec, command=command)
    control = CageControl(caged.control)
    try:
        with anyio.fail_after(seconds):
            answer = await _converse(caged.kernel, question, most_bytes)
            return answer or await _explain(control)
    except TimeoutError:
        raise Unavailable(f"It took longer than {seconds:g} s.", hint="Ask for less.") from None
    finally:
        with anyio.CancelScope(shield=True):
            await _end(caged, control)


async def _converse(kernel: socket.socket, question: bytes, most_bytes: int) -> bytes:
    kernel.setblocking(False)
    try:
        await _send(kernel, question)
        answer = bytearray()
        while chunk := await _receive(kernel):
            answer += chunk
            if len(answer) > most_bytes:
                raise Unavailable(f"The answer is longer than {most_bytes} bytes.", hint="Ask for less.")
        return bytes(answer)
    except ConnectionError:
        return b""


async def _send(kernel: socket.socket, question: bytes) -> None:
    data = memoryview(question)
    while data:
        try:
            data = data[kernel.send(data) :]
        except BlockingIOError:
            await anyio.wait_writable(kernel)
    kernel.shutdown(socket.SHUT_WR)


async def _receive(kernel: socket.socket) -> bytes:
    while True:
        try:
            return kernel.recv(_CHUNK_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(kernel)


async def _explain(control: CageControl) -> bytes:
    """Why there was no answer, as an error."""
    end = await control.wait_kernel()
    why = f"the {end.limit} limit" if end.limit else f"signal {end.signal}" if end.signal else f"exit {end.exit_code}"
    raise Unavailable(f"The program in the cage ended without an answer ({why}).", hint="Ask for less, or try again.")


async def _end(caged: CagedProcess, control: CageControl) -> None:
    try:
        await control.stop()
        caged.kill()
        with anyio.move_on_after(_END_SECONDS):
            await caged.ended.wait()
    finally:
        control.close()
        caged.kernel.close()
        os.close(caged.pidfd)
