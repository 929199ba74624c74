"""Many runs at once: never more than the limits say, fair between people, important ones first, all delivered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from cellwright.journal.events import StepStarted
from cellwright.journal.names import stream_of
from cellwright.runs.deliver.delivery import Delivery, parse_delivery
from cellwright.runs.events import StageEntered
from cellwright.runs.execute.slots import SlotLimits
from cellwright.testing import CallTool, Fault
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Factory, Kernels, finish, of, open_factory

LIMITS = SlotLimits(at_once=4, per_person=2)
WORKING = of("Sum for")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run somebody wants."""

    run: str
    person: str
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """When a run was at work, as its stream tells."""

    run: str
    began_ms: int
    ended_ms: int


TWELVE = [
    *(Asked(run=f"ada-{number}", person="ada", priority=9 if number == 6 else 0) for number in range(1, 7)),
    *(Asked(run=f"bob-{number}", person="bob") for number in range(1, 5)),
    *(Asked(run=f"cy-{number}", person="cy") for number in range(1, 3)),
]


async def start(factory: Factory, asked: Asked) -> None:
    """Start it, and wait until it works or has been told to wait: runs come to their turn in this order."""
    notebook = f"{asked.run}.py"
    (factory.project / notebook).write_text(notebook_source("import marimo as mo"))
    goal = factory.goal(f"Sum for {asked.run}.", notebook=notebook, person=asked.person, priority=asked.priority)
    await factory.start(goal, run=asked.run)
    await factory.until(lambda seen: seen.stage != "queued" or bool(seen.waits), asked.run)


async def deliveries(factory: Factory, runs: Sequence[str]) -> dict[str, Delivery]:
    with anyio.fail_after(900):
        return {run: parse_delivery(await factory.runs.result(run)) for run in runs}


async def spell(factory: Factory, run: str) -> Spell:
    """From the first step of its turn to the last stage it told of."""
    began, ended = 0, 0
    async for recorded in factory.runs.records.log.read_all(stream_of(run)):
        match recorded.event:
            case StepStarted(workflow=workflow) if workflow == run and not began:
                began = recorded.at_ms
            case StageEntered(stage="over"):
                ended = recorded.at_ms
            case _:
                pass
    assert 0 < began < ended
    return Spell(run=run, began_ms=began, ended_ms=ended)


def most_at_once(spells: Sequence[Spell]) -> int:
    # One that ends in the millisecond in which another begins has made room for it.
    ticks = sorted([(each.began_ms, 1) for each in spells] + [(each.ended_ms, -1) for each in spells])
    at_once = [sum(step for _, step in ticks[: number + 1]) for number in range(len(ticks))]
    return max(at_once)


@pytest.mark.slow
async def test_twelve_runs_of_three_people_keep_to_the_limits_and_all_are_delivered(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels, limits=LIMITS) as factory:
        # The first four think until all twelve are there.
        testbed.provider.when(WORKING, *[Fault("slow-first-byte", answer=finish("1"))] * 4, *[finish("1")] * 8)
        for asked in TWELVE:
            await start(factory, asked)
        await testbed.provider.until(lambda server: server.silent == 4, timeout_seconds=120)
        views = {asked.run: await factory.view(asked.run) for asked in TWELVE}
        assert [run for run, view in views.items() if view.stage == "build"] == ["ada-1", "ada-2", "bob-1", "bob-2"]
        assert "2 runs of ada go on already" in views["ada-3"].waits
        assert "4 runs go on already" in views["cy-1"].waits
        assert await factory.runs.at_work() == len(TWELVE)

        testbed.provider.release()
        delivered = await deliveries(factory, [asked.run for asked in TWELVE])
        assert {run: (each.why, each.status) for run, each in delivered.items()} == {
            asked.run: ("", "done") for asked in TWELVE
        }
        spells = [await spell(factory, asked.run) for asked in TWELVE]
    assert most_at_once(spells) == LIMITS.at_once
    for person in ("ada", "bob", "cy"):
        own = [each for each in spells if each.run.startswith(person)]
        assert most_at_once(own) <= LIMITS.per_person
    order = [each.run for each in sorted(spells, key=lambda each: each.began_ms)]
    # Two turns may fall due in one millisecond. Whoever had nothing going comes before others' third run, and the
    # important one before those that came earlier.
    assert {"cy-1", "cy-2"} & set(order[4:6])
    assert "ada-6" in [run for run in order if run.startswith("ada")][2:4]
    assert Counter(charge.is_finished for charge in testbed.provider.charged) == {True: len(TWELVE)}


async def test_a_run_that_waits_for_a_person_makes_room_for_another(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels, limits=SlotLimits(at_once=1)) as factory:
        testbed.provider.when(of("The person answered: seven"), finish("7"))
        testbed.provider.when(of("Sum for asks."), CallTool("ask_person", {"question": "Which number?"}))
        testbed.provider.when(WORKING, finish("1"), for_ever=True)
        await start(factory, Asked(run="asks", person="ada"))
        question = await factory.asked(run="asks")
        await start(factory, Asked(run="next", person="bob"))
        assert (await deliveries(factory, ["next"]))["next"].status == "done"
        assert (await factory.runs.records.status("asks")).is_going
        await factory.runs.records.questions.answer(question.id, "seven", by="ada")
        assert (await deliveries(factory, ["asks"]))["asks"].status == "done"
