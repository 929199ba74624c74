"""The notebook tools, called as an agent calls them: through the guard and the journal, on a real kernel."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest
from inline_snapshot import snapshot

from cellwright.journal.crash import CrashPoint
from cellwright.journal.effects import EffectFound, EffectNotFound
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.files import read
from cellwright.policy.approvals import No
from cellwright.tools.approval.guard import audit_trail
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.reports import cell_text, observation_text
from cellwright.tools.notebook.saved_notebook import EditorPoint
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.tool import Done, Refusal, ToolError, Toolset, result_text
from tests.agents.forked import Forker
from tests.tools.call_driver import CallDriver, open_driver
from tests.tools.guard_driver import ADA

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@asynccontextmanager
async def at_work(
    opened: Opener, where: Path, *cells: str, rules: str = ""
) -> AsyncGenerator[tuple[OpenNotebook, CallDriver, NotebookEditor]]:
    async with opened(*cells) as notebook:
        editor = await NotebookEditor.open(notebook, where.parent / "desk.json")
        project = str(notebook.path.parent)
        async with open_driver(where, notebook_tools(editor), rules=rules, project=project) as driver:
            yield notebook, driver, editor


def codes(notebook: OpenNotebook) -> list[str]:
    return [cell.code for cell in read(notebook.path).document.cells]


async def test_of_a_test_that_fails_its_line_is_told(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 20") as (_, driver, _):
        test = {"op": "create", "code": "def test_x():\n    assert x > 1\n    assert x == 21, f'it is {x}'"}
        done = await driver.call("apply", {"edits": [test]})
        assert isinstance(done, Done)
        assert "test_x failed: `assert x == 21, f'it is {x}'`: AssertionError: it is 20" in done.text


async def test_apply_edits_runs_saves_and_tells_in_one_call(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 20") as (notebook, driver, _):
        edits = [{"op": "create", "code": "print('hi')\ny = x + 1\ny * 2", "name": "double"}]
        done = await driver.call("apply", {"edits": edits})
        assert isinstance(done, Done)
        created = notebook.document.cells[-1].id
        first = notebook.document.cells[0].id
        text = "\n".join(line.rsplit(" ", 2)[0] if line.endswith(" ms") else line for line in done.text.splitlines())
        assert text.replace(created, "NEW").replace(first, "OLD") == snapshot(
            """\
[OLD v1] ok
  x: int = 20
[double (NEW) v1] ok
  printed: hi
  output = 42
  y: int = 21\
