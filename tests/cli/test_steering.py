"""A word to a run from another terminal: pause, go on, another goal, another plan, yes and no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from cellwright.cli.runs.steering import TypedEdit, read_edit
from cellwright.errors import UserError
from cellwright.journal.journal import Journal
from cellwright.runs.events import NewGoal, PlanChanged
from cellwright.runs.execute.steering_commands import read_commands
from cellwright.runs.plan.plan import ChangeTask, DropTask, HandBackTask, TakeTask
from tests.cli.in_process import Said, run_here
from tests.cli.told_runs import has_ended, is_asking, open_told, started


async def cellwright(home: Path, *words: str, code: int = 0, database: bool = True) -> Said:
    def run() -> Said:
        return run_here(home, *words, *(["--database", str(home / "journal.db")] if database else []), code=code)

    return await anyio.to_thread.run_sync(run)


async def as_json(home: Path, *words: str, code: int = 0) -> Any:
    return json.loads((await cellwright(home, *words, "--json", code=code)).stdout)


async def is_planned(journal: Journal, run: str) -> None:
    """Until it has told its plan and works."""
    with anyio.fail_after(120):
        while True:
            news = journal.log.growth.next()
            told = [recorded.event async for recorded in journal.log.read_all(f"run:{run}")]
            if any(getattr(event, "name", "") == "work" for event in told):
                return
            await news.wait()


async def test_a_run_is_paused_and_goes_on_from_another_terminal(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "work")
        await is_planned(journal, "r")
        assert "pauses before its next step" in (await cellwright(tmp_path, "runs", "pause", "r")).stderr
        await is_asking(journal, "r")
        assert (await as_json(tmp_path, "runs", "list"))["runs"][0]["status"] == "paused"
        watched = await cellwright(tmp_path, "runs", "watch", "r", code=4)
        assert "cellwright runs resume r" in watched.stderr
        assert (await as_json(tmp_path, "runs", "resume", "r"))["resumed"]
        await has_ended(journal, "r")
        for words in (["pause", "r"], ["resume", "r"], ["goal", "r", "Other."], ["plan", "r", "--drop", "compare"]):
            over = await cellwright(tmp_path, "runs", *words, code=2)
            assert "is done already" in over.stderr
            assert "hint:" in over.stderr


@pytest.mark.slow
async def test_a_run_at_work_gets_another_goal_and_another_plan(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "ask me")
        await is_asking(journal, "r")
        assert (await as_json(tmp_path, "runs", "goal", "r", "Only 2024."))["goal"] == "Only 2024."
        added = await as_json(tmp_path, "runs", "plan", "r", "--add", '{"id": "plot", "title": "Plot it"}')
        assert [task["id"] for task in added["plan"]["tasks"]] == ["read-sales", "compare", "plot"]
        await cellwright(tmp_path, "runs", "plan", "r", "--change", "compare", "--title", "Compare the years")
        dropped = await cellwright(tmp_path, "runs", "plan", "r", "--drop", "compare")
        assert "– compare" in dropped.stdout
        heard = await read_commands(journal.log.read_all, "r", 0)
        told = [
            order.words if isinstance(order, NewGoal) else order.edit.op
            for order in heard.orders
            if isinstance(order, NewGoal | PlanChanged)
        ]
        assert told == ["Only 2024.", "add", "change", "drop"]
        assert isinstance(heard.orders[2], PlanChanged)


async def test_a_plan_is_shown_without_changing_it(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r")
        await has_ended(journal, "r")
        shown = await as_json(tmp_path, "runs", "plan", "last")
        assert (shown["run"], shown["changed"]) == ("r", False)
        assert "Compare the quarters" in (await cellwright(tmp_path, "runs", "plan", "r")).stdout


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--add", "{"], "takes JSON"),
        (["--add", '{"title": "x"}'], "id"),
        (["--add", '{"id": "compare", "title": "x"}'], "There is a task 'compare'"),
        (["--drop", "nope"], "No task 'nope'"),
        (["--drop", "compare", "--change", "compare"], "One change at a time"),
        (["--title", "x"], "--change"),
        (["--change", "compare"], "Nothing to change"),
        (["--change", "read-sales", "--todo", "x"], "is done already"),
        (["--take", "read-sales"], "is done already"),
        (["--done", "compare"], "Nobody has taken the task 'compare'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_a_change_that_cannot_be_made_is_said(tmp_path: Path, words: list[str], says: str) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "ask me")
        await is_asking(journal, "r")
        said = await cellwright(tmp_path, "runs", "plan", "r", *words, code=2)
        assert says in said.stderr
        assert (await read_commands(journal.log.read_all, "r", 0)).orders == ()


def test_what_was_typed_becomes_one_change() -> None:
    assert read_edit(TypedEdit()) is None
    assert read_edit(TypedEdit(drop="a")) == DropTask(task="a")
    assert read_edit(TypedEdit(change="a", todo="b")) == ChangeTask(task="a", todo="b")
    assert read_edit(TypedEdit(take="a")) == TakeTask(task="a")
    assert read_edit(TypedEdit(done="a", words="By hand.")) == HandBackTask(task="a", is_done=True, words="By hand.")
    assert read_edit(TypedEdit(hand_back="a")) == HandBackTask(task="a", is_done=False)
    with pytest.raises(UserError, match="One change"):
        read_edit(TypedEdit(add="{}", drop="a"))
    with pytest.raises(UserError, match="--words"):
        read_edit(TypedEdit(take="a", words="Mine."))


@pytest.mark.slow
async def test_an_approval_is_shown_and_answered_with_what_was_shown(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "approve it")
        number = await is_asking(journal, "r")
        shown = (await cellwright(tmp_path, "runs", "approve", "r", code=4)).stderr
        assert "Connect to api.example.com port 443 for exchange rates" in shown
        [question] = (await as_json(tmp_path, "runs", "approve", "r", code=4))["questions"]
        assert question["id"] == number
        unseen = await cellwright(tmp_path, "runs", "approve", "r", "--yes", code=2)
        assert "Nobody is at this terminal" in unseen.stderr
        [wrong] = (await as_json(tmp_path, "runs", "approve", "r", "--yes", "--fingerprint", "0" * 64, code=3))[
            "answers"
        ]
        assert wrong["refused"] == "not-what-was-shown"
        words = ["--yes", "--reach", "run", "--fingerprint", question["fingerprint"]]
        [said] = (await as_json(tmp_path, "runs", "approve", "r", number, *words))["answers"]
        assert (said["says"], said["reach"]) == ("yes", "run")
        await has_ended(journal, "r")
        assert "asks nothing now" in (await cellwright(tmp_path, "runs", "approve", "r")).stderr
        assert "asks for no approval" in (await cellwright(tmp_path, "runs", "approve", "r", "--no", code=2)).stderr


async def test_a_no_refuses_the_run(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "approve it")
        await is_asking(journal, "r")
        [question] = (await as_json(tmp_path, "runs", "approve", "r", code=4))["questions"]
        said = await cellwright(tmp_path, "runs", "approve", "r", "--no", "--fingerprint", question["fingerprint"])
        assert f"Answered {question['id']}: no." in said.stderr
        assert "ada said no." in (await cellwright(tmp_path, "runs", "watch", "r", code=3)).stdout


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--yes", "--no"], "Yes or no?"),
        (["--reach", "run"], "go with an answer"),
        (["--yes", "--reach", "far"], "No answer reaches 'far'"),
        (["--no", "--reach", "run"], "No answer reaches 'run'"),
        (["r#99"], "does not ask 'r#99'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_an_answer_that_makes_no_sense_is_said(tmp_path: Path, words: list[str], says: str) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "approve it")
        await is_asking(journal, "r")
        assert says in (await cellwright(tmp_path, "runs", "approve", "r", *words, code=2)).stderr
        assert await is_asking(journal, "r")


async def test_a_run_at_work_is_not_undone_and_one_that_changed_nothing_says_so(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "ask me")
        number = await is_asking(journal, "r")
        at_work = await cellwright(tmp_path, "runs", "undo", "r", code=2, database=False)
        assert "still at work" in at_work.stderr
        await journal.answer(number, "Q2", by="ada")
        await has_ended(journal, "r")
        assert "Nothing is remembered" in (await cellwright(tmp_path, "runs", "undo", "r", database=False)).stderr
        listed = await cellwright(tmp_path, "runs", "undo", "r", "--list", "--json", database=False)
        assert json.loads(listed.stdout) == {"run": "r", "changes": []}
