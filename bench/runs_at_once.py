"""Fifty runs at once: all delivered, nothing lost, and a door that still answers while they work.

Each asks its person a question once its notebook is open. When all have asked, fifty kernels are there and nothing
works: that is when memory is measured. Then all are answered, and everything happens at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, TypeVar

import anyio

from bench.failure import BenchFailed
from bench.rows import Finding, Samples, compare, no_more_than, told
from bench.run_testbed import WORK, RunTestbed, speaks_of
from bench.stage import Stage
from cellwright.journal.events import QuestionAnswered
from cellwright.journal.names import stream_of
from cellwright.journal.questions import OpenQuestion
from cellwright.runs.views.run_view import read_listed_views
from cellwright.testing import CallTool

T = TypeVar("T")
_RUNS: Final = 50
_FEW: Final = 8
_MORE: Final = 5
"""So many are started while the others work, and so many alone for comparison."""
_PAUSE_SECONDS: Final = 0.5
_HEARD_SECONDS: Final = 120
_WORK_SECONDS: Final = 900
_SAID: Final = "all of them"
_CALLS: Final = 4
"""To the model, per run: planning, asking, working, telling."""


@dataclass(slots=True)
class Door:
    """What a door was asked to do, and how long each took, in milliseconds."""

    lists: list[float] = field(default_factory=list[float])
    starts: list[float] = field(default_factory=list[float])
    answers: list[float] = field(default_factory=list[float])


async def measure(stage: Stage) -> list[Finding]:
    """Doors while everybody works against the same doors afterwards, the journal as full as it was."""
    count = _FEW if stage.is_quick else _RUNS
    async with RunTestbed.open(stage) as testbed:
        _script(testbed)
        await _alone(testbed, Door())
        crowd = _Crowd(testbed)
        before = testbed.memory_mb()
        runs = await crowd.gather(count)
        memory = (testbed.memory_mb() - before) / count
        seconds = await crowd.work(runs)
        quiet = Door()
        alone = [await _alone(testbed, quiet) for _ in range(_MORE)]
        _expect_each_call_once(testbed, count + 2 * _MORE + 1)
    return findings(count, crowd.door, quiet, memory=memory, seconds=seconds, alone=alone)


def findings(
    count: int, busy: Door, quiet: Door, *, memory: float, seconds: float, alone: Sequence[float]
) -> list[Finding]:
    """The rows: everything at once against one after another, and doors, the median and the slowest."""
    one_by_one = Samples(tuple(each * count for each in alone))
    found = [
        compare(
            f"{count} runs at once, all delivered",
            ours=Samples((seconds,)),
            peer=one_by_one,
            peer_name="one after another",
            unit="s",
            bar=no_more_than(1),
        ),
        compare(
            "memory of one more run",
            ours=Samples((memory,)),
            peer=Samples((100.0,)),
            peer_name="100 MB, ours to keep",
            unit="MB",
            bar=no_more_than(1),
        ),
    ]
    for what, worked, idle in (
        ("list the runs", busy.lists, quiet.lists),
        ("start another", busy.starts, quiet.starts),
        ("answer a question until its run goes on", busy.answers, quiet.answers),
    ):
        name = f"{what} while {count} work"
        median, slowest = Samples(tuple(worked)), Samples((max(worked),))
        peer, limit = Samples(tuple(idle)), Samples((2_000.0,))
        found += [
            # Told only: whatever makes the quiet one faster makes the ratio worse, and a person waits in seconds.
            compare(name, ours=median, peer=peer, peer_name="while none works", unit="ms", bar=told("at most")),
            compare(
                f"{name}, slowest", ours=slowest, peer=limit, peer_name="2 s, ours to keep", unit="ms",
                bar=no_more_than(1),
            ),
        ]  # fmt: skip
    return found


def _script(testbed: RunTestbed) -> None:
    testbed.provider.when(speaks_of(f"The person answered: {_SAID}"), WORK, for_ever=True)
    testbed.provider.when(lambda _: True, CallTool("ask_person", {"question": "Which numbers?"}), for_ever=True)


class _Crowd:
    """Many runs, and the door through which they are started, listed and answered."""

    def __init__(self, testbed: RunTestbed) -> None:
        self._testbed = testbed
        self.door = Door()

    async def gather(self, count: int) -> list[str]:
        """So many runs that have all come to their question."""
        runs = [await self._testbed.daemon.start(self._testbed.goal()) for _ in range(count)]

        async def have_asked() -> bool:
            return len(await self._testbed.records.questions.pending()) == count

        await self._testbed.until(have_asked)
        return list(runs)

    async def work(self, runs: Sequence[str]) -> float:
        """Answer all, and use the door until the last is delivered; the seconds from first answer to last delivery.

        Every fifth is answered only once the others work: those answers are the door's figures.
        """
        began = time.perf_counter()
        asked = await self._testbed.records.questions.pending()
        held, more = asked[::5], list[str]()
        for question in asked:
            if question not in held:
                await _answer(self._testbed, question)
        while going := await self._going(runs):
            if time.perf_counter() - began > _WORK_SECONDS:
                raise BenchFailed(f"{len(going)} of {len(runs)} runs still work after {_WORK_SECONDS} s: {going}")
            await _listed(self._testbed, self.door)
            if len(more) < _MORE:
                more.append(await _started(self._testbed, self.door))
            if held:
                await _heard(self._testbed, self.door, held.pop())
            await anyio.sleep(_PAUSE_SECONDS)
        seconds = time.perf_counter() - began
        if len(more) < _MORE:
            raise BenchFailed("it was over before a door could be used")
        await self._finish(more)
        for run in [*runs, *more]:
            await self._testbed.delivery(run)
        return seconds

    async def _finish(self, more: Sequence[str]) -> None:
        """Let those end that came late; what the door takes now is no figure."""

        async def are_over() -> bool:
            for question in await self._testbed.records.questions.pending():
                await _answer(self._testbed, question)
            return not await self._going(more)

        await self._testbed.until(are_over)

    async def _going(self, runs: Sequence[str]) -> list[str]:
        return [status.run for status in await self._testbed.records.runs() if status.is_going and status.run in runs]


async def _alone(testbed: RunTestbed, door: Door) -> float:
    """One run while nothing else goes on: its seconds from answer to delivery."""
    run = await _started(testbed, door)

    async def has_asked() -> bool:
        return bool(await testbed.records.questions.pending(run))

    await testbed.until(has_asked)
    [question] = await testbed.records.questions.pending(run)
    began = time.perf_counter()
    await _heard(testbed, door, question)
    await testbed.delivery(run)
    seconds = time.perf_counter() - began
    await _listed(testbed, door)
    return seconds


async def _started(testbed: RunTestbed, door: Door) -> str:
    """Take on another goal: durable when it is back."""
    goal = testbed.goal("Sum a few more.")
    return await _timed(door.starts, lambda: testbed.daemon.start(goal))


async def _listed(testbed: RunTestbed, door: Door) -> None:
    """As `cellwright runs list` does it: which there are, and how far each has come."""

    async def work() -> int:
        runs = await testbed.records.runs()
        return len(await read_listed_views(testbed.records, [status.run for status in runs]))

    await _timed(door.lists, work)


async def _heard(testbed: RunTestbed, door: Door, question: OpenQuestion) -> None:
    """Answer, and wait until the run goes on: the next thing it tells."""

    async def work() -> None:
        await _answer(testbed, question)
        has_answer = False
        async with aclosing(testbed.records.log.follow(stream_of(question.run))) as events:
            async for recorded in events:
                if has_answer:
                    return
                event = recorded.event
                has_answer = isinstance(event, QuestionAnswered) and event.question == question.id

    with anyio.fail_after(_HEARD_SECONDS):
        await _timed(door.answers, work)


async def _answer(testbed: RunTestbed, question: OpenQuestion) -> None:
    await testbed.records.questions.answer(question.id, _SAID, by="bench")


async def _timed(took: list[float], work: Callable[[], Awaitable[T]]) -> T:
    began = time.perf_counter()
    done = await work()
    took.append((time.perf_counter() - began) * 1e3)
    return done


def _expect_each_call_once(testbed: RunTestbed, runs: int) -> None:
    """Nothing was asked or paid twice."""
    charged = testbed.provider.charged
    if len(charged) != runs * _CALLS or not all(charge.is_finished for charge in charged):
        raise BenchFailed(f"{len(charged)} calls were charged for {runs} runs of {_CALLS}")
