from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
from dirty_equals import IsFloat
from inline_snapshot import snapshot
from marimo._runtime.commands import ExecuteCellsCommand
from marimo._types.ids import CellId_t

from cellwright.kernel.observation import (
    CellFinishedEvent,
    CellOutcome,
    CellProgress,
    CellStartedEvent,
    ConsoleText,
    Observation,
)
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import CellConfig
from cellwright.notebook.edits import ConfigureCell, CreateCell, DeleteCell, EditCell
from cellwright.sandbox.spec import Limits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def by_code(notebook: OpenNotebook, code: str) -> Any:
    return next(cell for cell in notebook.document.cells if cell.code == code)


def statuses(observation: Observation) -> list[str]:
    return [cell.status for cell in observation.cells]


def values(observation: Observation) -> dict[str, str]:
    return {variable.name: variable.text for cell in observation.cells for variable in cell.variables}


async def test_one_call_edits_runs_and_observes(opened: Opener) -> None:
    async with opened("x = 20") as notebook:
        observation = await notebook.apply([CreateCell(code="print('hello')\ny = x + 1\ny * 2")])
        assert observation.is_ok
        assert values(observation) == {"x": "20", "y": "21"}
        created = observation.cells[-1]
        took: Any = IsFloat(gt=0)
        assert created == CellOutcome(
            id=created.id,
            name=created.id,
            status="ok",
            ms=took,
            console="hello\n",
            output=created.output,
            variables=created.variables,
        )
        assert created.output is not None
        assert created.output.text == snapshot("42")


async def test_editing_a_cell_reruns_what_depends_on_it_and_nothing_else(opened: Opener) -> None:
    async with opened("x = 1", "y = x + 1", "z = 100") as notebook:
        await notebook.run("all")
        cell = by_code(notebook, "x = 1")
        observation = await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 5")])
        assert values(observation) == {"x": "5", "y": "6"}


