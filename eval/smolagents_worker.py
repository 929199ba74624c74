"""A peer on the same tasks: smolagents' CodeAgent, in the peers' environment, asking the same model.

It runs the model's code in its own process, which no cage contains: what it may import is all that holds it. The data
it gets is a copy, in a folder of its own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from eval.delivered import Delivered
from eval.task import Task
from eval.worker import Came, nothing, print_of

_REPOSITORY: Final = Path(__file__).parent.parent
_STEPS: Final = 20


class SmolagentsWorker:
    """CodeAgent over an OpenAI-compatible endpoint."""

    def __init__(self, model: str, *, python: Path, base_url: str, token: str, seconds: float) -> None:
        self._model = model
        self._python = python
        self._endpoint = {"base_url": base_url, "token": token}
        self._seconds = seconds

    @property
    def name(self) -> str:
        return f"smolagents, {self._model}"

    async def work(self, task: Task, folder: Path) -> Came:
        before, began = print_of(folder, task.data), time.monotonic()
        question = {**self._endpoint, "model": self._model, "steps": _STEPS, "goal": task.goal, "data": list(task.data)}
        told = None
        with anyio.move_on_after(self._seconds):
            told = await anyio.run_process(
                [str(self._python), "-m", "eval.peers.smolagents_agent"],
                input=json.dumps(question).encode(),
                check=False,
                cwd=folder,
                env={
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "HOME": str(folder),
                    "LANG": "C.UTF-8",
                    "PYTHONPATH": str(_REPOSITORY),
                },
                start_new_session=True,
            )
        seconds = time.monotonic() - began
        if told is None:
            return nothing("too slow", f"no end within {self._seconds:.0f} s", seconds=seconds)
        is_untouched = print_of(folder, task.data) == before
        if told.returncode:
            return nothing(_ended(told), _last_words(told), seconds=seconds, is_data_untouched=is_untouched)
        return _came(json.loads(told.stdout.splitlines()[-1]), seconds, is_untouched)


def _came(answer: Mapping[str, Any], seconds: float, is_untouched: bool) -> Came:
    return Came(
        delivered=Delivered(
            answer=str(answer["answer"]), has_notebook=False, is_proven=False, is_data_untouched=is_untouched
        ),
        status="done" if answer["is_finished"] else "gave up",
        seconds=seconds,
        tokens=int(answer["tokens"]),
        # It counts tokens, not money.
        microdollars=None,
    )


def _ended(told: subprocess.CompletedProcess[bytes]) -> str:
    code = told.returncode
    return f"exit {code}" if code > 0 else signal.Signals(-code).name


def _last_words(told: subprocess.CompletedProcess[bytes]) -> str:
    return told.stderr.decode(errors="replace").strip()[-500:]
