"""States between the cells of a turn are kept, the run is the same run, and one can go back before each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

import anyio
import pytest

from cellwright.ids import CellId
from cellwright.kernel.branches.checkpoints import Checkpoint, CheckpointBudget
from cellwright.kernel.observation import CellFinishedEvent, CellStartedEvent, ConsoleText, Event, Observation
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import ConfigureCell, DeleteCell, Edit, EditCell
from tests.sampling import every

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
MakeEdits = Callable[[OpenNotebook], list[Edit]]

CHAIN = (
    "from pathlib import Path\na = [1]",
    "b = a + [2]\na.append(9)\nPath('b.txt').write_text('b')",
    "c = b + [3]\nb.append(8)\nPath('c.txt').write_text('c')",
    "d = c + [4]\nc.append(7)",
    "e = d + [5]",
)


@dataclass(frozen=True, kw_only=True)
class Case:
    cells: Sequence[str]
    edits: MakeEdits = lambda _: []
    run: CellSelection = "affected"


def cell(notebook: OpenNotebook, number: int) -> CellId:
    return notebook.document.cells[number - 1].id


def edit(notebook: OpenNotebook, number: int, code: str) -> Edit:
    return EditCell(cell=cell(notebook, number), code=code, base_version=notebook.document.cells[number - 1].version)


def deletion(notebook: OpenNotebook, number: int) -> Edit:
    return DeleteCell(cell=cell(notebook, number), base_version=notebook.document.cells[number - 1].version)


def switch(notebook: OpenNotebook, number: int, *, disabled: bool) -> Edit:
    known = notebook.document.cells[number - 1]
    return ConfigureCell(cell=known.id, config=replace(known.config, disabled=disabled), base_version=known.version)


STATES = (
    "import marimo as mo\nget, set_it = mo.state(0)",
    "first = get()",
    "set_it(5)\nset_at = 1",
    "last = get() + set_at",
)
CASES = {
    "a chain": Case(cells=CHAIN, edits=lambda n: [edit(n, 1, "from pathlib import Path\na = [100]")]),
    "a failure in the middle": Case(
        cells=(*CHAIN, "aside = len(a)", "after = aside + 1"), edits=lambda n: [edit(n, 2, "b = a + [2]\n1 / 0")]
    ),
    "a failure that is mended": Case(
        cells=("x = 1", "y = x / 0", "z = y", "w = x"), edits=lambda n: [edit(n, 2, "y = x / 2")]
    ),
    "mo.stop": Case(
        cells=("import marimo as mo\nx = 1", "y = x\nmo.stop(x > 1)", "z = y", "w = x + 1"),
        edits=lambda n: [edit(n, 1, "import marimo as mo\nx = 2")],
    ),
    "a cell switched off": Case(
        cells=("x = 1", "y = x", "z = y", "w = x"), edits=lambda n: [switch(n, 2, disabled=True), edit(n, 1, "x = 2")]
    ),
    "a deletion": Case(cells=("x = 1", "y = 2", "z = x + y", "w = z"), edits=lambda n: [deletion(n, 2)]),
    "a rename": Case(
        cells=("x = 1", "y = x", "z = x + y"), edits=lambda n: [edit(n, 1, "q = 1"), edit(n, 2, "y = q + 1")]
    ),
    "a diamond": Case(
        cells=("top = 1", "left = top + 1", "right = top + 2", "bottom = left * right", "print(bottom)"),
        edits=lambda n: [edit(n, 1, "top = 10")],
    ),
    "a cycle": Case(
        cells=("x = 1", "y = x", "z = y", "other = 1", "more = other"),
        edits=lambda n: [edit(n, 1, "x = z"), edit(n, 4, "other = 2")],
    ),
    "a name defined twice": Case(
        cells=("x = 1", "y = x", "z = 1", "w = z"), edits=lambda n: [edit(n, 2, "x = 2"), edit(n, 3, "z = 3")]
    ),
    "broken syntax": Case(
        cells=("x = 1", "y = x", "z = x"), edits=lambda n: [edit(n, 2, "y = ("), edit(n, 1, "x = 2")]
    ),
    "a state that is set": Case(cells=STATES, run="all"),
    "a state that loops": Case(
        cells=(
            "import marimo as mo\nget, set_it = mo.state(0, allow_self_loops=True)",
            "now = get()\nif now < 4:\n    set_it(now + 1)",
            "shown = get() * 10",
        ),
        run="all",
    ),
    "awaiting cells": Case(
        cells=("import asyncio\nx = 1", "await asyncio.sleep(0)\ny = x", "await asyncio.sleep(0)\nz = y"),
        edits=lambda n: [edit(n, 1, "import asyncio\nx = 2")],
    ),
    "elements and outputs": Case(
        cells=("import marimo as mo\ns = mo.ui.slider(1, 9)\ns", "mo.md(f'{s.value}')", "t = s.value"),
        run="all",
    ),
    "only what is named": Case(cells=CHAIN, run=[]),
    "nothing runs": Case(cells=CHAIN, edits=lambda n: [edit(n, 1, "from pathlib import Path\na = [3]")], run="none"),
    "imports": Case(
        cells=("import json", "import math", "x = math.pi", "y = json.dumps(x)"),
        edits=lambda n: [edit(n, 2, "import math\nimport cmath")],
    ),
}  # fmt: skip


def seen(observation: Observation) -> object:
    """All of it but the times."""
    return replace(observation, ms=0.0, cells=tuple(replace(outcome, ms=0.0) for outcome in observation.cells))


def told(events: Sequence[Event]) -> list[object]:
    kinds = (CellStartedEvent, CellFinishedEvent, ConsoleText)
    return [
        (type(event).__name__, event.outcome.id if isinstance(event, CellFinishedEvent) else event.cell)
        for event in events
        if isinstance(event, kinds)
    ]


async def carry_out(notebook: OpenNotebook, case: Case, turn: str) -> list[object]:
    """What the call tells, and what is there afterwards."""
    first = await notebook.run("all")
    if turn:
        assert isinstance(await notebook.checkpoints.take(turn), Checkpoint)
    what: CellSelection = [cell(notebook, 2), cell(notebook, 4)] if case.run == [] else case.run
    events = [event async for event in notebook.apply(case.edits(notebook), run=what, revision=turn)]
    assert isinstance(events[-1], Observation)
    again = await notebook.run("stale")
    names = sorted(variable.name for variable in await notebook.look())
    values = await notebook.values([name for name in names if name.islower()])
    known = {outcome.id: outcome.status for outcome in notebook.outcomes.values()}
    return [seen(first), told(events), seen(events[-1]), seen(again), names, str(values), known]


def eager(notebook: OpenNotebook) -> None:
    """Every cell is worth a checkpoint."""
    notebook.checkpoints.budget = CheckpointBudget(apart_ms=0)


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", every(CASES, 3))
async def test_a_revision_in_pauses_is_the_one_it_would_have_been_without(name: str, opened: Opener) -> None:
    case = CASES[name]
    async with opened(*case.cells) as plain:
        expected = await carry_out(plain, case, "")
    async with opened(*case.cells) as notebook:
        eager(notebook)
        assert await carry_out(notebook, case, "turn") == expected


async def state_of(notebook: OpenNotebook) -> tuple[dict[str, object], list[str]]:
    """The variables there are and the files that were made."""
    values = {name: value.json for name, value in (await notebook.values([*"abcde"])).items()}
    return values, sorted(change.path for change in await notebook.changed_files())


async def run_in_turn(notebook: OpenNotebook, turn: str = "turn") -> Observation:
    assert isinstance(await notebook.checkpoints.take(turn), Checkpoint)
    return await notebook.run("all", revision=turn)


@pytest.mark.slow
@pytest.mark.parametrize("apart_ms", [0, 60_000], ids=["kept", "run again"])
async def test_before_the_third_of_five_cells_all_is_as_it_was_then(apart_ms: float, opened: Opener) -> None:
    async with opened(*CHAIN) as notebook:
        notebook.checkpoints.budget = CheckpointBudget(apart_ms=apart_ms)
        assert (await run_in_turn(notebook)).is_ok
        assert notebook.checkpoints.kept_cells == tuple(each.id for each in notebook.document.cells)
        travelled = await notebook.checkpoints.travel_before(cell(notebook, 3))
        assert travelled is not None
        assert list(travelled.again) == ([] if apart_ms == 0 else [cell(notebook, 1), cell(notebook, 2)])
        assert [*notebook.outcomes] == [cell(notebook, 1), cell(notebook, 2)]
        assert await state_of(notebook) == ({"a": [1, 9], "b": [1, 2]}, ["b.txt"])
        assert [outcome.id for outcome in (await notebook.run("stale")).cells] == [
            cell(notebook, number) for number in (3, 4, 5)
        ]


@pytest.mark.slow
async def test_before_a_revisions_first_cell_its_edits_are_made_and_have_not_run(opened: Opener) -> None:
    async with opened(*CHAIN[:3]) as notebook:
        eager(notebook)
        await notebook.run("all")
        assert isinstance(await notebook.checkpoints.take("turn"), Checkpoint)
        edits = [edit(notebook, 2, "b = a + [77]\nPath('late.txt').touch()"), deletion(notebook, 3)]
        assert (await notebook.apply(edits, revision="turn")).is_ok
        assert await notebook.checkpoints.travel_before(cell(notebook, 2)) is not None
        assert [each.code for each in notebook.document.cells][1:] == ["b = a + [77]\nPath('late.txt').touch()"]
        assert [*notebook.outcomes] == [cell(notebook, 1)]
        assert sorted(change.path for change in await notebook.changed_files()) == ["b.txt", "c.txt"]
        [outcome] = (await notebook.run("stale")).cells
        assert outcome.variables[0].text == "[1, 9, 77]"


@pytest.mark.slow
async def test_a_revision_is_undone_and_redone_as_one_however_many_states_it_kept(opened: Opener) -> None:
    async with opened(*CHAIN) as notebook:
        eager(notebook)
        await run_in_turn(notebook, "first")
        after_first = await state_of(notebook)
        await run_in_turn(notebook, "second")
        after_second = await state_of(notebook)
        undone = await notebook.checkpoints.undo()
        assert undone is not None
        assert (undone.label, undone.is_between) == ("second", False)
        assert await state_of(notebook) == after_first
        assert await notebook.checkpoints.redo() is not None
        assert await state_of(notebook) == after_second
        assert await notebook.checkpoints.redo() is None
        assert [(await notebook.checkpoints.undo()) is not None for _ in range(3)] == [True, True, False]


async def test_a_journey_is_undone_like_a_revision_and_what_is_kept_stays_kept(opened: Opener) -> None:
    async with opened(*CHAIN) as notebook:
        eager(notebook)
        await run_in_turn(notebook)
        after = await state_of(notebook)
        kept = notebook.checkpoints.kept_cells
        for number in (4, 2, 5):
            assert await notebook.checkpoints.travel_before(cell(notebook, number), f"to {number}") is not None
            assert notebook.checkpoints.kept_cells == kept
        for number in (5, 2, 4):
            undone = await notebook.checkpoints.undo()
            assert undone is not None
            assert undone.label == f"to {number}"
        assert await state_of(notebook) == after


@pytest.mark.slow
async def test_states_between_cells_are_dropped_oldest_first_and_leave_room_for_revisions(opened: Opener) -> None:
    async with opened("x0 = 0", *(f"x{number} = x{number - 1}" for number in range(1, 7))) as notebook:
        notebook.checkpoints.budget = CheckpointBudget(apart_ms=0, cells=3, number=5)
        for turn in ("first", "second", "third"):
            await run_in_turn(notebook, turn)
        kept = notebook.checkpoints.kept
        assert [(each.label, each.is_between) for each in kept] == [
            ("second", False), ("third", False), ("third", True), ("third", True), ("third", True),
        ]  # fmt: skip
        assert [each.cell for each in kept[2:]] == [cell(notebook, number) for number in (5, 6, 7)]


@pytest.mark.slow
async def test_what_holds_most_memory_is_dropped_before_what_is_older(opened: Opener) -> None:
    cells = (
        "import numpy as np\nbig = np.ones(1 << 22)",
        "big[:] = 2\none = big[0]",
        "big[:] = one + 1\ntwo = big[0]",
        "big[0] = two",
    )
    async with opened(*cells) as notebook:
        notebook.checkpoints.budget = CheckpointBudget(apart_ms=0, memory_mb=60)
        await run_in_turn(notebook)
        assert isinstance(await notebook.checkpoints.take("next"), Checkpoint)
        # Before the first cell there was nothing of it; the two states since hold 32 MB each that nobody else has.
        kept = [each.cell for each in notebook.checkpoints.kept]
        assert kept[0] == cell(notebook, 1)
        assert cell(notebook, 2) not in kept
        assert kept[1:] == [cell(notebook, 3), cell(notebook, 4), None]


async def test_a_revision_of_one_cell_has_no_pause(opened: Opener) -> None:
    async with opened("x = 1", "y = x") as notebook:
        eager(notebook)
        await notebook.run("all")
        assert isinstance(await notebook.checkpoints.take("turn"), Checkpoint)
        await notebook.apply([edit(notebook, 2, "y = x + 1")], revision="turn")
        [only] = notebook.checkpoints.kept
        assert (only.is_between, only.ran) == (False, [cell(notebook, 2)])


async def test_what_cannot_be_forked_is_run_all_the_same(opened: Opener) -> None:
    thread = "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()"
    async with opened("x = 1", f"{thread}\ny = x", "z = y", "w = z", "stop.set()\nthread.join()\ndone = w") as notebook:
        eager(notebook)
        assert (await run_in_turn(notebook)).is_ok
        assert [each.cell for each in notebook.checkpoints.kept] == [cell(notebook, 1), cell(notebook, 2)]
        assert notebook.checkpoints.kept[-1].ran == [cell(notebook, number) for number in (2, 3, 4, 5)]


async def test_a_kernel_killed_in_the_middle_is_lost_as_ever_and_states_before_it_go_with_their_cage(
    opened: Opener,
) -> None:
    async with opened(
        "x = 1", "y = x", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nz = y", "w = z"
    ) as notebook:
        eager(notebook)
        lost = await run_in_turn(notebook)
        assert lost.kernel_end is not None
        assert [outcome.status for outcome in lost.cells] == ["ok", "ok", "lost"]
        again = await notebook.apply([edit(notebook, 3, "z = y")])
        assert again.is_ok
        assert [outcome.status for outcome in notebook.outcomes.values()] == ["ok"] * 4


async def test_an_interrupt_between_cells_stops_the_revision_there(opened: Opener) -> None:
    cells = ("import time\nx = 1", "y = x", *(f"time.sleep(0.01)\nz{number} = y" for number in range(6)))
    async with opened(*cells) as notebook:
        eager(notebook)
        assert isinstance(await notebook.checkpoints.take("turn"), Checkpoint)
        observation: Observation | None = None
        call = notebook.run("all", revision="turn")
        async with anyio.create_task_group() as tasks:
            async for event in call:
                if isinstance(event, CellFinishedEvent) and event.outcome.id == cell(notebook, 3):
                    # The kernel waits before the next cell meanwhile, or has just begun it.
                    tasks.start_soon(notebook.interrupt)
                observation = event if isinstance(event, Observation) else observation
        assert observation is not None
        statuses = [outcome.status for outcome in observation.cells]
        assert statuses[:3] == ["ok"] * 3
        assert statuses[-1] == "interrupted"
        assert {*statuses} == {"ok", "interrupted"}
        assert (await notebook.run("stale")).is_ok
