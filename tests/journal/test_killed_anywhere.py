"""A run killed with -9 anywhere gives the same result: nothing finished is redone, effects and facts are there once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.journal import engine_tables
from cellwright.journal.crash import CrashPoint
from cellwright.journal.database import Cursor, Database, JournalLocation
from cellwright.journal.events import Fact
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from tests.journal.processes import Warm
from tests.journal.sixty import DID, EFFECTS, FACTS, KEY, RUN, STEPS, lines

VISITS = {
    CrashPoint.RUN_BEGUN: (1, 3, 7),
    CrashPoint.STEP_CHECKED: (2, 20, 40, 70),
    CrashPoint.STEP_WORKED: (9, 35, 62),
    CrashPoint.BLOB_WRITTEN: (1,),
    CrashPoint.STEP_COMMITTING: (1, 14, 44, 76),
    CrashPoint.STEP_COMMITTED: (5, 33, 58),
    CrashPoint.EFFECT_INTENDED: (1, 4, 9),
    CrashPoint.EFFECT_HAPPENED: (2, 5, 8),
    CrashPoint.QUESTION_OPENED: (1,),
    CrashPoint.ANSWER_COMMITTING: (1,),
    CrashPoint.ANSWER_COMMITTED: (1,),
    CrashPoint.QUESTION_CLOSED: (1,),
    CrashPoint.CHILD_STARTING: (1, 4, 6),
    CrashPoint.CHILD_ENDED: (1, 6),
    CrashPoint.RUN_ENDING: (1, 7),
    CrashPoint.RUN_TOLD: (1, 7),
}
"""Which visits to a point are worth a kill; an undisturbed run makes at least so many."""
ONE_AFTER_ANOTHER = [
    (CrashPoint.RUN_BEGUN, 1),
    (CrashPoint.STEP_CHECKED, 3),
    (CrashPoint.STEP_WORKED, 3),
    (CrashPoint.STEP_COMMITTING, 3),
    (CrashPoint.STEP_COMMITTED, 2),
    (CrashPoint.RECOVERY_CLAIMED, 1),
    (CrashPoint.CHILD_STARTING, 2),
    (CrashPoint.EFFECT_INTENDED, 1),
    (CrashPoint.EFFECT_HAPPENED, 2),
    (CrashPoint.RUN_ENDING, 1),
    (CrashPoint.CHILD_ENDED, 1),
    (CrashPoint.RUN_TOLD, 2),
    (CrashPoint.QUESTION_OPENED, 1),
    (CrashPoint.ANSWER_COMMITTING, 1),
    (CrashPoint.ANSWER_COMMITTED, 1),
    (CrashPoint.QUESTION_CLOSED, 1),
    (CrashPoint.BLOB_WRITTEN, 1),
]
"""Each kind of point, in an order in which one run gets to them."""
SAMPLE = [
    (CrashPoint.STEP_COMMITTING, 12),
    (CrashPoint.EFFECT_HAPPENED, 3),
    (CrashPoint.RECOVERY_CLAIMED, 1),
    (CrashPoint.CHILD_ENDED, 1),
    (CrashPoint.QUESTION_OPENED, 1),
]
REST = [(point, visit) for point, visits in VISITS.items() for visit in visits]


@pytest.fixture(scope="module")
def undisturbed(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert warm.run("sixty", str(folder / "journal.db"), str(folder)) == 0
    assert len(lines(folder / "work.txt")) == STEPS
    assert len(lines(folder / "world.txt")) == EFFECTS
    return json.loads((folder / "result.json").read_text())


def finished_work(where: str) -> set[str]:
    """Which pieces of work have their result recorded."""

    def work(cursor: Cursor) -> set[str]:
        family = engine_tables.family(cursor, RUN)
        return {f"{row.workflow} {step.name}" for row in family for step in engine_tables.steps(cursor, row.workflow)}

    database = Database(JournalLocation.of(where))
    try:
        return database.read_now(work)
    finally:
        database.close()


def told_facts(where: str) -> list[str]:
    """What the run told of its own accord."""

    async def read() -> list[str]:
        async with Records.open(where, chain_key=KEY) as records:
            events = [recorded.event async for recorded in records.log.read_all(stream_of(RUN))]
        return [event.subject for event in events if isinstance(event, Fact) and event.topic == DID]

    return anyio.run(read)


def kill_and_go_on(warm: Warm, where: str, folder: Path, *kills: tuple[CrashPoint, int]) -> Any:
    """The result of a run killed at each of these, one process after another."""
    marks: list[tuple[set[str], int]] = []
    for point, visit in kills:
        assert warm.run("sixty", where, str(folder), point, str(visit)) == -9, f"never came to {point}"
        done, so_far = finished_work(where), len(lines(folder / "work.txt"))
        marks.append((done, so_far))
    assert warm.run("sixty", where, str(folder)) == 0
    work, world = lines(folder / "work.txt"), lines(folder / "world.txt")
    for done, so_far in marks:
        assert done.isdisjoint(work[so_far:]), "a finished step was done again"
    assert sorted(world) == sorted(set(world)), "an effect happened twice"
    assert len(world) == EFFECTS
    facts = told_facts(where)
    assert (len(facts), len(set(facts))) == (FACTS, FACTS), "a fact was lost or told twice"
    return json.loads((folder / "result.json").read_text())["result"]


def test_every_crash_point_is_visited(undisturbed: dict[str, Any]) -> None:
    visited = undisturbed["visits"]
    assert set(VISITS) | {CrashPoint.RECOVERY_CLAIMED} == set(CrashPoint)
    assert {point: visited[point] >= max(visits) for point, visits in VISITS.items()} == dict.fromkeys(VISITS, True)


@pytest.mark.slow
def test_a_run_killed_at_each_kind_of_point_gives_the_same_result(
    warm: Warm, fresh_sqlite: str, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    assert {point for point, _ in ONE_AFTER_ANOTHER} == set(CrashPoint)
    assert kill_and_go_on(warm, fresh_sqlite, tmp_path, *ONE_AFTER_ANOTHER) == undisturbed["result"]


@pytest.mark.slow
def test_a_run_killed_on_postgres_gives_the_same_result(
    warm: Warm, fresh_postgres: str, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    assert kill_and_go_on(warm, fresh_postgres, tmp_path, *SAMPLE) == undisturbed["result"]


@pytest.mark.slow
@pytest.mark.sampled(len(REST), often=4)
@pytest.mark.parametrize(("point", "visit"), REST)
def test_a_run_killed_anywhere_gives_the_same_result(
    warm: Warm, where: str, tmp_path: Path, undisturbed: dict[str, Any], point: CrashPoint, visit: int
) -> None:
    assert kill_and_go_on(warm, where, tmp_path, (point, visit)) == undisturbed["result"]
