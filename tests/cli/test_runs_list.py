"""`cellwright runs list|show|watch`: runs as the journal tells of them, at work and afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from dirty_equals import IsFloat, IsInt
from inline_snapshot import snapshot

from cellwright.cli.render import run_output
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.names import stream_of
from cellwright.journal.values import StepFailed
from cellwright.runs.events import EVENT_TYPES, CellReported, RunWaiting
from cellwright.runs.goal.goal import goal_json
from tests.cli.in_process import Said, run_here
from tests.cli.told_runs import WORDS, a_goal, has_ended, is_asking, open_told, started

_LOOK = """
import sys
from cellwright.cli.main import app
try:
    app(["runs", "list", "--json"])
except SystemExit:
    pass
# What agents tell is in the journal, so their events are known; the agents themselves are not needed.
print(sorted({"pydantic_ai", "dbos", "marimo", "cellwright.agents.agent"} & set(sys.modules)))
"""


async def cellwright(home: Path, *words: str, code: int = 0) -> Said:
    """With the journal named: somebody carries the runs out already."""

    def run() -> Said:
        return run_here(home, *words, "--database", str(home / "journal.db"), code=code)

    return await anyio.to_thread.run_sync(run)


async def as_json(home: Path, *words: str, code: int = 0) -> Any:
    return json.loads((await cellwright(home, *words, "--json", code=code)).stdout)


async def test_runs_are_listed_newest_first_with_what_came_of_them(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "done")
        await has_ended(journal, "done")
        await started(journal, "broken", "break it")
        with pytest.raises(StepFailed, match="disk is full"):
            await has_ended(journal, "broken")
        await started(journal, "asking", "ask me")
        await is_asking(journal, "asking")
        found = (await as_json(tmp_path, "runs", "list"))["runs"]
        assert [(run["run"], run["status"], run["goal"]) for run in found] == [
            ("asking", "waiting", "ask me"),
            ("broken", "failed", "break it"),
            ("done", "done", WORDS),
        ]
        assert found[2] == snapshot(
            {
                "run": "done",
                "status": "done",
                "standing": "done",
                "stage": "over",
                "goal": "Why did revenue fall?",
                "notebook": "/project/revenue.py",
                "person": "ada",
                "microdollars": 1200,
                "unpriced_tokens": 0,
                "began_ms": IsInt(),
                "seconds": IsFloat(),
                "questions": 0,
            }
        )
        # A list reads no steps; what it says of a run is what is said where all of it is read.
        for line in found[1:]:
            whole = await as_json(tmp_path, "runs", "show", line["run"])
            same = line.keys() - {"goal", "questions"}
            assert {name: whole[name] for name in same} == {name: line[name] for name in same}
        shown = (await cellwright(tmp_path, "runs", "list")).stdout
        assert "asking" in shown
        assert "waiting" in shown
        assert "revenue.py" in shown


@pytest.mark.slow
async def test_of_many_runs_the_newest_and_those_at_work_are_listed(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "old-and-asking", "ask me")
        await is_asking(journal, "old-and-asking")
        for number in range(22):
            await started(journal, f"run-{number}")
            await has_ended(journal, f"run-{number}")
        some = [run["run"] for run in (await as_json(tmp_path, "runs", "list"))["runs"]]
        everything = [run["run"] for run in (await as_json(tmp_path, "runs", "list", "--all"))["runs"]]
    assert len(some) == 21
    assert some[-1] == "old-and-asking"
    assert len(everything) == 23


def test_without_a_journal_there_are_no_runs(tmp_path: Path) -> None:
    assert json.loads(run_here(tmp_path, "runs", "list", "--json").stdout) == {"runs": []}
    assert "No runs" in run_here(tmp_path, "runs", "list").stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_a_run_is_shown_with_its_plan_its_questions_and_what_it_delivered(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "done")
        await started(journal, "asking", "ask me")
        await has_ended(journal, "done")
        number = await is_asking(journal, "asking")
        done = await as_json(tmp_path, "runs", "show", "done")
        assert (done["status"], done["delivery"]["answer"]) == ("done", "It fell by 4 %.")
        assert [task["status"] for task in done["plan"]["tasks"]] == ["done", "running"]
        text = (await cellwright(tmp_path, "runs", "show", "done")).stdout
        assert "✓ read-sales  Read the sales: 12 rows" in text
        assert "It fell by 4 %." in text
        asking = await as_json(tmp_path, "runs", "show", "asking")
        [question] = asking["questions"]
        assert (question["id"], question["offers"]) == (number, ["Q2", "Q3"])
        assert question["answer_with"] == f"cellwright inbox answer {number} ANSWER"
        assert asking["delivery"] is None
        assert "Which quarter first?" in (await cellwright(tmp_path, "runs", "show", "asking")).stderr


@pytest.mark.slow
async def test_a_run_that_broke_is_shown_with_what_broke_it(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "broken", "break it")
        with pytest.raises(StepFailed, match="disk is full"):
            await has_ended(journal, "broken")
        shown = await as_json(tmp_path, "runs", "show", "broken")
        assert (shown["delivery"]["status"], shown["delivery"]["notebook"]) == ("failed", "/project/revenue.py")
        assert "disk is full" in shown["delivery"]["why"]
        assert "disk is full" in (await cellwright(tmp_path, "runs", "watch", "broken", code=1)).stdout


async def test_a_run_is_named_by_its_beginning_or_as_the_last(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        for run in ("a1b2", "a1c3", "f00d"):
            await started(journal, run)
            await has_ended(journal, run)
        assert (await as_json(tmp_path, "runs", "show", "a1b"))["run"] == "a1b2"
        assert (await as_json(tmp_path, "runs", "show", "last"))["run"] == "f00d"
        several = await cellwright(tmp_path, "runs", "show", "a1", code=2)
        assert "2 runs begin with 'a1'" in several.stderr
        assert "a1c3" in several.stderr
        unknown = await cellwright(tmp_path, "runs", "watch", "zzz", code=2)
        assert "No run 'zzz'" in unknown.stderr
        assert "cellwright runs list" in unknown.stderr


@pytest.mark.slow
async def test_a_run_is_watched_from_its_beginning_in_plain_lines(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r")
        said = await cellwright(tmp_path, "runs", "watch", "r")
    lines, _, opened = said.stderr.partition("To open it:\n")
    assert opened.strip().endswith("edit /project/revenue.py")
    assert lines == snapshot(
        """\