async def test_an_edit_of_a_cell_somebody_changed_meanwhile_is_refused_with_both_texts(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        cell = by_code(notebook, "x = 1")
        await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 2  # by hand")])
        observation = await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 3")])
        assert observation.refused is not None
        assert observation.refused.current is not None
        assert observation.refused.current.code == "x = 2  # by hand"
        assert observation.refused.wanted == "x = 3"
        assert observation.cells == ()
        assert values(await notebook.run("all")) == {"x": "2"}


async def test_iterating_a_call_gives_its_events_and_ends_with_the_observation(opened: Opener) -> None:
    async with opened() as notebook:
        events = [event async for event in notebook.apply([CreateCell(code="print('a')\nx = 1")])]
        assert [type(event) for event in events] == [CellStartedEvent, ConsoleText, CellFinishedEvent, Observation]


async def test_an_error_names_its_type_message_and_line_inside_the_cell(opened: Opener) -> None:
    async with opened("x = 1\n\ny = x / 0", "z = y") as notebook:
        observation = await notebook.run("all")
        assert statuses(observation) == ["failed", "cancelled"]
        error = observation.cells[0].error
        assert error is not None
        assert (error.type, error.message, error.line) == ("ZeroDivisionError", "division by zero", 3)
        assert "y = x / 0" in error.traceback
        assert not observation.is_ok


async def test_broken_syntax_cycles_and_double_definitions_are_reported_like_marimo_does(opened: Opener) -> None:
    async with opened("a = b", "b = a", "c = 1", "c = 2") as notebook:
        observation = await notebook.apply([CreateCell(code="def (")], run="all")
        assert statuses(observation) == ["failed"] * 5
        kinds = [cell.error.type for cell in observation.cells if cell.error]
        assert kinds == snapshot(["cycle", "cycle", "multiple-definition", "multiple-definition", "syntax"])


async def test_disabled_cells_and_what_needs_them_do_not_run_until_enabled(opened: Opener) -> None:
    async with opened("x = 1", "y = x + 1") as notebook:
        cell = by_code(notebook, "x = 1")
        off = [ConfigureCell(cell=cell.id, base_version=cell.version, config=CellConfig(disabled=True))]
        await notebook.apply(off, run="none")
        assert set(statuses(await notebook.run("all"))) == {"disabled"}
        cell = notebook.document.find(cell.id)
        assert cell is not None
        on = [ConfigureCell(cell=cell.id, base_version=cell.version, config=CellConfig(disabled=False))]
        assert values(await notebook.apply(on)) == {"x": "1", "y": "2"}


async def test_an_edit_without_a_run_makes_cells_stale_and_a_later_run_makes_them_current(opened: Opener) -> None:
    async with opened("x = 1", "y = x + 1") as notebook:
        await notebook.run("all")
        cell = by_code(notebook, "x = 1")
        edit = EditCell(cell=cell.id, base_version=cell.version, code="x = 10")
        observation = await notebook.apply([edit], run="none")
        assert observation.cells == ()
        assert set(observation.stale) == {cell.id, by_code(notebook, "y = x + 1").id}
        assert values(await notebook.run("stale")) == {"x": "10", "y": "11"}


async def test_deleting_a_cell_takes_its_variables_and_fails_what_needed_them(opened: Opener) -> None:
    async with opened("x = 1", "y = x + 1") as notebook:
        await notebook.run("all")
        cell = by_code(notebook, "x = 1")
        observation = await notebook.apply([DeleteCell(cell=cell.id, base_version=cell.version)])
        assert statuses(observation) == ["failed"]
        assert observation.cells[0].error is not None
        assert observation.cells[0].error.type == "NameError"


async def test_never_run_ancestors_are_pulled_in(opened: Opener) -> None:
    async with opened("a = 1", "b = 2", "c = a + b") as notebook:
        observation = await notebook.apply([CreateCell(code="d = c * 10")])
        assert values(observation) == {"a": "1", "b": "2", "c": "3", "d": "30"}


async def test_input_is_refused_with_a_clear_message(opened: Opener) -> None:
    async with opened("name = input('who? ')") as notebook:
        error = (await notebook.run("all")).cells[0].error
        assert error is not None
        assert error == snapshot(error)
        assert "input() cannot be answered here" in error.message


async def test_help_and_exit_are_there_as_in_every_interpreter(opened: Opener) -> None:
    async with opened("help(len)", "exit(3)") as notebook:
        observation = await notebook.run("all")
        assert statuses(observation) == ["ok", "failed"]
        assert "Return the number of items in a container." in observation.cells[0].console
        error = observation.cells[1].error
        assert error is not None and error.type == "SystemExit"


async def test_async_cells_run_and_background_tasks_go_on_between_calls(opened: Opener) -> None:
    code = """
import asyncio
seen = []
async def later():
    await asyncio.sleep(0)
    seen.append(1)
task = asyncio.ensure_future(later())
await asyncio.sleep(0)
"""
    async with opened(code.strip()) as notebook:
        assert (await notebook.run("all")).is_ok
        with anyio.fail_after(120):
            while "[1]" not in {variable.text for variable in await notebook.look(["seen"])}:
                pass


@pytest.mark.slow
async def test_sql_cells_run_on_duckdb(opened: Opener) -> None:
    async with opened(
        "import marimo as mo\nimport pandas as pd",
        "df = pd.DataFrame({'a': [1, 2, 3]})",
        "total = mo.sql('SELECT sum(a) AS s FROM df', output=False)",
        "answer = int(total['s'][0])",
        "shown = mo.sql('SELECT a FROM df')",
    ) as notebook:
        observation = await notebook.run("all")
        assert observation.is_ok, observation
        assert values(observation)["answer"] == "6"
        table = observation.cells[-1].output
        assert table is not None
        assert "3 rows" in table.text


@pytest.mark.slow
async def test_plots_come_back_as_rich_output_bounded_text_and_a_small_picture(opened: Opener) -> None:
    async with opened("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2, 3])\nfig") as notebook:
        cell = (await notebook.run("all")).cells[0]
        assert cell.output is not None
        assert len(cell.output.text) < 4_000
        assert cell.output.data
        assert [variable.picture[:4] for variable in cell.variables if variable.picture] == [b"\x89PNG"]


async def test_ui_values_are_set_from_outside_and_dependents_run(opened: Opener) -> None:
    async with opened(
        "import marimo as mo", "slider = mo.ui.slider(0, 10, value=3)", "doubled = slider.value * 2"
    ) as notebook:
        assert values(await notebook.run("all"))["doubled"] == "6"
        assert values(await notebook.set_ui({"slider": 7})) == {"doubled": "14"}
        refused = await notebook.set_ui({"nothing": 1})
        assert refused.problem == snapshot("Not a UI element of this notebook: nothing.")


async def test_state_set_in_one_cell_reruns_the_cells_that_read_it(opened: Opener) -> None:
    async with opened(
        "import marimo as mo", "get, set_ = mo.state(0)", "got = get()", "set_(5)\nonce = True"
    ) as notebook:
        observation = await notebook.run("all")
        assert values(observation)["got"] == "5"


async def test_mo_stop_stops_a_cell_and_its_dependents_without_failing_the_run(opened: Opener) -> None:
    async with opened("import marimo as mo", "mo.stop(True, 'waiting')\nx = 1", "y = x") as notebook:
        observation = await notebook.run("all")
        assert statuses(observation) == ["ok", "stopped", "stopped"]
        assert observation.is_ok


async def test_an_interrupted_cell_says_so_and_the_kernel_lives_on(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        await notebook.run("all")
        call = notebook.apply([CreateCell(code="print('on')\nwhile True:\n    pass")])
        async for event in call:
            if isinstance(event, ConsoleText):
                await notebook.interrupt()
        assert call.observation is not None
        assert statuses(call.observation) == ["interrupted"]
        assert {variable.text for variable in await notebook.look(["x"])} == {"1"}


async def test_a_cell_over_its_deadline_is_stopped_and_told_so(opened: Opener) -> None:
    async with opened("import time\ntime.sleep(60)") as notebook:
        observation = await notebook.apply(run="all", cell_seconds=0.3)
        error = observation.cells[0].error
        assert error is not None
        assert (observation.cells[0].status, error.type) == ("interrupted", "DeadlineReached")
        assert error.message == snapshot("Stopped after 0.3 s, the limit for one cell.")


async def test_what_is_raised_inside_the_block_comes_out_as_it_is(opened: Opener) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with opened("x = 1"):
            raise LookupError("mine")


@pytest.mark.slow
async def test_a_cell_that_ignores_interrupts_is_killed_and_the_notebook_recovers_without_it(opened: Opener) -> None:
    stubborn = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass"
    async with opened("x = 41") as notebook:
        await notebook.run("all")
        observation = await notebook.apply([CreateCell(code=stubborn)], seconds=0.3)
        assert observation.cells[-1].status == "lost"
        assert observation.kernel_end is not None
        again = await notebook.apply([CreateCell(code="y = x + 1")])
        assert values(again)["y"] == "42"


@pytest.mark.slow
async def test_a_detached_call_answers_early_goes_on_and_can_be_awaited_again(opened: Opener) -> None:
    slow = "import time\nprint('started')\ntime.sleep(1.5)\ndone = 'yes'"
    async with opened() as notebook:
        early = await notebook.apply([CreateCell(code=slow)], detach_after=0.5)
        assert early.is_running
        assert statuses(early) == ["running"]
        assert early.cells[0].console == "started\n"
        assert notebook.current is not None
        final = await notebook.current
        assert values(final)["done"] == "'yes'"


@pytest.mark.slow
async def test_a_running_cells_own_progress_bar_is_told(opened: Opener) -> None:
    code = "import time\nfor _i in mo.status.progress_bar(range(4), title='Counting'):\n    time.sleep(0.2)"
    async with opened("import marimo as mo") as notebook:
        events = [event async for event in notebook.apply([CreateCell(code=code)])]
        told = [event for event in events if isinstance(event, CellProgress)]
        assert told
        assert (told[-1].title, told[-1].done, told[-1].total) == ("Counting", 4, 4)


async def test_a_restart_forgets_variables_and_keeps_the_document(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        await notebook.run("all")
        await notebook.restart()
        assert await notebook.look(["x"]) == ()
        assert values(await notebook.run("all")) == {"x": "1"}


async def test_a_kernel_that_dies_is_replaced_and_what_had_run_is_replayed(opened: Opener) -> None:
    async with opened("x = 41") as notebook:
        await notebook.run("all")
        observation = await notebook.apply([CreateCell(code="import os\nos._exit(7)")])
        assert observation.kernel_end is not None
        assert observation.kernel_end.exit_code == 7
        dead = observation.cells[-1]
        assert dead.status == "lost"
        cell = notebook.document.find(dead.id)
        assert cell is not None
        again = await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="y = x + 1")])
        assert values(again)["y"] == "42"


