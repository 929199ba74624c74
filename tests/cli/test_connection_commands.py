"""`cellwright data connect|list|test|schema|query|statements|forget`: a file in a cage, and a real Postgres."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cellwright.data.connections import connections_at, store_connection
from cellwright.policy.money import parse_money
from cellwright.secrets import FoundSecret, find_secret, keep_secret, kept_secrets
from tests.cli.in_process import run_here
from tests.cli.terminal import on_terminal
from tests.data.shop import READER_PASSWORD, WRITER_PASSWORD, Shop, broker_client, new_shop, shop_server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        yield client.launch.home


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "birds.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table birds (name text, grams real)")
        database.executemany("insert into birds values (?, ?)", [("wren", 9.5), ("robin", 18.0)])
    return path


@pytest.fixture
def birds(home: Path, file: Path) -> Path:
    if "birds" not in connections_at(home):
        run_here(home, "data", "connect", "birds", "--kind", "sqlite", "--path", str(file))
    return home


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        yield shop


def told(home: Path, *words: str, **more: Any) -> Any:
    return json.loads(run_here(home, "data", *words, "--json", **more).stdout)


@pytest.mark.slow
def test_a_table_and_a_query_are_profiled_like_files(birds: Path) -> None:
    [table] = told(birds, "profile", "--connection", "birds", "birds")["tables"]
    assert (table["rows"], [column["name"] for column in table["columns"]]) == (2, ["name", "grams"])
    assert table["reading"]["path"] == "birds"
    shown = run_here(birds, "data", "profile", "--connection", "birds", "--sql", "select grams from birds").stdout
    assert "birds, connection: 2 rows, 1 column" in shown


@pytest.mark.slow
def test_what_cannot_be_profiled_is_said_before_anything_is_read(birds: Path) -> None:
    for words, why in (
        ((), "Nothing is named to look at."),
        (("--sql", "select 1"), "A query needs a database."),
        (("--connection", "birds", "birds", "--sql", "select 1"), "Either tables or a query"),
        (("--connection", "nobody", "birds"), "No connection is called 'nobody'."),
    ):
        assert why in run_here(birds, "data", "profile", *words, code=2).stderr


@pytest.mark.slow
def test_a_file_is_named_tried_shown_and_asked(birds: Path) -> None:
    [listed] = [each for each in told(birds, "list")["connections"] if each["name"] == "birds"]
    assert (listed["kind"], listed["secret"], listed["is_untried"]) == ("sqlite", "", False)
    assert told(birds, "test", "birds")["tables"] == 1
    [table] = told(birds, "schema", "birds")["tables"]
    assert [column["name"] for column in table["columns"]] == ["name", "grams"]
    assert "birds" in run_here(birds, "data", "schema", "birds", "--search", "how heavy are birds").stdout
    found = told(birds, "query", "birds", "select * from birds order by grams")
    assert found["rows"] == [["wren", 9.5], ["robin", 18.0]]
    shown = run_here(birds, "data", "query", "birds", "-", typed="select count(*) n from birds")
    assert "2" in shown.stdout


@pytest.mark.slow
def test_rows_go_to_a_file_that_is_not_there_yet(birds: Path, tmp_path: Path) -> None:
    for name in ("birds.csv", "birds.jsonl", "birds.arrow"):
        run_here(birds, "data", "query", "birds", "select * from birds", "--out", str(tmp_path / name))
    assert (tmp_path / "birds.csv").read_text() == "name,grams\nwren,9.5\nrobin,18.0\n"
    assert (tmp_path / "birds.arrow").read_bytes()[:6] == b"ARROW1"
    again = run_here(birds, "data", "query", "birds", "select 1", "--out", str(tmp_path / "birds.csv"), code=2)
    assert "is there already" in again.stderr
    other = run_here(birds, "data", "query", "birds", "select 1", "--out", "birds.xlsx", code=2)
    assert "One of: .csv, .jsonl, .arrow." in other.stderr


@pytest.mark.slow
def test_what_is_wrong_is_told_in_a_line_with_a_remedy(birds: Path) -> None:
    for words, code, said, hint in (
        (("query", "birds", "drop table birds"), 3, "It changes data", "data query --write"),
        (("query", "birds", "select gram from birds"), 2, "no such column: gram", "Did you mean grams?"),
        (("query", "nobody", "select 1"), 2, "No connection is called 'nobody'.", "data connect nobody"),
        (("connect", "x", "--kind", "oracle"), 2, "Unknown kind 'oracle'.", "One of: postgres"),
        (("connect", "x", "--kind", "postgres"), 2, "needs host and database and user", "It has: host"),
        (("connect", "x", "--kind", "sqlite", "--option", "password=x"), 2, "never an argument", "you will be asked"),
        (("connect", "Not A Name", "--kind", "sqlite", "--path", "/x.db"), 2, "cannot name a connection", "a letter"),
        (("schema", "birds", "eggs"), 2, "has no table 'eggs'", "data schema birds"),
    ):
        shown = run_here(birds, "data", *words, code=code).stderr
        assert said in shown
        assert hint in shown


def test_what_was_sent_and_refused_is_on_record(birds: Path) -> None:
    run_here(birds, "data", "query", "birds", "delete from birds", code=3)
    run_here(birds, "data", "query", "birds", "select name from birds")
    [sent, refused] = told(birds, "statements", "birds", "--most", "2")["statements"]
    assert (sent["outcome"], sent["rows"]) == ("done", 2)
    assert (sent["tables"], sent["columns"]) == (["birds"], ["main.birds.name"])
    assert refused["outcome"] == "refused"


@pytest.mark.slow
def test_a_server_is_named_with_its_secret_from_a_pipe_written_to_after_a_yes_and_forgotten(
    home: Path, shop: Shop
) -> None:
    where = ("--host", shop.host, "--database", shop.database, "--user", "reader", "--option", "tls=off")
    wrong = run_here(
        home, "data", "connect", "shop", "--kind", "postgres", *where, "--stdin", "--file", typed="no\n", code=1
    )
    assert "does not accept the user or the secret" in wrong.stderr
    run_here(home, "data", "connect", "shop", "--stdin", "--file", typed=f"{READER_PASSWORD}\n")
    assert told(home, "query", "shop", "select count(*) from orders")["rows"] == [[3000]]
    change = ("query", "shop", "delete from orders where id <= 5", "--write")
    unable = run_here(home, "data", *change, code=2)
    assert "has no user that may write" in unable.stderr
    typed = f"{WRITER_PASSWORD}\n"
    run_here(home, "data", "connect", "shop", "--writer", "writer", "--stdin", "--file", "--no-test", typed=typed)
    asked = run_here(home, "data", *change, code=3)
    assert "This changes 5 rows in shop (orders):" in asked.stderr
    assert told(home, *change, "--yes")["rows"] == 5
    assert told(home, "query", "shop", "select count(*) from orders")["rows"] == [[2995]]
    run_here(home, "data", "forget", "shop")
    assert "shop" not in connections_at(home)
    assert not [name for name in kept_secrets(home) if name.startswith("data:shop")]


def test_a_warehouse_is_said_to_be_never_tried_where_it_is_named(home: Path) -> None:
    words = ("data", "connect", "depot", "--kind", "snowflake", "--option", "account=acme", "--user", "reader")
    shown = run_here(home, *words, "--database", "shop", "--no-secret", "--no-test")
    assert "It was never tried against the service: say what you see." in shown.stderr
    assert told(home, "connect", "depot", "--no-secret", "--no-test")["is_untried"] is True
    run_here(home, "data", "connect", "usual", "--kind", "postgres", "--host", "h", "--database", "d", "--user", "u",
             "--no-secret", "--no-test")  # fmt: skip
    assert told(home, "connect", "usual", "--no-secret", "--no-test")["is_untried"] is False


def test_a_secret_comes_one_way_and_what_is_given_takes_the_place_of_what_was(home: Path) -> None:
    named = ("data", "connect", "oneway", "--no-test")
    where = ("--kind", "postgres", "--host", "h", "--database", "d", "--user", "u")

    def given(*words: str, typed: str = "") -> tuple[str, tuple[str, ...], bool]:
        """What is told of its secret, the command, and whether one is kept."""
        secret = json.loads(run_here(home, *named, *words, "--json", typed=typed).stdout)["secret"]
        return secret, connections_at(home)["oneway"].secret_command, "data:oneway" in kept_secrets(home)

    command = ("--secret-command", "op read x")
    assert given(*where, *command) == ("command", ("op", "read", "x"), False)
    # What changes something else leaves it as it is.
    assert given("--rows", "5") == ("command", ("op", "read", "x"), False)
    assert given("--stdin", "--file", typed="canary-piped-31\n") == ("file", (), True)
    assert find_secret(home, "data:oneway") == FoundSecret(value="canary-piped-31", source="file")
    # What is kept would go first.
    assert given(*command) == ("command", ("op", "read", "x"), False)
    # The writer's may be piped in beside a command for the reader.
    assert given(*command, "--writer", "w", "--stdin", "--file", typed="canary-writer-31\n")[0] == "command"
    assert "data:oneway:writer" in kept_secrets(home)
    assert given("--no-secret") == ("", (), False)
    for several in ((*command, "--stdin"), (*command, "--no-secret"), ("--stdin", "--no-secret")):
        shown = run_here(home, *named, *several, typed="canary-dropped\n", code=2).stderr
        assert f"A secret comes one way, not by {several[0]} and {several[-1]}." in shown
    assert connections_at(home)["oneway"].secret_command == ()
    run_here(home, "data", "forget", "oneway")


@pytest.mark.slow
def test_a_query_that_reads_much_is_asked_about_in_a_terminal_and_refused_in_a_script(home: Path, shop: Shop) -> None:
    connection = shop.connection("much", ask_above_rows=1000, price_per_terabyte=parse_money("1000000 EUR"))
    store_connection(home, connection)
    keep_secret(home, connection.secret_name, READER_PASSWORD, "file")
    query = ("data", "query", "much", "select id from orders")
    said = "The database expects to read about 3,000 rows, 24 kB, 0.02 EUR for this."
    for words in (query, (*query, "--json")):
        refused = run_here(home, *words, code=3)
        assert said in refused.stderr
        assert "Say --yes if that is meant." in refused.stderr
    assert len(told(home, *query[1:], "--yes", "--rows", "7")["rows"]) == 7
    program = [sys.executable, "-I", "-c", "from cellwright.cli.entry import main; main()", *query]
    variables = {"CELLWRIGHT_HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb", "COLUMNS": "200"}
    for answer, code, shown in (("n", 3, "Nothing was done."), ("y", 0, "1,000 rows")):
        with on_terminal(program, environment=variables, folder=home) as terminal:
            terminal.wait_for(said)
            terminal.wait_for("Go on?")
            terminal.type(f"{answer}\n")
            terminal.wait_for(shown)
            assert terminal.end() == code
    outcomes = [line["outcome"] for line in told(home, "statements", "much")["statements"]]
    assert outcomes == ["done", "costly", "costly", "done", "costly", "costly", "costly"]


@pytest.mark.slow
def test_a_secret_is_handed_over_by_a_variable_or_told_by_a_command(home: Path, shop: Shop) -> None:
    where = ("--kind", "postgres", "--host", shop.host, "--database", shop.database, "--user", "reader", "--tls", "off")
    run_here(home, "data", "connect", "given", *where, "--no-test")
    assert "no password supplied" in run_here(home, "data", "test", "given", code=2).stderr
    variables = {"CELLWRIGHT_SECRET_GIVEN": READER_PASSWORD, "CELLWRIGHT_HOME": str(home), "PATH": os.environ["PATH"]}
    program = [
        sys.executable,
        "-I",
        "-c",
        "from cellwright.cli.entry import main; main()",
        "data",
        "query",
        "given",
        "select 1",
        "--json",
    ]
    asked = subprocess.run(program, env=variables, capture_output=True, text=True, check=False)
    assert json.loads(asked.stdout)["rows"] == [[1]], asked.stderr
    # It stays with the broker.
    assert told(home, "query", "given", "select 2")["rows"] == [[2]]
    telling = f"{sys.executable} -c print('{READER_PASSWORD}')"
    run_here(home, "data", "connect", "told", *where, "--secret-command", telling)
    assert told(home, "query", "told", "select 3")["rows"] == [[3]]
