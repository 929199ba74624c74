"""Cellwright with a model that answers from recordings: a provider on loopback, asked through the real gateway."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from cellwright.testing import CallTool, Fault, ProviderServer, Received, Tokens
from eval.cellwright_worker import CellwrightWorker, open_cellwright
from eval.recording import TaskRecording, scripted
from eval.task import Task
from eval.traffic import review_excess, sizes_of, traffic_of
from eval.worker import Came

REPLAY: Final = "replay"
_CHARACTERS_PER_TOKEN: Final = 4
_REVIEWER: Final = "You look over a marimo notebook"
_TESTER: Final = "You write the acceptance tests of a marimo notebook"
# Nobody recorded either: the one goes on for as long as it may, so that its cost is the greatest; the other gives up.
_LOOKS_ON: Final = CallTool("try_code", {"code": "print(1)"})
_NO_TESTS: Final = CallTool("finish", {"reading": "", "variables": [], "tests": []})
_ENDPOINT: Final = """
[endpoints.replay]
kind = "openai-chat"
base_url = "{base_url}"
key = "none"
local = true
"""
# A model for each task: two runs at once must not take each other's answers.
_MODEL: Final = """
[models."replay:{task}"]
tools = true
schema = true
"""


class ReplayWorker:
    """Runs whose model says what it once said. It can be given each recorded task once."""

    def __init__(
        self, worker: CellwrightWorker, provider: ProviderServer, recordings: Mapping[str, TaskRecording]
    ) -> None:
        self._worker = worker
        self._provider = provider
        self._recordings = dict(recordings)

    @property
    def name(self) -> str:
        return f"cellwright, {REPLAY}"

    async def work(self, task: Task, folder: Path) -> Came:
        came = await self._worker.with_model(f"{REPLAY}:{task.id}").work(task, folder)
        built, reviewed = self._sizes(task.id, is_review=False), self._sizes(task.id, is_review=True)
        took = traffic_of(built)
        frozen = self._recordings[task.id].frozen
        # The provider counts no tokens, and nothing is paid.
        return replace(
            came,
            tokens=0,
            microdollars=0,
            requests=took.requests,
            characters=took.characters,
            frozen=frozen,
            reviewed=traffic_of(reviewed),
            excess=review_excess(built, reviewed),
        )

    def _sizes(self, task: str, *, is_review: bool) -> list[int]:
        own = [request for request in self._provider.requests if request.model == task and not _says(request, _TESTER)]
        return sizes_of(request.body for request in own if _says(request, _REVIEWER) is is_review)


@asynccontextmanager
async def open_replay(
    recordings: Iterable[TaskRecording], *, seconds: float, effort: str = "normal"
) -> AsyncGenerator[ReplayWorker]:
    """A worker for these recordings, in a state directory of its own and without any key."""
    recorded = {recording.task: recording for recording in recordings}
    with tempfile.TemporaryDirectory(prefix="cellwright-replay-") as temporary:
        async with ProviderServer.open() as provider:
            home = Path(temporary)
            for recording in recorded.values():
                _script(provider, recording)
            _configure(home, provider, recorded)
            async with open_cellwright(REPLAY, home=home, seconds=seconds, effort=effort) as worker:
                yield ReplayWorker(worker, provider, recorded)


def _script(provider: ProviderServer, recording: TaskRecording) -> None:
    def is_asked(request: Received) -> bool:
        return request.model == recording.task

    live = recording.live
    tokens = Tokens(input_tokens=live.characters // live.requests // _CHARACTERS_PER_TOKEN)
    provider.when(
        lambda request: is_asked(request) and _says(request, _REVIEWER),
        replace(_LOOKS_ON, tokens=tokens),
        for_ever=True,
    )
    provider.when(
        lambda request: is_asked(request) and _says(request, _TESTER), replace(_NO_TESTS, tokens=tokens), for_ever=True
    )
    provider.when(is_asked, *(scripted(answer, tokens) for answer in recording.answers))
    over = (
        f"The recording of {recording.task!r} is at its end: "
        f"answers recorded {len(recording.answers)}, and the run asks for one more."
    )
    # A refusal of this kind is not tried again.
    provider.when(is_asked, Fault("bad-request", message=over), for_ever=True)


def _says(request: Received, words: str) -> bool:
    return words in str(request.body)


def _configure(home: Path, provider: ProviderServer, tasks: Iterable[str]) -> None:
    models = "".join(_MODEL.format(task=task) for task in tasks)
    endpoint = _ENDPOINT.format(base_url=provider.base_url("openai-chat"))
    (home / "models.toml").write_text(endpoint + models, encoding="utf-8")
