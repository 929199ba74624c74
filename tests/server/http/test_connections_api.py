"""Connections over HTTP: named, tried, looked into and forgotten; secrets go in and never come out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsFloat, IsInt, IsPartialDict, IsStr

from cellwright.data.broker_client import BrokerClient
from tests.server.http.a_served_folder import Served, no_keyring, serve, tiny_runs

SECRET = "hush-4f81c2d09ab7"
TABLES = """
    create table customers (id integer primary key, name text not null, email text);
    create table orders (id integer primary key, customer_id integer references customers (id), amount real);
    insert into customers values (1, 'Ada', 'ada@example.org'), (2, 'Bob', null);
    insert into orders values (1, 1, 12.5), (2, 1, 7.25), (3, 2, 99);
"""


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[Served]:
    folder = tmp_path_factory.mktemp("connections")
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        database.executescript(TABLES)
    async with (
        tiny_runs(folder, template) as (settings, runs),
        serve(folder / "folder", settings, runs) as opened,
    ):
        with no_keyring():
            yield opened
        await BrokerClient(launch=settings.broker_launch()).stop()


@pytest.fixture
async def shop(served: Served) -> AsyncGenerator[Served]:
    """With a connection `shop` to a file, whose addresses of customers nobody sees."""
    body = {"kind": "sqlite", "options": {"path": file_of(served)}, "masked": ["customers.email"]}
    tried = await served.ask("PUT", "/connections/shop", json=body)
    assert tried == {"is_open": True, "server": IsStr(regex="SQLite.*"), "tables": 2, "seconds": IsFloat()} | {
        "problem": "",
        "hint": "",
        "notices": [],
    }
    yield served
    await served.client.delete("/api/v1/connections/shop")


def file_of(served: Served) -> str:
    return str(served.folder.parent / "shop.db")


def server_at_nowhere(**more: Any) -> dict[str, Any]:
    options = {"host": "127.0.0.1", "port": "1", "database": "shop", "user": "reader"}
    return {"kind": "postgres", "options": options, **more}


async def test_where_there_is_none_the_kinds_are_told(served: Served) -> None:
    listed = await served.get("/connections")
    assert (listed["connections"], listed["problem"]) == ([], "")
    kinds = {each["kind"]: each for each in listed["kinds"]}
    assert kinds["postgres"] == {
        "kind": "postgres",
        "ways": ["sql"],
        "needed": ["host", "database", "user"],
        "known": ["port", "schema", "tls", "tls_ca"],
        "port": 5432,
        "is_file": False,
        "is_untried": False,
    }
    assert [kinds[kind]["is_untried"] for kind in ("snowflake", "sqlite")] == [True, False]


@pytest.mark.slow
async def test_tables_are_found_by_parts_of_their_names_and_of_their_columns(shop: Served) -> None:
    schema = await shop.get("/connections/shop/schema")
    assert (schema["total"], schema["fitting"]) == (2, 2)
    orders = next(table for table in schema["tables"] if table["qualified"].endswith("orders"))
    assert [(column["name"], column["is_key"]) for column in orders["columns"]] == [
        ("id", True),
        ("customer_id", False),
        ("amount", False),
    ]
    [key] = orders["foreign_keys"]
    assert (key["columns"], key["target"]) == (["customer_id"], ["id"])
    for search, names in {"ORD": ["orders"], "mail": ["customers"], "customer": ["customers", "orders"]}.items():
        found = await shop.get(f"/connections/shop/schema?search={search}")
        assert [table["qualified"].rpartition(".")[2] for table in found["tables"]] == names
        assert (found["total"], found["fitting"]) == (2, len(names))
    alone = await shop.get(f"/connections/shop/schema?table={key['table']}")
    assert [table["qualified"] for table in alone["tables"]] == [key["table"]]
    masked = [column["name"] for column in alone["tables"][0]["columns"] if column["is_masked"]]
    assert masked == ["email"]


@pytest.mark.slow
async def test_first_rows_are_shown_masked_and_recorded_as_whose_they_are(shop: Served) -> None:
    found = await shop.get("/connections/shop/rows?table=customers")
    assert [name for name, _ in found["columns"]] == ["id", "name", "email"]
    assert [row[:2] for row in found["rows"]] == [[1, "Ada"], [2, "Bob"]]
    assert "example.org" not in json.dumps(found)
    [sent, *_] = (await shop.get("/statements?connection=shop"))["statements"]
    assert {key: sent[key] for key in ("connection", "access", "outcome", "rows", "tables", "person", "run")} == {
        "connection": "shop",
        "access": "read",
        "outcome": "done",
        "rows": 2,
        "tables": ["main.customers"],
        "person": "ada",
        "run": "",
    }
    [line] = (await shop.get("/connections"))["connections"]
    assert line == IsPartialDict(
        name="shop", leads_to=file_of(shop), secret_in="", price="", statements=IsInt(gt=0), rows_read=IsInt(ge=2),
        last_at=sent["at"],
    )  # fmt: skip
    [uncounted] = (await shop.get("/connections?is_counted=false"))["connections"]
    assert uncounted == line | {"statements": 0, "rows_read": 0, "bytes_read": 0, "last_at": ""}
    assert (await shop.get("/statements?run=of-somebody-else"))["statements"] == []
    gone = await shop.get("/connections/shop/rows?table=nothing", status=404)
    assert gone["error"]["message"] == "'shop' has no table 'nothing'."


@pytest.mark.slow
async def test_a_server_that_is_not_there_is_said_to_be_and_what_was_typed_stays(served: Served) -> None:
    body = server_at_nowhere(secret=SECRET, writer="writer", writer_secret=SECRET[::-1])
    tried = await served.ask("PUT", "/connections/nowhere", json=body)
    assert (tried["is_open"], tried["tables"]) == (False, None)
    assert tried["problem"]
    assert tried["hint"]
    again = await served.post("/connections/nowhere/try", {})
    assert again == tried
    [line] = (await served.get("/connections"))["connections"]
    assert line == IsPartialDict(
        leads_to="127.0.0.1:1/shop", secret_in="file", writer="writer", writer_secret_in="file", options=body["options"]
    )
    assert SECRET not in json.dumps([tried, line])

    # Without a secret what is kept stays; without a writer, the writer's goes.
    await served.ask("PUT", "/connections/nowhere", json=server_at_nowhere())
    [line] = (await served.get("/connections?is_counted=false"))["connections"]
    assert (line["secret_in"], line["writer"], line["writer_secret_in"]) == ("file", "", "")

    forgotten = await served.ask("DELETE", "/connections/nowhere")
    assert forgotten == {"name": "nowhere", "removed_from": ["file"]}
    assert (await served.get("/connections"))["connections"] == []
    home = served.testbed.settings.home
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("Shop", {"kind": "sqlite", "options": {"path": "/x.db"}}, "'Shop' cannot name a connection."),
        ("shop", {"kind": "sqlite", "options": {}}, "A sqlite connection needs path."),
        ("shop", {"kind": "sqlite", "options": {"path": "x.db"}}, "The path of a file must be a whole one."),
        ("shop", server_at_nowhere(masked=["email"]), "'email' names no column."),
    ],
)
async def test_what_cannot_be_a_connection_is_refused_in_words_and_nothing_is_kept(
    served: Served, name: str, body: dict[str, Any], says: str
) -> None:
    refused = await served.ask("PUT", f"/connections/{name}", json=body | {"secret": SECRET}, status=400)
    assert refused["error"] == IsPartialDict(kind="user", message=says, hint=IsStr(min_length=5))
    assert (await served.get("/connections"))["connections"] == []
    assert (
        not (served.testbed.settings.home / "connections.toml").exists()
        or SECRET not in (served.testbed.settings.home / "connections.toml").read_text()
    )


async def test_whoever_may_only_look_changes_nothing_and_no_name_is_made_up(served: Served) -> None:
    reader = served.bearing("read")
    body = {"kind": "sqlite", "options": {"path": "/x.db"}}
    await served.ask("PUT", "/connections/shop", json=body, headers=reader, status=403)
    await served.ask("DELETE", "/connections/shop", headers=reader, status=403)
    await served.post("/connections/shop/try", {}, headers=reader, status=403)
    await served.get("/connections", headers=reader)
    missing = await served.get("/connections/shop/schema", status=404)
    assert missing["error"] == IsPartialDict(
        message="No connection is called 'shop'. There is none yet.", hint="Add it under Connections."
    )


@pytest.mark.slow
async def test_a_table_is_profiled_as_files_are_and_masked_columns_stay_masked(shop: Served) -> None:
    found = await shop.get("/connections/shop/profile?table=customers")
    assert (found["connection"], found["rows"], found["is_counted"], found["sampling"]) == ("shop", 2, True, "")
    assert found["table"].endswith("customers")
    columns = {column["name"]: column for column in found["columns"]}
    assert list(columns) == ["id", "name"]
    assert columns["id"] == IsPartialDict(kind="integer", meaning="id", missing=0, distinct=2, is_unique=True)
    assert {"column": "email", "says": "It is masked: nobody sees its values.", "severity": "note"} in found["remarks"]
    assert "ada@example.org" not in json.dumps(found)


@pytest.mark.slow
async def test_a_table_that_is_not_there_has_no_profile(shop: Served) -> None:
    answer = await shop.client.get("/api/v1/connections/shop/profile?table=nowhere")
    assert (answer.status_code, "no table 'nowhere'" in answer.text) == (404, True)
