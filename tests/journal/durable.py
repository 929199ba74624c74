"""Journals at work, for tests of durable runs: workflows of the test's own, and waiting for what they come to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from cellwright.journal.flow import Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import OpenQuestion

KEY = b"k" * 32


@asynccontextmanager
async def working(where: str, *bodies: Any, version: str = "1", **options: Any) -> AsyncGenerator[Journal]:
    """A journal that runs these workflows, each named after its body."""
    workflows = [Workflow(name=body.__name__, body=body) for body in bodies]
    with anyio.fail_after(120):
        async with Journal.open(where, version=version, workflows=workflows, chain_key=KEY, **options) as journal:
            yield journal


async def asked(journal: Journal, run: str) -> OpenQuestion:
    """The question a run waits for."""
    with anyio.fail_after(120):
        news = journal.log.growth.next()
        while not (pending := await journal.records.questions.pending(run)):
            await news.wait()
            news = journal.log.growth.next()
    return pending[0]


async def standing(journal: Journal, run: str, wanted: str) -> None:
    """Wait until a run stands like this."""
    with anyio.fail_after(120):
        while (await journal.status(run)).standing != wanted:
            with anyio.move_on_after(0.05):
                await journal.log.growth.next().wait()


def giving(value: Any, done: list[Any] | None = None) -> Callable[[], Awaitable[Any]]:
    """Work for a step that gives this back, and notes that it was done."""

    async def work() -> Any:
        if done is not None:
            done.append(value)
        return value

    return work