"""
        )
        assert done.is_untrusted
        assert codes(notebook) == ["x = 20", "print('hi')\ny = x + 1\ny * 2"]
        trail = audit_trail(await driver.journal.log.audit())
        assert [(line.entry.kind, line.entry.result) for line in trail] == [
            ("edit-cells", "done"),
            ("run-code", "done"),
        ]


async def test_a_failed_cell_is_told_first_with_its_line(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 0") as (_, driver, __):
        edits = [{"op": "create", "code": "ok = 1"}, {"op": "create", "code": "a = 1\nb = a / x"}]
        done = await driver.call("apply", {"edits": edits})
        assert isinstance(done, Done)
        assert "ZeroDivisionError (line 2): division by zero" in "\n".join(done.text.splitlines()[:2])
        value: Any = done.value
        assert value["ok"] is False
        assert {cell["status"] for cell in value["cells"]} == {"ok", "failed"}


async def test_a_stale_edit_comes_back_with_the_text_that_is_there(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (notebook, driver, _):
        cell = notebook.document.cells[0].id
        await driver.call(
            "apply", {"edits": [{"op": "edit", "cell": cell, "base_version": 1, "code": "x = 2"}]}, run="a"
        )
        late = {"edits": [{"op": "edit", "cell": cell, "base_version": 1, "code": "x = 3"}]}
        refused = await driver.call("apply", late, run="b")
        assert isinstance(refused, ToolError)
        assert refused.kind == "conflict"
        assert "Now (version 2):\nx = 2" in refused.message
        assert codes(notebook) == ["x = 2"]


async def test_malformed_edits_say_which_and_why(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (_, driver, __):
        calls: list[Any] = [
            {"edits": []},
            {"edits": [{"op": "edit", "cell": "nowhere", "base_version": 1, "code": ""}]},
            {"edits": [{"op": "paint"}]},
            {"edits": [{"op": "create"}]},
            "{]",
        ]
        await driver.begin("r", *(("apply", arguments) for arguments in calls))
        results = await driver.results("r")
        assert all(isinstance(result, ToolError) and result.kind == "bad-arguments" for result in results)
        assert "no cell 'nowhere'" in result_text(results[1])
        assert "Edit 1, field 'code'" in result_text(results[3])


async def test_a_persons_edit_in_between_is_kept_and_the_agent_told(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1", "y = x") as (notebook, driver, _):
        path = notebook.path
        path.write_text(path.read_text().replace("x = 1", "x = 10"))
        done = await driver.call("apply", {"edits": [{"op": "create", "code": "z = x"}]})
        assert isinstance(done, Done)
        assert done.text.startswith("A person changed the notebook in its file meanwhile; it was kept:")
        assert "+x = 10" in done.text
        assert codes(notebook) == ["x = 10", "y = x", "z = x"]


async def test_looking(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = [1, 2]", "y = x", "import os") as (notebook, driver, editor):
        await editor.run("all")
        cell = notebook.document.cells[1].id
        looks = [
            {"what": "summary"},
            {"what": "cell", "name": cell},
            {"what": "graph", "name": cell},
            {"what": "variable", "name": "x"},
            {"what": "search", "name": "IMPORT"},
            {"what": "variable", "name": "nope"},
            {"what": "cell", "name": "nope"},
        ]
        await driver.begin("r", *(("look", look) for look in looks))
        summary, whole, graph, variable, search, missing, no_cell = await driver.results("r")
        assert "y = x" in result_text(summary)
        assert f"{cell}, version 1:\n```python\ny = x\n```" in result_text(whole)
        assert f"defines y; needs {notebook.document.cells[0].id}; feeds nothing" in result_text(graph)
        assert result_text(variable) == "x: list\n[1, 2]"
        assert result_text(search).endswith(":1: import os")
        assert "There is: " in result_text(missing)
        assert isinstance(no_cell, ToolError)


@pytest.mark.slow
async def test_undo_takes_back_the_last_apply(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (notebook, driver, _):
        before = notebook.path.read_bytes()
        await driver.call("apply", {"edits": [{"op": "create", "code": "y = 1"}]}, run="a")
        await driver.call("undo", run="b")
        assert notebook.path.read_bytes() == before
        nothing = await driver.call("undo", run="c")
        assert nothing == ToolError(kind="not-found", message="There is nothing left to undo.")


@pytest.mark.slow
async def test_run_runs_what_is_named(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1", "y = 2") as (notebook, driver, _):
        done = await driver.call("run", {"cells": [notebook.document.cells[1].id]}, run="a")
        assert isinstance(done, Done)
        value: Any = done.value
        assert [cell["variables"] for cell in value["cells"]] == [{"y": "2"}]
        stale = await driver.call("run", {"cells": "stale"}, run="b")
        assert "x: int = 1" in result_text(stale)


async def test_a_rule_against_running_code_holds_for_apply_too(opened: Opener, where: Path) -> None:
    rules = '[[rule]]\naction = "run-code"\nthen = "deny"\nreason = "Only edits."\n'
    async with at_work(opened, where, "x = 1", rules=rules) as (notebook, driver, _):
        refused = await driver.call("apply", {"edits": [{"op": "create", "code": "y = 1"}]}, run="a")
        assert isinstance(refused, Refusal)
        assert codes(notebook) == ["x = 1"]
        edited = {"edits": [{"op": "create", "code": "y = 1"}], "run": "none"}
        assert isinstance(await driver.call("apply", edited, run="b"), Done)
        assert codes(notebook) == ["x = 1", "y = 1"]


async def test_what_a_person_refuses_is_not_done(opened: Opener, where: Path) -> None:
    rules = '[[rule]]\naction = "edit-cells"\nthen = "ask"\n'
    async with at_work(opened, where, "x = 1", rules=rules) as (notebook, driver, _):
        await driver.begin("r", ("apply", {"edits": [{"op": "create", "code": "y = 1"}]}))
        question = (await driver.asked()).question
        assert "+y = 1" in question.describe()
        await driver.inbox.answer(question.id, No(feedback="Not y."), ADA, question.fingerprint)
        [refused] = await driver.results("r")
        assert "Not y." in result_text(refused)
        assert codes(notebook) == ["x = 1"]


@pytest.mark.slow
async def test_an_endless_cell_is_stopped_at_the_deadline(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (_, driver, __):
        edits = [{"op": "create", "code": "while True: pass"}]
        done = await driver.call("apply", {"edits": edits, "seconds": 0.5})
        assert "DeadlineReached: Stopped after 0.5 s" in result_text(done)


async def test_a_person_is_asked_and_answers(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (_, driver, __):
        await driver.begin("r", ("ask_person", {"question": "Which year?", "options": ["2023", "2024"]}))
        questions = driver.journal.records.questions
        with anyio.fail_after(120):
            news = driver.journal.log.growth.next()
            while not (pending := await questions.pending()):
                await news.wait()
                news = driver.journal.log.growth.next()
        assert (pending[0].question.topic, pending[0].question.choices) == ("agent-question", ("2023", "2024"))
        await questions.answer(pending[0].id, "2024", by="ada")
        assert await driver.results("r") == [Done(text="The person answered: 2024", value="2024")]


async def test_finish_ends_the_work(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (_, driver, __):
        done = await driver.call("finish", {"summary": "Counted.", "answer": "3"})
        assert done == Done(text="3", value={"summary": "Counted.", "answer": "3"}, ends=True)


async def test_whether_an_apply_happened_is_found_in_the_notebook(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, "x = 1") as (_, driver, editor):
        await driver.call("apply", {"edits": [{"op": "create", "code": "y = x"}]}, run="r")
        apply = Toolset(notebook_tools(editor))["apply"]

        known: Any = SimpleNamespace(key="r/c0")
        found: Any = await apply.find(None, known)
        assert isinstance(found, EffectFound)
        assert "y: int = 1" in str(found.result)

        unheard: Any = SimpleNamespace(key="r/c9")
        assert await apply.find(None, unheard) == EffectNotFound()


# ── killed ──


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    [
        pytest.param(EditorPoint.BEGUN, marks=pytest.mark.slow),
        EditorPoint.RAN,
        EditorPoint.SAVED,
        pytest.param(EditorPoint.REMEMBERED, marks=pytest.mark.slow),
        pytest.param(CrashPoint.EFFECT_HAPPENED, marks=pytest.mark.slow),
    ],
)
async def test_an_agent_killed_inside_apply_goes_on_with_each_edit_made_once(
    where: Path, write_notebook: Callable[..., Path], forker: Forker, point: EditorPoint | CrashPoint
) -> None:
    path = write_notebook("x = 1")
    run = partial(anyio.to_thread.run_sync, forker.of("tests.tools.apply_process").run, str(where), str(path))
    assert await run(str(point)) == -9
    assert await run("-") == 0
    assert [cell.code for cell in read(path).document.cells] == ["x = 1", "y = x + 1", "z = y * 10"]
    first, second = (await anyio.Path(where.parent / "results.txt").read_text()).split("\n---\n")
    assert "y: int = 2" in first
    assert "z: int = 20" in second


async def test_an_observation_shows_nothing_twice_and_of_what_is_long_both_ends(opened: Opener) -> None:
    first = "import pandas as pd\ntable = pd.DataFrame({'a': range(30), 'b': range(30)})\ntable"
    second = "wide = table.assign(c=table['a'] * 2)\nprint('begin\\n' + 'line\\n' * 2_000 + 'end')"
    async with opened(first, second) as notebook:
        told = observation_text(await notebook.run("all"), notebook)
        assert told.count("a: int64, 0 … 29") == 1
        assert "  table: pandas.DataFrame, the output\n" in told
        assert "    c: int64, 0 … 58\n" in told
        assert "    (a, b: as in table)" in told
        printed = told.partition("printed:")[2]
        assert printed.strip().startswith("begin")
        assert re.search(r"… \(\d,\d\d\d characters left out\) …\n(    line\n)+    end\n", printed)
        [_, cell] = notebook.document.cells
        whole = cell_text(notebook.outcomes[cell.id], notebook, tokens=20_000)
        assert "left out" not in whole
        # The cells as a line each, for one who has seen them.
        assert "```" not in notebook.summary(is_brief=True)
        assert "table = pd.DataFrame" not in notebook.summary(is_brief=True)


async def test_a_table_that_is_shown_whole_is_not_told_again_by_its_columns(opened: Opener) -> None:
    rows = "[{'name': f'number {n} of some that are told', 'n': n} for n in range(20)]"
    async with opened(f"import pandas as pd\ntable = pd.DataFrame({rows})\ntable") as notebook:
        told = observation_text(await notebook.run("all"), notebook)
    assert told.count("number 1 of some") == 1
    assert "name: str | n: int64\n" in told
    assert told.endswith("  table: pandas.DataFrame, the output")
