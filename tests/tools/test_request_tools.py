"""Requests that change something: asked about with method and path, sent once, refused with what to do instead."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import ListStatements
from cellwright.errors import UserError
from cellwright.policy.actions import QueryConnection
from cellwright.secrets import keep_secret
from cellwright.tools.request_tools import request_tools
from cellwright.tools.tool import Done, ToolError
from tests.data.shop import broker_client, finished_statements
from tests.data.web_worker.api_server import API_SECRET, ApiServer, api_server


@pytest.fixture(scope="module")
def api() -> Generator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture(scope="module")
def client(api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("sending") / "home") as client:
        home = client.launch.home
        for name, methods in (("crm", "GET,POST"), ("still", "GET,HEAD")):
            connection = DataConnection(name=name, kind="api", options={"url": api.url, "methods": methods})
            store_connection(home, connection)
            keep_secret(home, connection.secret_name, API_SECRET, "file")
        yield client


@pytest.fixture
async def connections(client: BrokerClient, api: ApiServer, tmp_path: Path) -> AsyncGenerator[NotebookConnections]:
    api.forget()
    async with open_notebook_connections(
        client, notebook=tmp_path / "a.py", project=tmp_path, run="r", named=("crm", "still")
    ) as opened:
        yield opened


def arguments(connections: NotebookConnections, **given: str) -> tuple[Any, Any]:
    [tool] = request_tools(connections)
    parsed = tool.parse({"connection": "crm", "method": "POST", "path": "/notes", **given})
    return tool, parsed


async def test_a_person_is_asked_with_the_connection_method_path_and_body_and_it_is_sent_once(
    connections: NotebookConnections, client: BrokerClient, api: ApiServer
) -> None:
    tool, parsed = arguments(connections, body='{"text": "hello"}')
    wanted = await tool.action(parsed)
    assert wanted == QueryConnection(
        connection="crm",
        access="write",
        statement='POST /notes\n\n{"text": "hello"}',
        touches="Sent once, with 17 bytes. It cannot be tried first.",
    )
    assert "Change data through the connection crm:" in wanted.describe()
    assert api.seen == []
    sent = await tool.run(parsed, None)
    assert isinstance(sent, Done)
    assert sent.value == {
        "outcome": "done",
        "status": 200,
        "answer": {"rows": [{"ok": True}], "row_count": 1, "has_more": False},
    }
    assert [(method, path) for method, path, _ in api.seen] == [("POST", "/notes")]
    assert api.bodies == [b'{"text": "hello"}']
    assert API_SECRET not in sent.text
    [line] = await finished_statements(client, ListStatements(connection="crm", run="r"))
    assert (line.statement, line.access, line.outcome) == ("POST /notes", "write", "done")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "DELETE"}, "A person can let crm take GET,POST,DELETE."),
        ({"connection": "still"}, "A person can let still take GET,HEAD,POST."),
        ({"path": "/notes/../secret"}, "the path has . or .. or control characters"),
        ({"connection": "nobody"}, "No connection is called 'nobody'"),
    ],
)
async def test_what_the_connection_does_not_take_is_told_with_the_command_that_allows_it_before_anybody_is_asked(
    given: dict[str, str], says: str, connections: NotebookConnections, api: ApiServer
) -> None:
    tool, parsed = arguments(connections, **given)
    with pytest.raises(UserError) as refused:
        await tool.action(parsed)
    assert says in f"{refused.value.message} {refused.value.hint}"
    assert api.seen == []


@pytest.mark.parametrize("given", [{"method": "GET"}, {"path": "notes"}, {"content_type": "a\r\nX: y"}])
async def test_what_is_no_such_request_is_told_at_once(given: dict[str, str], connections: NotebookConnections) -> None:
    _, parsed = arguments(connections, **given)
    assert isinstance(parsed, ToolError)


async def test_where_every_connection_only_reads_there_is_no_such_tool(client: BrokerClient, tmp_path: Path) -> None:
    async with open_notebook_connections(
        client, notebook=tmp_path / "a.py", project=tmp_path, named=("still",)
    ) as connections:
        assert request_tools(connections) == []
