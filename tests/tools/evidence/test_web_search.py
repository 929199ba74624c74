"""Search engines: what they answer is read wherever it stands, and asked for through the egress alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address

import pytest

from cellwright.errors import UserError
from cellwright.tools.evidence.web_search import SearxngSearch, WebHit, hits_in, read_search
from cellwright.tools.tool import ToolError
from cellwright.tools.web_tools import EgressFetch

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
    assert search.action is not None
    assert (search.action.host, search.action.port) == ("searx.example", port)
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


async def _found(search: SearxngSearch, query: str) -> tuple[WebHit, ...]:
    found = await search.find(query, 5)
    assert not isinstance(found, ToolError)
    return found


def test_pages_are_found_wherever_an_answer_has_them() -> None:
    brave = {"web": {"results": [{"url": "https://a.example", "title": "A", "description": "d"}]}, "news": FOUND}
    assert [hit.address for hit in hits_in(brave)] == ["https://a.example", "https://a.example/1"]


def test_an_engine_that_is_none_is_told() -> None:
    assert read_search("brave:web") == ("brave", "web")
    for typed in ("google:x", "searxng:nowhere", "brave:https://x"):
        with pytest.raises(UserError, match="is no search engine"):
            read_search(typed)