@pytest.mark.slow
async def test_cancelling_the_caller_stops_the_cell(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        with anyio.move_on_after(0.5):
            await notebook.apply([CreateCell(code="import time\ntime.sleep(60)")])
        assert notebook.current is None
        assert (await notebook.run([by_code(notebook, "x = 1").id])).is_ok


async def test_observers_see_what_others_do(opened: Opener) -> None:
    async with opened("x = 1") as notebook, notebook.observe() as events:
        await notebook.run("all")
        seen = [await events.receive() for _ in range(3)]
        assert [type(event) for event in seen] == [CellStartedEvent, CellFinishedEvent, Observation]


async def test_what_child_processes_print_joins_the_console(opened: Opener) -> None:
    async with opened("import subprocess\nsubprocess.run(['echo', 'from a child'])") as notebook:
        assert "from a child\n" in (await notebook.run("all")).cells[0].console


@pytest.mark.slow
async def test_a_flood_of_output_is_bounded_and_counted(opened: Opener) -> None:
    async with opened("for i in range(300_000):\n    print('x' * 20)") as notebook:
        cell = (await notebook.run("all")).cells[0]
        assert cell.status == "ok"
        assert len(cell.console) < 25_000
        assert "more characters were printed and dropped" in cell.console


async def test_kernels_draw_different_random_numbers(opened: Opener) -> None:
    code = "import random, numpy as np\na = random.random()\nb = np.random.rand()\nc = float(b)"
    drawn: set[str] = set()
    for _ in range(2):
        async with opened(code) as notebook:
            found = values(await notebook.run("all"))
            drawn |= {found["a"], found["c"]}
    assert len(drawn) == 4


async def test_blas_gets_the_machines_threads_back(opened: Opener) -> None:
    code = """
import os, numpy, threadpoolctl
n = [p["num_threads"] for p in threadpoolctl.threadpool_info()]
same = set(n) == {len(os.sched_getaffinity(0))}
"""
    async with opened(code.strip()) as notebook:
        assert values(await notebook.run("all"))["same"] == "True"


async def test_the_threads_of_blas_rest_when_a_kernel_starts(opened: Opener) -> None:
    code = """
import os, time
time.sleep(0.3)
def spent(task):
    with open(f"/proc/self/task/{task}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[11])
# In hundredths of a second of a processor: ten, if it looks for work as long as OpenBLAS by itself does.
rested = max((spent(task) for task in os.listdir("/proc/self/task") if int(task) != os.getpid()), default=0) < 5
"""
    async with opened(code.strip()) as notebook:
        assert values(await notebook.run("all"))["rested"] == "True"


async def test_the_notebook_is_saved_with_its_edits(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        await notebook.apply([CreateCell(code="y = 2")])
        assert await notebook.save() is None
        assert "y = 2" in notebook.path.read_text()


async def test_a_summary_for_a_prompt_shows_cells_and_outcomes(opened: Opener) -> None:
    async with opened("x = 1", "y = 1 / 0") as notebook:
        await notebook.run("all")
        text = notebook.summary(budget_tokens=500)
        assert "ZeroDivisionError" in text
        assert "x = 1" in text


async def test_marimos_own_words_travel_unopened_on_a_parallel_branch_of_their_own(opened: Opener) -> None:
    async with opened("x = 1", "y = x + 1") as notebook:
        await notebook.run("all")
        cell = by_code(notebook, "x = 1")
        command = ExecuteCellsCommand(cell_ids=[CellId_t(cell.id)], codes=["x = 41"])
        outcomes: list[str] = []
        names: list[str] = []
        async with notebook.observe() as events, notebook.attach_editor() as editor:
            await editor.send(msgspec.json.encode(command))
            with anyio.fail_after(120):
                while "completed-run" not in names:
                    names.append(msgspec.json.decode(await editor.notifications.receive())["op"])
                while len(outcomes) < 2:
                    event = await events.receive()
                    if isinstance(event, CellFinishedEvent):
                        outcomes += [variable.text for variable in event.outcome.variables]
        assert "cell-op" in names
        assert outcomes == ["41", "42"]
        assert {variable.text for variable in await notebook.look(["y"])} == {"42"}


@pytest.mark.slow
async def test_a_call_interrupted_before_its_kernel_is_ready_stops_once_it_is(opened: Opener) -> None:
    observations: list[Observation] = []
    async with opened() as notebook, anyio.create_task_group() as tasks:
        call = notebook.apply([CreateCell(code="import time\nwhile True:\n    time.sleep(1)")])

        async def carry_out() -> None:
            observations.append(await call)

        tasks.start_soon(carry_out)
        while notebook.current is None:
            await anyio.lowlevel.checkpoint()
        await notebook.interrupt()
    # The interrupt may come before the cell has begun; then it never does.
    assert statuses(observations[0]) in (["interrupted"], ["stale"])


async def test_a_kernel_with_too_little_memory_says_so_at_the_first_call(opened: Opener) -> None:
    # Whether it becomes ready before depends on the Python, and without control groups on when its memory is looked at.
    async with opened(limits=Limits(memory_mb=8)) as notebook:
        observation = await notebook.apply([CreateCell(code="while True:\n    pass")])
    assert observation.kernel_end is not None
    assert "memory" in observation.kernel_end.reason


async def test_a_notebook_closed_as_soon_as_it_is_open_has_nothing_to_keep(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened("x = 1") as notebook:
        pass
    assert [report.refused for report in notebook.kept] == [()]
    assert caplog.records == []