goal: Why did revenue fall?
waits: Another run works on this notebook.
reading the data and planning
plan: Revenue in Q3
  ○ read-sales  Read the sales
  ○ compare  Compare the quarters (after read-sales)
building
● Read the sales: running
cell sales: ok (0.2 s)
✓ Read the sales: done: 12 rows
● Compare the quarters: running
over: done
"""
    )
    assert said.stdout.startswith("It fell by 4 %.")
    assert "$0.0012" in said.stdout


async def test_json_is_every_event_as_the_journal_keeps_it_and_then_the_delivery(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r")
        said = await cellwright(tmp_path, "runs", "watch", "r", "--json")
        kept = [recorded.json() async for recorded in journal.log.read_all(stream_of("r"))]
    *events, delivery = map(json.loads, said.stdout.splitlines())
    assert events == kept
    assert (delivery["kind"], delivery["run"], delivery["status"]) == ("delivery", "r", "done")
    assert said.stderr == ""


async def test_a_watcher_whom_nobody_can_ask_leaves_with_the_command_that_answers(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "ask me")
        number = await is_asking(journal, "r")
        said = await cellwright(tmp_path, "runs", "watch", "r", code=4)
        assert f"cellwright inbox answer {number} ANSWER" in said.stderr
        assert said.stdout == ""
        last = json.loads((await cellwright(tmp_path, "runs", "watch", "r", "--json", code=4)).stdout.splitlines()[-1])
        assert (last["kind"], [each["id"] for each in last["questions"]]) == ("waiting", [number])
        await cellwright(tmp_path, "inbox", "answer", number, "Q3")
        assert "Q3 first." in (await cellwright(tmp_path, "runs", "watch", "r")).stdout


@pytest.mark.slow
async def test_a_refused_run_ends_with_three(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "approve it")
        number = await is_asking(journal, "r")
        waiting = (await cellwright(tmp_path, "runs", "watch", "r", code=4)).stderr
        assert "Connect to api.example.com port 443" in waiting
        [question] = (await as_json(tmp_path, "runs", "show", "r"))["questions"]
        assert question["answer_with"].startswith(f"cellwright inbox answer {number} once --fingerprint ")
        await cellwright(tmp_path, "inbox", "answer", number, "no", "--fingerprint", question["fingerprint"])
        assert "ada said no." in (await cellwright(tmp_path, "runs", "watch", "r", code=3)).stdout


async def test_a_cancelled_run_says_who_stopped_it(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r", "ask me")
        await is_asking(journal, "r")
        await journal.cancel("r", reason="stopped by ada")
        said = await cellwright(tmp_path, "runs", "watch", "r", code=1)
        assert "stopped by ada" in said.stdout
        assert (await as_json(tmp_path, "runs", "list"))["runs"][0]["status"] == "stopped"


async def test_what_agents_wrote_cannot_steer_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07Fall\u202e"
    async with open_told(tmp_path) as journal:
        await started(journal, "r", f"{evil} ask")
        await is_asking(journal, "r")
        await journal.log.append(stream_of("r"), RunWaiting(why=evil), CellReported(name=evil, status="ok"))
        for words in (["runs", "list"], ["runs", "show", "r"]):
            said = await cellwright(tmp_path, *words)
            assert not {"\x1b", "\x07", "\u202e"} & set(said.stdout + said.stderr)
        said = await cellwright(tmp_path, "runs", "watch", "r", code=4)
        assert not {"\x1b", "\x07", "\u202e"} & set(said.stdout + said.stderr)
        assert "\\u001b[2J" in said.stderr


async def test_a_workflow_that_is_no_run_is_not_shown_as_one(tmp_path: Path) -> None:
    async def walk(_: Flow, __: Any) -> str:
        return "there"

    place = tmp_path / "journal.db"
    async with Journal.open(
        place, version="1", workflows=[Workflow(name="walk", body=walk)], types=EVENT_TYPES
    ) as journal:
        await journal.run("walk", goal_json(a_goal()), run="w")
        await has_ended(journal, "w")
        assert (await as_json(tmp_path, "runs", "list"))["runs"] == []
        for verb in ("show", "watch"):
            assert "not a run" in (await cellwright(tmp_path, "runs", verb, "w", code=2)).stderr


@pytest.mark.slow
async def test_looking_at_runs_loads_neither_agents_nor_models_nor_the_engine(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await started(journal, "r")
        await has_ended(journal, "r")

    def look() -> str:
        environment = {"CELLWRIGHT_HOME": str(tmp_path), "HOME": str(tmp_path)}
        command = [sys.executable, "-c", _LOOK]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout

    said = (await anyio.to_thread.run_sync(look)).splitlines()
    assert json.loads(said[0])["runs"][0]["run"] == "r"
    assert said[1] == "[]"


@pytest.mark.parametrize("width", [60, 80, 120, 260])
def test_a_list_of_runs_shows_id_and_status_whole_in_any_terminal_and_cuts_long_goals(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = {"run": "77b3b608181e6c23", "status": "waiting", "goal": "How did the rules for voting change? " * 9,
           "notebook": "/there/how-debian-votes-and-who-may-call-a-vote.py", "seconds": 743}  # fmt: skip
    monkeypatch.setattr(run_output.results, "_width", width)
    run_output.runs_table([run])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("77b3b608181e6c23  waiting  How d")
    assert lines[1].rstrip().endswith("12 min 23 s")
