"""Connections that are no databases, over HTTP: files to browse, what an API can be asked, and data of a goal."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsPartialDict, IsStr

from cellwright.data.broker_client import BrokerClient
from tests.data.file_stores.servers import CANARY, FileServer, sftp_server, write_files
from tests.server.http.a_served_folder import Served, no_keyring, serve, tiny_runs

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Birds"},
    "paths": {
        "/birds": {
            "get": {
                "operationId": "listBirds",
                "summary": "All birds.",
                "parameters": [
                    {"name": "size", "in": "query", "schema": {"type": "string", "enum": ["small", "large"]}}
                ],
            },
            "post": {"operationId": "addBird"},
        },
        "/nests/{id}": {
            "get": {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]}
        },
    },
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Generator[FileServer]:
    with sftp_server(write_files(tmp_path_factory.mktemp("files"))) as server:
        yield server


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, template: Path, store: FileServer) -> AsyncGenerator[Served]:
    folder = tmp_path_factory.mktemp("contents")
    (folder / "birds.json").write_text(json.dumps(DOCUMENT))
    async with tiny_runs(folder, template) as (settings, runs), serve(folder / "folder", settings, runs) as opened:
        with no_keyring():
            body = {"kind": "sftp", "options": dict(store.options), "secret": CANARY}
            tried = await opened.ask("PUT", "/connections/drop", json=body)
            assert (tried["is_open"], tried["tables"]) == (True, None), tried
            yield opened
        await BrokerClient(launch=settings.broker_launch()).stop()


@pytest.mark.slow
async def test_a_folder_is_listed_folders_first_and_recorded_as_whose_look_it_was(served: Served) -> None:
    top = await served.get("/connections/drop/files")
    assert [(each["name"], each["is_folder"], each["bytes"]) for each in top["entries"]] == [
        ("sales", True, None),
        ("readme.txt", False, 5),
    ]
    assert (top["is_folder"], top["total"], top["fitting"], top["is_cut"]) == (True, 2, 2, False)
    assert top["entries"][1]["modified"] == IsStr(min_length=19)
    inside = await served.get("/connections/drop/files?path=sales/&search=-02")
    assert [each["path"] for each in inside["entries"]] == ["sales/2024-02.csv"]
    assert (inside["path"], inside["total"], inside["fitting"]) == ("sales", 3, 1)
    [sent, *_] = (await served.get("/statements?connection=drop"))["statements"]
    assert (sent["statement"], sent["person"], sent["outcome"]) == ("LIST sales", "ada", "done")
    [listed] = (await served.get("/connections"))["connections"]
    assert (listed["ways"], listed["rows_read"]) == (["files"], 0)


async def test_a_file_is_told_by_itself_and_one_that_is_not_there_is_said_not_to_be(served: Served) -> None:
    file = await served.get("/connections/drop/files?path=sales/2024-01.csv")
    assert (file["is_folder"], [each["name"] for each in file["entries"]]) == (False, ["2024-01.csv"])
    gone = await served.get("/connections/drop/files?path=sales/2031.csv", status=400)
    assert gone["error"] == IsPartialDict(message="drop: There is no 'sales/2031.csv'.", hint=IsStr(min_length=10))
    led_out = await served.get("/connections/drop/files?path=../secret", status=400)
    assert "is no path here" in led_out["error"]["message"]
    await served.get("/connections/nobody/files", status=404)


@pytest.mark.slow
async def test_a_file_behind_a_connection_is_profiled_as_one_of_this_machine(served: Served) -> None:
    found = await served.get("/connections/drop/files/profile?path=sales/2024-01.csv")
    [table] = found["tables"]
    assert (table["rows"], [column["name"] for column in table["columns"]]) == (2, ["day", "amount"])
    assert any(note.startswith("Fetched ") for note in found["notes"])
    unread = await served.get("/connections/drop/files/profile?path=sales/deep/er/zahl%20%C3%A4.bin", status=400)
    assert "cannot be looked at" in unread["error"]["message"]
    gone = await served.get("/connections/drop/files/profile?path=nothing.csv", status=400)
    assert "There is no 'nothing.csv'" in gone["error"]["message"]


async def test_what_an_api_can_be_asked_is_told_with_what_the_connection_does_not_allow(served: Served) -> None:
    document = f"file:{served.folder.parent / 'birds.json'}"
    options = {"url": "http://127.0.0.1:9/v1", "paths": "/birds", "openapi": document, "header": "X-Key"}
    await served.ask("PUT", "/connections/birds", json={"kind": "api", "options": options | {"form": "{secret}"}})
    api = await served.get("/connections/birds/operations")
    assert api == IsPartialDict(
        origin="http://127.0.0.1:9", base="/v1", methods=["GET", "HEAD"], paths=["/v1/birds"], header="X-Key",
        stand_in="cellwright-secret:birds", title="Birds", problem="", total=3,
    )  # fmt: skip
    told = {f"{each['method']} {each['path']}": each for each in api["operations"]}
    assert told["GET /v1/birds"] == IsPartialDict(
        words="All birds.", refused="",
        parameters=[{"name": "size", "place": "query", "type": "small | large", "is_required": False, "words": ""}],
    )  # fmt: skip
    assert "POST is not allowed" in told["POST /v1/birds"]["refused"]
    assert "outside of /v1/birds" in told["GET /v1/nests/{id}"]["refused"]
    bad = options | {"openapi": "file:/no/such/file.json"}
    await served.ask("PUT", "/connections/birds", json={"kind": "api", "options": bad})
    assert "No such file" in (await served.get("/connections/birds/operations"))["problem"]
    none = await served.get("/connections/drop/operations", status=400)
    assert "is no API" in none["error"]["message"]
    await served.ask("DELETE", "/connections/birds")


async def test_data_behind_a_connection_begins_a_run_and_a_wrong_word_is_told_before(served: Served) -> None:
    for word, says in {
        "drop:nothing.csv": "There is no 'nothing.csv'",
        "lake:sales/a.csv": "no connection 'lake'. Those with files: drop.",
        "drop:../x": "is no path here",
        "s3://lake/a.csv": "is behind no connection",
    }.items():
        refused = await served.post("/runs", {"goal": "How many?", "data": [word]}, status=400)
        assert says in refused["error"]["message"]
        assert refused["error"]["hint"]
    assert (await served.get("/runs"))["runs"] == []
    begun = await served.post("/runs", {"goal": "How many?", "data": ["drop:sales/"]}, status=201)
    assert begun["run"]
