"""Search engines: what they answer is read wherever it stands, and asked for through the egress alone."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Generator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.workspaces import ask_api, post_to_api
from cellwright.data.connections import DataConnection, store_connection
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.kernel.pool import KernelPool
from cellwright.policy.actions import CallServerTool
from cellwright.runs.goal.goal import Goal
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.secrets import keep_secret
from cellwright.tools.evidence.server_search import ServerSearch
from cellwright.tools.evidence.web_search import (
    BraveSearch,
    SearxngSearch,
    TavilySearch,
    WebHit,
    WebSearch,
    hits_in,
    read_search,
)
from cellwright.tools.tool import ToolError
from cellwright.tools.web_tools import EgressFetch
from tests.data.shop import broker_client
from tests.data.web_worker.api_server import API_SECRET, ApiServer, api_server
from tests.tools.mcp.odd_servers import definition, odd_servers, put_odd_server

FOUND = {
    "results": [{"url": "https://a.example/1", "title": "A  page", "content": "About mills."}, {"url": "ftp://no"}]
}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        is_asked = self.path == "/search?q=paper%20mills&format=json"
        body = json.dumps(FOUND).encode() if is_asked else b"<html>"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def port() -> Generator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


async def resolve(host: str) -> list[IPv4Address | IPv6Address]:
    return [IPv4Address("127.0.0.1")]


async def test_an_engine_of_ones_own_is_asked_through_the_egress(port: int) -> None:
    fetch = EgressFetch(private_hosts=["searx.example"], resolve=resolve)
    search = SearxngSearch(address=f"http://searx.example:{port}/", fetch=fetch)
    wanted = search.action("paper mills")
    assert (wanted.host, wanted.port) == ("searx.example", port)
    [hit] = await _found(search, "paper mills")
    assert hit == WebHit(address="https://a.example/1", title="A page", says="About mills.")
    refused = await search.find("something else", 5)
    assert isinstance(refused, ToolError)
    assert refused.hint == "Its `formats` must have json."


async def test_a_private_engine_nobody_approved_is_not_reached(port: int) -> None:
    refused = await SearxngSearch(address=f"http://searx.example:{port}", fetch=EgressFetch(resolve=resolve)).find(
        "a", 1
    )
    assert isinstance(refused, ToolError)


async def _found(search: WebSearch, query: str) -> tuple[WebHit, ...]:
    found = await search.find(query, 5)
    assert not isinstance(found, ToolError)
    return found


def test_pages_are_found_wherever_an_answer_has_them() -> None:
    brave = {"web": {"results": [{"url": "https://a.example", "title": "A", "description": "d"}]}, "news": FOUND}
    assert [hit.address for hit in hits_in(brave)] == ["https://a.example", "https://a.example/1"]


def test_an_engine_that_is_none_is_told() -> None:
    assert read_search("brave:web") == ("brave", "web")
    assert read_search("tavily:web") == ("tavily", "web")
    assert read_search("mcp:odd/web_search") == ("mcp", "odd/web_search")
    for typed in (
        "google:x",
        "searxng:nowhere",
        "brave:https://x",
        "tavily:https://x",
        "mcp:odd",
        "mcp:/x",
        "mcp:odd/",
    ):
        with pytest.raises(UserError, match="is no search engine"):
            read_search(typed)


# ── through a connection, whose key only the broker has ──


@pytest.fixture(scope="module")
def api() -> Generator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
async def connections(api: ApiServer, tmp_path: Path) -> AsyncGenerator[NotebookConnections]:
    api.forget()
    with broker_client(tmp_path / "home") as client:
        for name, methods in (("engine", "GET,POST"), ("still", "GET,HEAD")):
            connection = DataConnection(name=name, kind="api", options={"url": api.url, "methods": methods})
            store_connection(client.launch.home, connection)
            keep_secret(client.launch.home, connection.secret_name, API_SECRET, "file")
        async with open_notebook_connections(
            client, notebook=tmp_path / "a.py", project=tmp_path, run="r", named=("engine", "still")
        ) as opened:
            yield opened


async def test_engines_behind_connections_are_asked_with_a_key_that_only_the_broker_has(
    connections: NotebookConnections, api: ApiServer
) -> None:
    brave = BraveSearch(connection="engine", ask=partial(ask_api, connections))
    assert brave.action("mills") is None
    assert [hit.address for hit in await _found(brave, "paper mills")] == [f"https://a.example/{at}" for at in range(4)]
    assert api.paths == ["/res/v1/web/search?q=paper%20mills&count=5"]
    tavily = TavilySearch(connection="engine", post=partial(post_to_api, connections))
    assert await _found(tavily, "paper mills") == (
        WebHit(address="https://b.example", title="paper mills", says="Mills."),
    )
    assert json.loads(api.bodies[0]) == {"query": "paper mills", "max_results": 5}
    assert api.seen[-1][2]["authorization"] == f"Bearer {API_SECRET}"
    still = TavilySearch(connection="still", post=partial(post_to_api, connections))
    with pytest.raises(UserError, match="'still' does not take POST"):
        await still.find("paper mills", 5)


# ── with a tool of a tool server ──


async def test_a_tool_of_a_server_searches_and_each_call_is_judged_as_one_of_it(
    pool: KernelPool, tmp_path: Path
) -> None:
    reads = {"readOnlyHint": True}
    put_odd_server(tmp_path / "project", [definition("search", annotations=reads), definition("tells")])
    async with odd_servers(pool, tmp_path, has_tools=True) as servers:
        search = ServerSearch(servers=servers, server="odd", tool="search")
        wanted = CallServerTool(server="odd", tool="search", arguments='{"query": "paper mills"}')
        assert search.action("paper mills") == wanted
        found = await _found(search, "paper mills")
        assert found == (WebHit(address="https://a.example/1", title="paper mills", says="Mills."),)
        tells = ServerSearch(servers=servers, server="odd", tool="tells")
        assert tells.action("mills").may_change
        line = "- Mills (https://b.example/2), and https://b.example/3."
        assert await _found(tells, "mills") == (
            WebHit(address="https://b.example/2", title=line),
            WebHit(address="https://b.example/3", title=line),
        )
        with pytest.raises(RefusedByPolicy, match="is there no more"):
            await ServerSearch(servers=servers, server="odd", tool="nothing").find("mills", 5)


def test_a_goal_names_what_its_engine_is_asked_through(tmp_path: Path) -> None:
    def goal(search: str) -> Goal:
        typed = GoalRequest(words="Why?", wants="research", search=search)
        return read_goal(typed, person="ada", here=tmp_path, known_connections=["web"], known_tools=["odd"])

    assert goal("tavily:web").connections == ("web",)
    assert goal("mcp:odd/search").tools == ("odd",)
    for search in ("tavily:other", "mcp:other/search"):
        with pytest.raises(UserError, match="is called 'other'"):
            goal(search)
