"""How a peer program talks: one JSON request per line in, one JSON answer per line out, until its input ends."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, TextIO

Answer = dict[str, Any]
Operation = Callable[..., Awaitable[Answer]]


async def converse(operations: dict[str, Operation]) -> None:
    """Carry out what the bench asks for, one thing at a time."""
    answers = _claim_stdout()
    say(answers, {"ready": True})
    # In a thread: a peer's event loop must go on with its own work between two requests.
    while line := await asyncio.to_thread(sys.stdin.readline):
        request: dict[str, Any] = json.loads(line)
        try:
            answer = await operations[request.pop("do")](**request)
        except Exception:  # noqa: BLE001 (a door: the bench reads it and says so)
            answer = {"error": traceback.format_exc(limit=-3)}
        say(answers, answer)


def say(answers: TextIO, answer: Answer) -> None:
    """One line to the bench."""
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _claim_stdout() -> TextIO:
    # Kernels inherit descriptor 1 and may print to it; answers go where only we write.
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "w")
