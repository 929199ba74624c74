"""`cellwright journal …` through its door."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer
from typer.testing import CliRunner

from cellwright.cli import journal
from cellwright.errors import UserError
from cellwright.journal.events import AuditRecorded, CostRecorded, QuestionAsked, RunEnded, StepStarted, TaskChanged
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question
from cellwright.journal.records import Records
from cellwright.runs.events import EVENT_TYPES
from tests.sampling import spread

Cli = Callable[..., Any]
ENTRY = AuditRecorded(
    run="first",
    person="ada",
    action_kind="run-shell",
    what="run ls",
    verdict="allow",
    basis="rules.toml:3",
    result="done",
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a journal, with one run and one audit entry."""
    path = tmp_path_factory.mktemp("filled") / "journal.db"

    async def count(flow: Flow, argument: int) -> int:
        async def add() -> int:
            return argument + 1

        return await flow.step("add", add)

    async def fill() -> None:
        async with Journal.open(
            path, version="1", workflows=[Workflow(name="count", body=count)], types=EVENT_TYPES
        ) as opened:
            assert await opened.result(await opened.run("count", 1, run="first")) == 2
            await opened.log.append("run:first", ENTRY)

    anyio.run(fill)
    return path.parent


@pytest.fixture
def database(filled: Path, tmp_path: Path) -> Path:
    """A copy of it, with its key."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path / "journal.db"


@pytest.fixture
def cli(database: Path) -> Cli:
    app = typer.Typer()
    app.add_typer(journal.app, name="journal")

    def run(*words: str, code: int = 0, is_json: bool = True) -> Any:
        more = ["--json"] if is_json else []
        result = CliRunner().invoke(app, [*words, "--database", str(database), *more])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return json.loads(result.stdout) if is_json else result.stdout

    return run


def test_runs_are_listed(cli: Cli) -> None:
    (run,) = cli("journal", "runs")["runs"]
    assert (run["run"], run["name"], run["standing"], run["version"]) == ("first", "count", "done", "1")
    assert "first" in cli("journal", "runs", is_json=False)
    assert cli("journal", "requeue", "first") == {"run": "first", "requeued": False}
    cli("journal", "requeue", "first", is_json=False)


def test_a_run_is_exported_as_json_lines(cli: Cli, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in cli("journal", "export", "first", is_json=False).splitlines()]
    assert [line["kind"] for line in lines] == [
        "run-started",
        "step-started",
        "step-finished",
        "run-ended",
        "audit-recorded",
    ]
    assert lines == cli("journal", "export", "first")
    cli("journal", "export", "first", "--output", str(tmp_path / "out.jsonl"), is_json=False)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 5
    with pytest.raises(UserError, match="Nothing is kept"):
        cli("journal", "export", "second")


def test_an_altered_log_is_detected(cli: Cli, database: Path, tmp_path: Path) -> None:
    anchor = str(tmp_path / "anchor.json")
    assert cli("journal", "verify", "--write-anchor", anchor)["ok"]
    assert cli("journal", "verify", "first", "--anchor", anchor)["damage"] == []
    assert "as they were written" in cli("journal", "verify", is_json=False)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE cellwright_event SET body = replace(body, 'allow', 'deny') WHERE sequence = 5")
    connection.close()
    assert cli("journal", "verify", code=1)["damage"] == [{"stream": "run:first", "sequence": 5, "fault": "altered"}]
    assert "altered" in cli("journal", "verify", code=1, is_json=False)
    with pytest.raises(UserError, match="anchors"):
        cli("journal", "verify", "--anchor", str(database))


def test_old_things_are_pruned_and_the_log_still_checks(cli: Cli) -> None:
    assert cli("journal", "prune", "--older-than", "1d") == {"events": 0, "runs": 0, "blobs": 0}
    assert cli("journal", "prune", "--older-than", "0s")["runs"] == 1
    assert cli("journal", "verify")["ok"]
    cli("journal", "prune", "--older-than", "0s", is_json=False)


def test_a_backup_is_checked_and_restored(cli: Cli, database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert cli("journal", "backup", str(copy))["bytes"] > 0
    cli("journal", "prune", "--older-than", "0s")
    with pytest.raises(UserError, match="There is a journal"):
        cli("journal", "restore", str(copy))
    cli("journal", "restore", str(copy), "--replace")
    assert len(cli("journal", "export", "first")) == 5
    assert cli("journal", "check") == {"ok": True, "problems": []}
    database.write_bytes(b"not a database at all" * 1_000)
    assert not cli("journal", "check", code=1)["ok"]
    assert "✗" in cli("journal", "check", code=1, is_json=False)


COMMANDS = [
    ["runs"],
    ["show", "first"],
    ["cancel", "first"],
    ["fork", "first", "--version", "1"],
    ["requeue", "first"],
    ["export", "first"],
    ["prune", "--older-than", "1d"],
    ["verify"],
    ["check"],
    ["backup", "x.db"],
]
READING = [words for words in COMMANDS if words != ["check"]]


@pytest.mark.parametrize("words", spread(COMMANDS, 3), ids=lambda words: words[0])
def test_a_journal_that_is_not_there_is_not_made(cli: Cli, database: Path, words: list[str]) -> None:
    database.unlink()
    with pytest.raises(UserError, match="No journal at") as caught:
        cli("journal", *words)
    assert "--database" in caught.value.hint
    assert not database.exists()


@pytest.mark.parametrize("words", spread(READING, 3), ids=lambda words: words[0])
def test_what_is_no_journal_is_left_alone(cli: Cli, database: Path, words: list[str]) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as other:
        other.execute("CREATE TABLE mine (x)")
    before = database.read_bytes()
    with pytest.raises(UserError, match="is no journal"):
        cli("journal", *words)
    assert database.read_bytes() == before


@pytest.mark.parametrize("words", spread(READING, 3), ids=lambda words: words[0])
def test_a_key_that_is_gone_or_wrong_is_an_error_and_none_is_made(cli: Cli, database: Path, words: list[str]) -> None:
    key = database.with_suffix(".key")
    key.unlink()
    with pytest.raises(UserError, match="Cannot read the journal's key"):
        cli("journal", *words)
    assert not key.exists()
    key.write_bytes(b"short")
    with pytest.raises(UserError, match="is no journal key"):
        cli("journal", *words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "second"], "No run 'second'"),
        (["cancel", "second"], "No run 'second'"),
        (["fork", "second", "--version", "2"], "No run 'second'"),
        (["fork", "first"], "which version it runs"),
        (["fork", "first", "--version", "2", "--name", "no/name"], "is no name for a run"),
        (["fork", "first", "--version", "2", "--name", "first"], "There is a run 'first'"),
        (["requeue", "second"], "No run 'second'"),
        (["export", "second"], "Nothing is kept of a run 'second'"),
        (["export", "first", "--output", "no/such/folder.jsonl"], "Cannot write"),
        (["verify", "second"], "Nothing is kept of a run 'second'"),
        (["verify", "--write-anchor", "no/such/folder.json"], "Cannot write"),
        (["verify", "--anchor", "no-such-file.json"], "Cannot read anchors"),
        (["prune", "--older-than", "soon"], "is no time"),
        (["backup", "no/such/folder.db"], "no folder"),
        (["restore", "no-such-file.db", "--replace"], "is no sound journal"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_an_error_with_a_hint(cli: Cli, words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        cli("journal", *words)
    assert caught.value.hint
    assert cli("journal", "verify")["ok"]


def test_a_run_is_shown_with_its_tasks_cost_audit_and_story(cli: Cli, database: Path) -> None:
    async def tell() -> None:
        async with Records.open(database, types=EVENT_TYPES) as records:
            await records.log.append(
                "run:first",
                TaskChanged(task="t", title="Load \x1b[31mred", state="done", note="all of it"),
                CostRecorded(what="a model", microdollars=1_500, input_tokens=10, output_tokens=5),
            )

    anyio.run(tell)
    shown = cli("journal", "show", "first")
    assert (shown["standing"], shown["version"], shown["is_stranded"]) == ("done", "1", False)
    assert shown["progress"] == {
        "outcome": "done",
        "tasks": [{"task": "t", "title": "Load \x1b[31mred", "state": "done", "note": "all of it", "agent": ""}],
        "steps_done": 1,
        "steps_running": [],
    }
    assert (shown["cost"]["microdollars"], shown["cost"]["by_what"]) == (1_500, {"a model": 1_500})
    assert [(entry["what"], entry["result"]) for entry in shown["audit"]] == [("run ls", "done")]
    assert [moment["text"] for moment in shown["timeline"]][:2] == ["count started", "add …"]
    told = cli("journal", "show", "first", is_json=False)
    for part in (
        "first: done, 1 steps done",
        "task Load \\u001b[31mred: done: all of it",
        "cost $0.0015",
        "audit run ls",
    ):
        assert part in told
    assert "\x1b" not in told


def test_events_of_a_run_that_was_pruned_can_still_be_shown(cli: Cli, database: Path) -> None:
    cli("journal", "prune", "--older-than", "0s")

    async def tell() -> None:
        async with Records.open(database, types=EVENT_TYPES) as records:
            await records.log.append("run:first", CostRecorded(what="late", microdollars=7))

    anyio.run(tell)
    shown = cli("journal", "show", "first")
    assert (shown["standing"], shown["cost"]["microdollars"]) == ("gone", 7)


# ── runs that go on after the command ──


@pytest.mark.slow
def test_a_run_of_old_code_is_seen_as_stranded_forked_forward_and_goes_on(cli: Cli, database: Path) -> None:
    done: list[str] = []
    anyio.run(ask_with, database, "1", done)
    anyio.run(ask_with, database, "2", done, "other")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO cellwright_worker (id, version, beat_ms) VALUES ('w', '2', 1)")
    [run] = [run for run in cli("journal", "runs")["runs"] if run["run"] == "old"]
    assert (run["standing"], run["version"], run["is_stranded"]) == ("waiting", "1", True)
    assert "stranded: fork it" in " ".join(cli("journal", "runs", is_json=False).split())
    forked = cli("journal", "fork", "old", "--name", "new")
    assert forked == {"run": "new", "forked_from": "old", "version": "2"}
    assert anyio.run(answer_with, database, "2", done, "new") == ["first", "yes"]
    assert done == ["first", "first"]
    assert cli("journal", "show", "old")["standing"] == "cancelled"
    from_start = cli("journal", "fork", "new", "--version", "3", "--from-step", "1")["run"]
    assert anyio.run(answer_with, database, "3", done, from_start) == ["first", "yes"]
    assert done == ["first"] * 3


@pytest.mark.slow
def test_a_run_is_cancelled_and_let_go_on_from_a_terminal(cli: Cli, database: Path) -> None:
    done: list[str] = []
    anyio.run(ask_with, database, "1", done)
    assert cli("journal", "cancel", "old", "--reason", "not now") == {"run": "old", "cancelled": True}
    assert cli("journal", "cancel", "old")["cancelled"] is False
    shown = cli("journal", "show", "old")
    assert (shown["standing"], shown["questions"]) == ("cancelled", [])
    assert shown["timeline"][-1]["text"] == "ask cancelled: not now"
    assert cli("journal", "requeue", "old") == {"run": "old", "requeued": True}
    assert anyio.run(answer_with, database, "1", done, "old") == ["first", "yes"]
    assert done == ["first"]


@pytest.mark.slow
def test_a_run_that_was_given_up_is_seen_with_the_reason_and_let_go_on(cli: Cli, database: Path) -> None:
    done: list[str] = []
    anyio.run(ask_with, database, "1", done)
    for _ in range(2):
        anyio.run(partial(ask_with, most_recoveries=1), database, "1", done)
    [run] = [run for run in cli("journal", "runs")["runs"] if run["run"] == "old"]
    assert run["standing"] == "dead"
    assert "dead" in cli("journal", "runs", is_json=False)
    assert "Given up after 1 recoveries" in cli("journal", "show", "old", is_json=False)
    assert cli("journal", "requeue", "old") == {"run": "old", "requeued": True}
    assert anyio.run(answer_with, database, "1", done, "old") == ["first", "yes"]
    assert done == ["first"]


async def ask_with(database: Path, version: str, done: list[str], run: str = "old", most_recoveries: int = 5) -> None:
    """A worker of this version, which ends when it has asked, or has given the run up."""
    async with Records.open(database, types=EVENT_TYPES) as records:
        before = len([told async for told in records.log.read_all(f"run:{run}")])
    async with asking(database, version, done, most_recoveries) as opened:
        await opened.run("ask", run=run)
        with anyio.fail_after(120):
            async with aclosing(opened.log.follow(f"run:{run}", after=before)) as following:
                async for told in following:
                    event = told.event
                    # A question that stands already is not asked again.
                    is_asking = before > 0 and isinstance(event, StepStarted) and event.name == "ask question"
                    if is_asking or isinstance(event, QuestionAsked | RunEnded):
                        return


async def answer_with(database: Path, version: str, done: list[str], run: str) -> Any:
    """What becomes of the run at a worker of this version, once it is answered."""
    async with asking(database, version, done) as opened:
        with anyio.fail_after(120):
            news = opened.log.growth.next()
            while not (pending := await opened.records.questions.pending(run)):
                await news.wait()
                news = opened.log.growth.next()
            await opened.answer(pending[0].id, "yes", by="ada")
            return await opened.result(run)


@asynccontextmanager
async def asking(database: Path, version: str, done: list[str], most_recoveries: int = 5) -> AsyncGenerator[Journal]:
    async def first() -> str:
        done.append("first")
        return "first"

    async def ask(flow: Flow, _: Any) -> list[str]:
        return [await flow.step("first", first), await flow.ask(Question(text="Go on?"))]

    workflows = [Workflow(name="ask", body=ask)]
    async with Journal.open(
        database, version=version, workflows=workflows, most_recoveries=most_recoveries, types=EVENT_TYPES
    ) as opened:
        yield opened
