"""`cellwright journal …` through its door."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer
from typer.testing import CliRunner

from cellwright.cli import journal
from cellwright.errors import UserError
from cellwright.journal import AuditRecorded, Flow, Journal, Workflow

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


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A journal with one run and one audit entry."""
    path = tmp_path / "journal.db"

    async def count(flow: Flow, argument: int) -> int:
        async def add() -> int:
            return argument + 1

        return await flow.step("add", add)

    async def fill() -> None:
        async with Journal.open(path, version="1", workflows=[Workflow(name="count", body=count)]) as opened:
            assert await opened.result(await opened.run("count", 1, run="first")) == 2
            await opened.log.append("run:first", ENTRY)

    anyio.run(fill)
    return path


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


def test_a_journal_that_is_not_there_is_not_made(cli: Cli, database: Path) -> None:
    database.unlink()
    for words in (["runs"], ["verify"], ["backup", "x.db"]):
        with pytest.raises(UserError, match="No journal at"):
            cli("journal", *words)
    assert not database.exists()
