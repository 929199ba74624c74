"""A person decides which of several tried branches is kept: asked for good, answered at any time, kill -9 or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.journal.questions import OpenQuestion
from cellwright.journal.records import Records
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import EditCell
from cellwright.notebook.files import read
from cellwright.policy.approvals import Person
from cellwright.runs.views import branches
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import open_choices, read_branch_views
from cellwright.tools.alternatives_tool import decided_by_checks
from cellwright.tools.approval.typed_answers import TypedAnswer
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint
from cellwright.tools.notebook.trial_records import BRANCH_CHOICE, NONE, TrialRecord, choices_of
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.tool import Done, Toolset
from tests.agents.forked import Forker
from tests.sampling import some
from tests.tools.call_driver import CallDriver, open_driver
from tests.tools.choosing_process import CANDIDATES, ROWS

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
ADA = Person(name="ada", door="web")
GRACE = Person(name="grace", door="cli")
ASKED = {"candidates": CANDIDATES, "checks": ["average < 3"], "keep": "ask"}


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


async def asked(driver: CallDriver, run: str = "a") -> OpenQuestion:
    """What it asks a person."""
    with anyio.fail_after(120):
        news = driver.journal.log.growth.next()
        while not (pending := await driver.journal.records.questions.pending(run)):
            await news.wait()
            news = driver.journal.log.growth.next()
    return pending[0]


async def states(records: Records, run: str = "a") -> dict[str, tuple[str, str, bool]]:
    """How each lane stands: its state, who decided, and whether it is in the notebook."""
    choices = await open_choices(records, run)
    lanes = [branch_view_json(lane, choices) for lane in (await read_branch_views(records, run)).values()]
    return {lane["purpose"]: (lane["state"], lane["decided_by"], lane["is_kept"]) for lane in lanes}


async def result(driver: CallDriver, run: str = "a") -> Done:
    [came] = await driver.results(run)
    assert isinstance(came, Done), came
    return came


@asynccontextmanager
async def waiting(
    opened: Opener, memory: Path, where: Path
) -> AsyncGenerator[tuple[OpenNotebook, NotebookEditor, CallDriver]]:
    """A run that has tried three ways and waits for a person."""
    async with opened(ROWS) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            await driver.begin("a", ("try_alternatives", ASKED))
            await asked(driver)
            yield notebook, editor, driver


@pytest.mark.slow
async def test_nothing_is_kept_while_a_person_thinks_and_only_what_runs_can_be_accepted(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with waiting(opened, memory, where) as (notebook, editor, driver):
        question = (await asked(driver)).question
        assert (question.topic, question.choices) == (BRANCH_CHOICE, ("median", "mean", NONE))
        assert "- median: passed, checks 2/2, average = 2" in question.text
        assert "- mean: failed, checks 0/1, average = 4.0" in question.text
        assert "- broken: failed, cannot be kept" in question.text
        assert codes(notebook.path) == [ROWS]
        assert editor.timeline.standing == ()
        assert await states(driver.journal.records) == {
            "median": ("waits", "", False),
            "mean": ("waits", "", False),
            "broken": ("not-kept", "", False),
        }
        with pytest.raises(branches.NotWaiting, match="broken does not wait"):
            await branches.accept(driver.inbox, "a", "broken", ADA)
        with pytest.raises(branches.NoSuchBranch) as unknown:
            await branches.accept(driver.inbox, "a", "mode", ADA)
        assert unknown.value.hint == "These wait: median, mean."


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["mean", "median"], 1))
async def test_what_a_person_accepts_is_made_in_the_notebook_even_against_its_checks(
    opened: Opener, memory: Path, where: Path, name: str
) -> None:
    code, average = {
        "median": ("average = sorted(rows)[len(rows) // 2]", 2),
        "mean": ("average = sum(rows) / len(rows)", 4),
    }[name]
    async with waiting(opened, memory, where) as (notebook, editor, driver):
        said = await branches.accept(driver.inbox, "a", name, ADA)
        assert (said.decision, said.is_settled) == ("accepted", True)
        came = await result(driver)
        assert f"The person (ada) accepted {name}. In the notebook:" in came.text
        assert f"| {name} (kept) |" in came.text
        assert isinstance(came.value, dict)
        assert (came.value["kept"], came.value["ok"]) == (name, True)
        assert codes(notebook.path) == [ROWS, code]
        assert (await notebook.values(["average"]))["average"].json == average
        [*_, turn] = editor.timeline.standing
        assert turn is not None
        assert turn.key == "a/c0"
        other = "mean" if name == "median" else "median"
        assert await states(driver.journal.records) == {
            name: ("accepted", "ada", True),
            other: ("dropped", "ada", False),
            "broken": ("not-kept", "", False),
        }
        with pytest.raises(branches.NotWaiting, match=f"{name} was accepted by ada already"):
            await branches.drop(driver.inbox, "a", name, GRACE)


@pytest.mark.slow
async def test_what_is_dropped_one_by_one_leaves_everything_as_it_was(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with waiting(opened, memory, where) as (notebook, editor, driver):
        records, before = driver.journal.records, notebook.path.read_bytes()
        first = await branches.drop(driver.inbox, "a", "mean", GRACE)
        assert (first.is_settled, first.says) == (False, "mean is dropped; median waits still.")
        assert (await states(records))["mean"] == ("dropped", "grace", False)
        assert (await states(records))["median"] == ("waits", "", False)
        assert (await branches.drop(driver.inbox, "a", "median", ADA)).is_settled
        came = await result(driver)
        assert "The person (ada) dropped all of them: nothing was kept" in came.text
        assert await states(records) == {
            "median": ("dropped", "ada", False),
            "mean": ("dropped", "grace", False),
            "broken": ("not-kept", "", False),
        }
        assert notebook.path.read_bytes() == before
        assert (await notebook.values(["rows"]))["rows"].json == [1, 2, 9]
        assert "average" not in [each.name for each in await notebook.look()]
        assert editor.timeline.standing == ()
        with pytest.raises(branches.NotWaiting):
            await branches.drop(driver.inbox, "a", None, ADA)


@pytest.mark.slow
async def test_a_plain_answer_to_the_question_decides_as_well(opened: Opener, memory: Path, where: Path) -> None:
    async with waiting(opened, memory, where) as (notebook, _, driver):
        question = await asked(driver)
        await driver.inbox.answer(question.id, TypedAnswer(words="Median"), GRACE)
        assert "The person (grace) accepted median." in (await result(driver)).text
        assert len(codes(notebook.path)) == 2


@pytest.mark.slow
async def test_what_does_not_fit_any_more_when_it_is_accepted_changes_nothing_and_the_agent_reads_why(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with waiting(opened, memory, where) as (notebook, editor, driver):
        [cell] = notebook.document.cells
        await editor.apply([EditCell(cell=cell.id, base_version=cell.version, code="lines = [1]")], key="other")
        await branches.accept(driver.inbox, "a", "median", ADA)
        came = await result(driver)
        assert "The person (ada) accepted median, but it does not fit the notebook as it is now" in came.text
        assert "NameError" in came.text
        assert isinstance(came.value, dict)
        assert (came.value["kept"], came.value["ok"]) == (None, False)
        assert codes(notebook.path) == ["lines = [1]"]
        assert (await states(driver.journal.records))["median"] == ("accepted", "ada", False)


@pytest.mark.slow
async def test_where_nothing_runs_nobody_is_asked(opened: Opener, memory: Path, where: Path) -> None:
    bad = [{"name": name, "edits": [{"op": "create", "code": f"x = {name}"}]} for name in ("nothing", "nobody")]
    async with opened(ROWS) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            came = await driver.call("try_alternatives", {"candidates": bad, "keep": "ask"}, run="a")
            assert isinstance(came, Done)
            assert "nobody was asked: none of them runs" in came.text
            assert await states(driver.journal.records) == {
                "nothing": ("not-kept", "", False),
                "nobody": ("not-kept", "", False),
            }


@pytest.mark.slow
async def test_where_nobody_can_be_asked_the_best_is_kept(opened: Opener, memory: Path, where: Path) -> None:
    async with opened(ROWS) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        tools = [*decided_by_checks(Toolset(notebook_tools(editor)))]
        async with open_driver(where, tools, project=str(notebook.path.parent)) as driver:
            came = await driver.call("try_alternatives", ASKED, run="a")
            assert isinstance(came, Done)
            assert "Kept: median." in came.text
            assert len(codes(notebook.path)) == 2


def test_candidates_of_one_name_are_told_apart_and_none_of_them_stays_an_answer() -> None:
    def tried(number: int, purpose: str) -> TrialRecord:
        return TrialRecord(branch=f"r/c0.{number}", purpose=purpose, status="passed", waits=True)

    found = choices_of([tried(1, "mean"), tried(2, "mean"), tried(3, NONE)])
    assert found == {"mean": "r/c0.1", "mean (2)": "r/c0.2", f"{NONE} (3)": "r/c0.3"}


# ── kill -9 ──


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "is_made"),
    [("asked", False), pytest.param(EditorPoint.BEGUN, False, marks=pytest.mark.slow), (EditorPoint.SAVED, True)],
)
async def test_a_run_that_is_killed_while_it_waits_or_as_it_accepts_keeps_the_accepted_branch_once(
    opened: Opener,
    write_notebook: Callable[..., Path],
    memory: Path,
    where: Path,
    forker: Forker,
    point: str,
    is_made: bool,
) -> None:
    path = write_notebook(ROWS)
    choosing = forker.of("tests.tools.choosing_process")
    assert await anyio.to_thread.run_sync(choosing.run, str(path), str(memory), str(where), point) == -9
    assert len(codes(path)) == (2 if is_made else 1)
    async with opened(path=path) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        async with open_driver(where, notebook_tools(editor), project=str(path.parent)) as driver:
            if point == "asked":
                assert (await states(driver.journal.records))["median"] == ("waits", "", False)
                await branches.accept(driver.inbox, "a", "median", ADA)
            came: Any = await result(driver)
            assert "The person (ada) accepted median. In the notebook:" in came.text
            assert codes(path) == [ROWS, "average = sorted(rows)[len(rows) // 2]"]
            assert (await notebook.values(["average"]))["average"].json == 2
            assert [turn.key for turn in editor.timeline.revisions] == ["a/c0"]
            assert (await states(driver.journal.records))["median"] == ("accepted", "ada", True)
