"""`cellwright journal …` does the same on a file and on Postgres."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer
from typer.testing import CliRunner

from cellwright.cli import journal as commands
from cellwright.errors import UserError
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import Question
from tests.journal.sixty import KEY

RUN = "old"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "chain.key"
    path.write_bytes(KEY)
    return path


def cellwright(*words: str, where: str, key: Path) -> Any:
    app = typer.Typer()
    app.add_typer(commands.app, name="journal")
    result = CliRunner().invoke(app, ["journal", *words, "--json", "--database", where, "--key", str(key)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def go_on(where: str, version: str, run: str) -> Any:
    """A worker of this version: it starts or goes on with the run, answers it if it is not the old one, and ends."""

    async def ask(flow: Flow, _: Any) -> Any:
        return await flow.ask(Question(text="Go on?"))

    workflows = [Workflow(name="ask", body=ask)]
    with anyio.fail_after(120):
        async with Journal.open(where, version=version, workflows=workflows, chain_key=KEY) as journal:
            if run == RUN:
                await journal.run("ask", run=run)
            news = journal.log.growth.next()
            while not (pending := await journal.records.questions.pending(run)):
                await news.wait()
                news = journal.log.growth.next()
            if run == RUN:
                return None
            await journal.answer(pending[0].id, "yes", by="ada")
            return await journal.result(run)


def test_runs_are_listed_shown_forked_cancelled_verified_and_pruned(where: str, key: Path) -> None:
    anyio.run(go_on, where, "1", RUN)
    [listed] = cellwright("runs", where=where, key=key)["runs"]
    assert (listed["run"], listed["standing"]) == (RUN, "waiting")
    assert cellwright("show", RUN, where=where, key=key)["timeline"][-1]["text"] == "asked: Go on?"
    forked = cellwright("fork", RUN, "--version", "2", "--name", "new", where=where, key=key)
    assert forked == {"run": "new", "forked_from": RUN, "version": "2"}
    assert anyio.run(go_on, where, "2", "new") == "yes"
    assert cellwright("show", RUN, where=where, key=key)["standing"] == "cancelled"
    assert cellwright("cancel", "new", where=where, key=key) == {"run": "new", "cancelled": False}
    assert cellwright("verify", where=where, key=key)["ok"]
    assert len(cellwright("export", "new", where=where, key=key)) > 3
    assert cellwright("prune", "--older-than", "0s", where=where, key=key)["runs"] == 1
    assert cellwright("verify", where=where, key=key)["ok"]


@pytest.mark.slow
def test_a_database_that_is_no_journal_or_no_address_is_refused(postgres: str, key: Path) -> None:
    with pytest.raises(UserError, match="is no journal"):
        cellwright("runs", where=postgres, key=key)
    with pytest.raises(UserError, match="no address of a Postgres database") as caught:
        cellwright("runs", where="postgresql://me:hunter2%zz@host/x", key=key)
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["check"], ["backup", "x.db"], ["restore", "x.db"]], ids=lambda words: words[0])
def test_what_only_a_file_can_do_is_refused_on_postgres(fresh_postgres: str, words: list[str]) -> None:
    result = CliRunner().invoke(commands.app, [*words, "--json", "--database", fresh_postgres])
    assert isinstance(result.exception, UserError)
    assert "pg_dump" in result.exception.hint
