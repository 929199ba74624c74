"""What a request passes before a route sees it: rebound names, other pages, floods, and bodies without end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from dirty_equals import IsStr
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.server.http.auth.middleware import RateLimiter, RequestLimits, RequestRate
from tests.server.http.a_served_folder import RunsTestbed, tiny_runs
from tests.server.http.an_open_server import EDITOR, SECONDS, OpenServer, server_of

SMALL = RequestLimits(
    body_bytes=2_000,
    file_bytes=4_000,
    patience_seconds=0.2,
    token=RequestRate(at_once=3, per_second=0.001),
    address=RequestRate(at_once=100, per_second=100),
    stranger=RequestRate(at_once=4, per_second=0.001),
)
API_CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
NEW_TOKEN = {"name": "ci", "scope": "read"}
WAYS_IN = pytest.mark.parametrize("path", ["/api/v1/tokens", "/mcp"])


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[RunsTestbed]:
    async with tiny_runs(tmp_path_factory.mktemp("testbed"), template) as opened:
        yield opened


@pytest.fixture(scope="module")
async def wide(testbed: RunsTestbed) -> AsyncGenerator[OpenServer]:
    async with server_of(testbed) as opened:
        yield opened


@pytest.fixture
def server(wide: OpenServer) -> Generator[OpenServer]:
    yield wide
    wide.forget()


@pytest.fixture(scope="module")
async def narrow(testbed: RunsTestbed) -> AsyncGenerator[OpenServer]:
    """Each test has tokens of its own; only one may come without any: strangers are counted together."""
    async with server_of(testbed, limits=SMALL) as opened:
        yield opened


def kind(answer: Any) -> str:
    match answer:
        case {"error": {"kind": str(found), "message": str(), "hint": str()}}:
            return found
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost:{port}.evil.example", ""]
)
async def test_a_name_that_was_rebound_to_this_machine_is_refused(server: OpenServer, host: str) -> None:
    for path in ("/", "/api/v1/health", "/api/v1/tokens", "/mcp"):
        headers = server.bearing() | {"host": host.format(port=server.port)}
        answer = await server.client.get(path, headers=headers)
        assert (answer.status_code, kind(answer.json())) == (403, "refused")


async def test_the_machines_own_names_are_served(server: OpenServer) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        answer = await server.client.get("/api/v1/health", headers={"host": f"{name}:{server.port}"})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": EDITOR},
        {"origin": "http://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    ],
)
async def test_pages_of_other_origins_and_the_editor_cannot_use_the_api_even_with_a_token(
    server: OpenServer, sent: dict[str, str]
) -> None:
    headers = server.bearing() | sent
    for method, path in (
        ("GET", "/api/v1/tokens"),
        ("POST", "/api/v1/tokens"),
        ("POST", "/api/v1/session"),
        ("POST", "/mcp"),
    ):
        answer = await server.client.request(method, path, headers=headers, json=NEW_TOKEN)
        assert (answer.status_code, kind(answer.json())) == (403, "refused")
    assert [token.name for token in server.tokens.all()] == ["test"]


async def test_a_link_to_the_page_works_and_nothing_else_from_elsewhere(server: OpenServer) -> None:
    from_elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert (await server.client.get("/", headers=from_elsewhere)).status_code in {200, 503}
    for dest in ("iframe", "script", "image"):
        answer = await server.client.get("/", headers=from_elsewhere | {"sec-fetch-dest": dest})
        assert answer.status_code == 403


async def test_a_change_without_an_origin_needs_a_token(server: OpenServer) -> None:
    code = {"one_time": server.tokens.starts.make()}
    answer = await server.client.post("/api/v1/session", json=code)
    assert (answer.status_code, kind(answer.json())) == (401, "not_admitted")
    own_page = {"origin": server.addresses.origin, "sec-fetch-site": "same-origin"}
    assert (await server.client.post("/api/v1/session", json=code, headers=own_page)).status_code == 200
    assert (await server.client.post("/api/v1/tokens", json=NEW_TOKEN, headers=server.bearing())).status_code == 200


async def test_a_header_said_twice_is_refused(server: OpenServer) -> None:
    for path, name in product(("/api/v1/session", "/mcp"), ("host", "origin", "authorization")):
        said = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
        said += f"{name}: a\r\n{name}: b\r\n\r\n".encode()
        async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
            await stream.send(said)
            assert b" 400 " in await first_line(stream)


async def test_every_answer_has_headers_that_keep_it_to_itself_and_no_cookie(server: OpenServer) -> None:
    api = (await server.client.get("/api/v1/health", headers={"cookie": "a=b"})).headers
    assert {name: value for name, value in api.items() if name not in {"date", "content-length"}} == snapshot(
        {
            "content-type": "application/json",
            "x-content-type-options": "nosniff",
            "origin-agent-cluster": "?1",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
            "content-security-policy": API_CSP,
            "cache-control": "no-store",
            "cellwright-api": "1",
        }
    )
    page = (await server.client.get("/")).headers
    assert page["content-security-policy"] == snapshot(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; frame-src http://127.0.0.1:8999; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'none'"
    )
    for path in ("/nowhere", "/api/v1/nowhere", "/api/v1/tokens"):
        refused = (await server.client.get(path)).headers
        assert refused["x-content-type-options"] == "nosniff"
        assert "content-security-policy" in refused


@WAYS_IN
async def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(narrow: OpenServer, path: str) -> None:
    answer = await narrow.client.post(path, content=b" " * 2_001, headers=narrow.bearing())
    assert (answer.status_code, kind(answer.json())) == (413, "too_large")
    chunk = f"{2_001:x}\r\n".encode() + b" " * 2_001 + b"\r\n"
    assert b" 413 " in await posted(narrow, path, "Transfer-Encoding: chunked", chunk)


@WAYS_IN
async def test_a_body_that_never_comes_is_given_up(narrow: OpenServer, path: str) -> None:
    assert b" 408 " in await posted(narrow, path, "Content-Length: 10", b"{")


async def test_too_many_requests_of_one_token_are_refused_wherever_and_others_are_not(narrow: OpenServer) -> None:
    busy, other = narrow.bearing(), narrow.bearing()
    for _ in range(3):
        # No message of the protocol: refused by it, and counted all the same.
        assert (await narrow.client.post("/mcp", headers=busy, json={})).status_code in {400, 406}
    assert (await narrow.client.post("/mcp", headers=busy, json={})).status_code == 429
    busy = narrow.bearing()
    found = [(await narrow.client.get("/api/v1/session", headers=busy)).status_code for _ in range(5)]
    assert found == [200, 200, 200, 429, 429]
    refused = await narrow.client.get("/api/v1/session", headers=busy)
    assert (kind(refused.json()), int(refused.headers["retry-after"]) >= 1) == ("too_many", True)
    assert (await narrow.client.get("/api/v1/session", headers=other)).status_code == 200


async def test_whoever_guesses_tokens_is_stopped_and_does_not_lock_others_out(narrow: OpenServer) -> None:
    wrong = {"authorization": "Bearer cw_guess"}
    found = [(await narrow.client.get("/api/v1/session", headers=wrong)).status_code for _ in range(6)]
    assert found == [401, 401, 401, 401, 429, 429]
    page = {"origin": narrow.addresses.origin}
    code = {"one_time": narrow.tokens.starts.make()}
    assert (await narrow.client.post("/api/v1/session", json=code, headers=page)).status_code == 429
    assert (await narrow.client.get("/api/v1/session", headers=narrow.bearing())).status_code == 200
    assert (await narrow.client.get("/api/v1/health")).status_code == 200


# The journal's threads draw random numbers meanwhile, which Hypothesis takes for the strategy's.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@given(st.lists(st.floats(min_value=0, max_value=50), max_size=60))
def test_no_rhythm_gets_more_than_the_rate(waits: list[float]) -> None:
    now, taken = 0.0, 0
    rates = RateLimiter(RequestRate(at_once=5, per_second=0.5), clock=lambda: now)
    for wait_seconds in waits:
        now += wait_seconds
        taken += rates.take("somebody") == 0
    assert taken <= 5 + now * 0.5 + 1e-6


def test_who_waits_as_told_may_go_on() -> None:
    now = 0.0
    rates = RateLimiter(RequestRate(at_once=1, per_second=0.1), clock=lambda: now)
    assert rates.take("somebody") == 0
    now += rates.take("somebody") + 0.001
    assert rates.take("somebody") == 0


def test_a_flood_of_names_does_not_fill_the_memory() -> None:
    rates = RateLimiter(RequestRate(at_once=1, per_second=0.001), clock=lambda: 0.0)
    for number in range(20_000):
        rates.take(str(number))
    assert len(rates) <= 10_000


async def posted(server: OpenServer, path: str, how: str, body: bytes) -> bytes:
    """The first line of the answer to a request whose body has begun like this."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: {server.bearing()['authorization']}\r\n{how}\r\n\r\n"
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
        await stream.send(head.encode() + body)
        return await first_line(stream)


async def first_line(stream: SocketStream) -> bytes:
    said = b""
    with anyio.fail_after(SECONDS):
        while b"\r\n" not in said:
            said += await stream.receive()
    return said.split(b"\r\n")[0]


@pytest.mark.slow
async def test_an_address_nobody_knows_and_a_method_it_does_not_take_are_told_in_the_same_shape(
    server: OpenServer,
) -> None:
    answer = await server.client.get("/api/v1/nowhere", headers=server.bearing())
    assert (answer.status_code, kind(answer.json())) == (404, "not_found")
    answer = await server.client.put("/api/v1/tokens", headers=server.bearing())
    assert (answer.status_code, kind(answer.json()), answer.headers["allow"]) == (405, "user", "GET, POST")
    answer = await server.client.post("/api/v1/tokens", json={"name": 3}, headers=server.bearing())
    assert (answer.status_code, answer.json()) == snapshot(
        (
            422,
            {
                "error": {
                    "kind": "invalid",
                    "message": IsStr(),
                    "hint": "See /api/v1/openapi.json.",
                }
            },
        )
    )
