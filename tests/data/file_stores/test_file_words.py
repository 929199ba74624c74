"""File words through a broker, its worker and a real server of each kind: one suite for all of them."""

from __future__ import annotations

import os
import re
from hashlib import sha256

import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.data.messages import FilePart, ListFiles, ListStatements, ReadFile, StatFile
from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.secrets import keep_secret
from tests.data.file_stores.servers import FILES, FileServer

BINARY = next(path for path in FILES if path.endswith(".bin"))


@pytest.fixture
def client(running: BrokerClient, server: FileServer) -> BrokerClient:
    connection = server.connection()
    store_connection(running.launch.home, connection)
    keep_secret(running.launch.home, connection.secret_name, server.secret, "file")
    return running


def content(part: FilePart) -> bytes:
    with os.fdopen(part.descriptor, "rb") as file:
        return file.read()


@pytest.mark.slow
async def test_a_folder_is_listed_one_level_or_all_below(client: BrokerClient, server: FileServer) -> None:
    at = server.prefix
    level = await client.files(ListFiles(connection="lake", path=f"{at}sales"))
    assert [(entry.path, entry.is_folder) for entry in level.entries] == [
        (f"{at}sales/2024-01.csv", False),
        (f"{at}sales/2024-02.csv", False),
        (f"{at}sales/deep", True),
    ]
    every = await client.files(ListFiles(connection="lake", path=at, recursive=True))
    assert [entry.path for entry in every.entries] == sorted(f"{at}{path}" for path in FILES)
    assert not every.is_cut
    if server.kind != "http":
        assert {entry.size for entry in every.entries} == {len(data) for data in FILES.values()}


@pytest.mark.slow
async def test_a_file_has_a_size_and_a_version_and_ranges_of_it_are_read(
    client: BrokerClient, server: FileServer
) -> None:
    path, data = f"{server.prefix}{BINARY}", FILES[BINARY]
    found = await client.stat(StatFile(connection="lake", path=path))
    assert (found.path, found.size, found.is_folder) == (path, len(data), False)
    assert found.version and found.modified
    if server.kind != "http":
        # What a list says of a file is what it is read by.
        listed = (await client.files(ListFiles(connection="lake", path=path.rpartition("/")[0]))).entries
        assert [(entry.path, entry.version) for entry in listed] == [(path, found.version)]
    part = await client.read(ReadFile(connection="lake", path=path, start=1000, length=500, version=found.version))
    assert (part.size, part.version, part.sha256) == (500, found.version, sha256(data[1000:1500]).hexdigest())
    assert content(part) == data[1000:1500]
    assert content(await client.read(ReadFile(connection="lake", path=path))) == data
    folder = await client.stat(StatFile(connection="lake", path=f"{server.prefix}sales"))
    assert folder.is_folder


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nothing.csv", "There is no"),
        ("../secret", "is no path here"),
        ("a/../../b", "is no path here"),
        ("a\\b", "is no path here"),
    ],
)
async def test_what_is_not_there_or_outside_is_told_in_a_sentence(
    client: BrokerClient, server: FileServer, path: str, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        await client.read(ReadFile(connection="lake", path=f"{server.prefix}{path}", length=10))
    with pytest.raises(UserError, match=says):
        await client.stat(StatFile(connection="lake", path=f"{server.prefix}{path}"))


async def test_another_version_or_more_than_there_is_or_may_be_is_not_read(
    client: BrokerClient, server: FileServer
) -> None:
    path = f"{server.prefix}readme.txt"
    with pytest.raises(Unavailable, match="changed while it was read"):
        await client.read(ReadFile(connection="lake", path=path, length=2, version="another"))
    with pytest.raises(CellwrightError):
        await client.read(ReadFile(connection="lake", path=path, start=0, length=100))
    with pytest.raises(UserError, match="more than the"):
        await client.read(ReadFile(connection="lake", path=path, length=1 << 40))


async def test_every_word_has_a_line_in_the_audit(client: BrokerClient, server: FileServer) -> None:
    path = f"{server.prefix}readme.txt"
    await client.files(ListFiles(connection="lake", path=server.prefix))
    await client.stat(StatFile(connection="lake", path=path))
    content(await client.read(ReadFile(connection="lake", path=path, start=1, length=3)))
    lines = await client.statements(ListStatements(connection="lake", most=3))
    assert [(line.statement, line.outcome, line.bytes) for line in reversed(lines)] == [
        (f"LIST {server.prefix}".rstrip("/"), "done", None),
        (f"STAT {path}", "done", None),
        (f"READ {path} 1-3", "done", 3),
    ]


@pytest.mark.slow
async def test_a_wrong_secret_is_told_and_shown_nowhere(running: BrokerClient, server: FileServer) -> None:
    home, wrong = running.launch.home, "wr0ng-canary-secret"
    connection = server.connection("wrong")
    store_connection(home, connection)
    keep_secret(home, connection.secret_name, wrong, "file")
    with pytest.raises(CellwrightError) as problem:
        await running.files(ListFiles(connection="wrong", path=server.prefix))
    assert "does not accept the key or secret" in problem.value.message
    assert wrong not in f"{problem.value.message}{problem.value.hint}"
    with pytest.raises(CellwrightError):
        await running.try_connection("wrong")


@pytest.mark.slow
async def test_a_connection_is_tried_by_listing_it(client: BrokerClient, server: FileServer) -> None:
    tried = await client.try_connection("lake")
    assert tried.server.endswith(", 2 files and folders at its top")
    assert tried.tables is None


@pytest.mark.slow
async def test_nobody_at_the_address_is_told(running: BrokerClient, server: FileServer) -> None:
    changed = {"url": "http://127.0.0.1:9"} if "url" in server.options else {}
    changed |= {"endpoint": "http://127.0.0.1:9"} if "endpoint" in server.options else {}
    changed |= {"port": "9"} if "port" in server.options else {}
    store_connection(running.launch.home, server.connection("away", **changed))
    # A service account's file says itself where it leads.
    away = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", server.secret)
    keep_secret(running.launch.home, "data:away", away, "file")
    with pytest.raises(Unavailable, match="cannot be reached"):
        await running.files(ListFiles(connection="away", path=server.prefix))
