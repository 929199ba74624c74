"""A one-shot process: one program in a cage of its own, one question, one answer. No notebook is near."""

from __future__ import annotations

import os
import socket
from typing import Any

import anyio
from anyio.abc import UNIXSocketStream

from cellwright.errors import Unavailable
from cellwright.kernel.process.provisioner import CAGE_UID
from cellwright.kernel.process.zygote import Zygote
from cellwright.sandbox.host.control import CageControl
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import CageSpec


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
    with private_directory(name) as nowhere:
        cage = CageSpec(
            name=f"cellwright-{name}-{os.getpid()}",
            project=str(nowhere),
            files="drop",
            uid=CAGE_UID,
            protected=(),
            environment=environment,
            **spec,
        )
        return await run_one_shot(zygote, cage, command, question, most_bytes=most_bytes, seconds=seconds)


async def _converse(kernel: socket.socket, question: bytes, most_bytes: int) -> bytes:
    answer = bytearray()
    try:
        line = await UNIXSocketStream.from_socket(kernel)
        await line.send(question)
        await line.send_eof()
        async for chunk in line:
            answer += chunk
            if len(answer) > most_bytes:
                raise Unavailable(f"The answer is longer than {most_bytes} bytes.", hint="Ask for less.")
    except (anyio.BrokenResourceError, OSError):
        return b""
    return bytes(answer)


async def _explain(control: CageControl) -> bytes:
    """Why there was no answer, as an error."""
    end = await control.wait_kernel()
    why = f"the {end.limit} limit" if end.limit else f"signal {end.signal}" if end.signal else f"exit {end.exit_code}"
    raise Unavailable(f"The program in the cage ended without an answer ({why}).", hint="Ask for less, or try again.")
