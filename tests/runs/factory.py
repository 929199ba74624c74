"""A factory for tests: runs through the real `open_runs`, scripted models over the real wire, real kernels."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from cellwright.app.runs import RunOptions, Runs, open_runs
from cellwright.journal.questions import OpenQuestion
from cellwright.kernel.pool import KernelPool
from cellwright.policy.approvals import No, Person, Reply, Yes
from cellwright.policy.masking.masker import Masker
from cellwright.runs.deliver.delivery import Delivery, parse_delivery
from cellwright.runs.goal.goal import Goal
from cellwright.runs.views.run_view import RunView, read_view
from cellwright.settings import Settings
from cellwright.testing import Answer, CallTool, CallTools, Received
from cellwright.tools.approval.inbox import Inbox
from tests.models.testbed import ModelTestbed

ADA = Person(name="ada", door="web")
MODEL = "near:one"


def plan(*tasks: dict[str, Any], title: str = "The sum of the numbers", **more: Any) -> CallTool:
    """A plan that is handed in instead of doing it all at once."""
    return CallTool("plan", {"title": title, "tasks": list(tasks), **more})


def task(id: str = "sum", **more: Any) -> dict[str, Any]:
    return {"id": id, "title": f"Do {id}", "todo": f"Work on {id}.", **more}


def apply(*edits: dict[str, Any]) -> CallTool:
    return CallTool("apply", {"edits": list(edits)})


def create(code: str, name: str, **more: Any) -> dict[str, Any]:
    return {"op": "create", "code": code, "name": name, **more}


def finish(answer: str = "", summary: str = "Done.") -> CallTool:
    return CallTool("finish", {"summary": summary, "answer": answer})


def at_once(*calls: CallTool) -> CallTools:
    return CallTools(tuple(calls))


def of(text: str) -> Callable[[Received], bool]:
    """Requests that speak of this."""
    return lambda received: text in str(received.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory:
    """Runs at work, and everything a test may look at."""

    runs: Runs
    testbed: ModelTestbed
    project: Path

    def script(self, *answers: Answer) -> None:
        self.testbed.provider.script(*answers)

    def goal(self, words: str = "Sum the numbers.", *, notebook: str = "sums.py", **more: Any) -> Goal:
        # Whoever looks it over is asked only by tests that script a reviewer.
        given: dict[str, Any] = {"models": (MODEL,), "person": "ada", "project": str(self.project), "effort": "quick"}
        return Goal(words=words, notebook=str(self.project / notebook), **(given | more))

    async def start(
        self, goal: Goal | None = None, *, run: str = "r", connection: Mapping[str, str] | None = None
    ) -> str:
        return await self.runs.start(goal or self.goal(), run=run, connection=connection)

    async def delivery(self, run: str = "r") -> Delivery:
        with anyio.fail_after(600):
            return parse_delivery(await self.runs.result(run))

    async def deliver(self, goal: Goal | None = None) -> Delivery:
        return await self.delivery(await self.start(goal))

    async def view(self, run: str = "r") -> RunView:
        return await read_view(self.runs.records.log.read_all, run)

    async def until(self, holds: Callable[[RunView], bool], run: str = "r") -> RunView:
        """Wait until the run's stream tells this."""
        with anyio.fail_after(120):
            while True:
                grown = self.runs.records.log.growth.next()
                seen = await self.view(run)
                if holds(seen):
                    return seen
                await grown.wait()

    async def asked(self, topic: str = "", run: str = "") -> OpenQuestion:
        """The question somebody should answer."""
        with anyio.fail_after(120):
            while True:
                grown = self.runs.records.log.growth.next()
                pending = await self.runs.records.questions.pending(run or None)
                for question in pending:
                    if topic in ("", question.question.topic):
                        return question
                await grown.wait()

    async def answer(self, reply: Reply) -> str:
        """What was asked for, answered at the approvals door."""
        question = await self.asked("approval")
        desk = Inbox(self.runs.records, masker=Masker.of(salt=b"s" * 16))
        shown = (await desk.show(question.id)).question
        said = await desk.answer(question.id, reply, ADA, shown.fingerprint)
        assert not type(said).__name__.endswith("Refused"), said
        return shown.describe()

    async def say_yes(self) -> str:
        return await self.answer(Yes(reach="run"))

    async def say_no(self, feedback: str = "") -> str:
        return await self.answer(No(feedback=feedback))

    def notebook(self, name: str = "sums.py") -> str:
        return (self.project / name).read_text()

    def prompts(self) -> list[str]:
        """What the model was really asked, request by request."""
        return [str(request.body["messages"]) for request in self.testbed.provider.requests]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """Where those of all tests come from: starting a zygote takes longer than most runs."""

    cache: Path
    pools: tuple[KernelPool, KernelPool]


@asynccontextmanager
async def open_factory(
    testbed: ModelTestbed, project: Path, kernels: Path | Kernels, **options: Any
) -> AsyncGenerator[Factory]:
    """Runs in this project, with the testbed's state directory; given a cache alone, with a zygote of their own."""
    async with AsyncExitStack() as stack:
        if isinstance(kernels, Path):
            pool = await stack.enter_async_context(KernelPool.open(kernels / "zygote"))
            kernels = Kernels(cache=kernels, pools=(pool, pool))
        # The person's index and certificates: a check builds the environment a notebook asks for.
        settings = replace(Settings.read(), home=testbed.home, cache=kernels.cache)
        chosen = RunOptions(launch=testbed.launch(), pools=kernels.pools, **options)
        runs = await stack.enter_async_context(open_runs(settings, options=chosen))
        yield Factory(runs=runs, testbed=testbed, project=project)
