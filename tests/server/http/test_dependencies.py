"""Who is let in: every route of the API without, with an expired and with too weak a token; revoked ones at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsPositiveInt, IsStr
from inline_snapshot import snapshot

from cellwright.background import current_person
from cellwright.server.http.auth.middleware import RequestLimits, RequestRate
from cellwright.server.http.auth.tokens import SCOPES
from tests.server.http.an_open_server import SECONDS, OpenServer, open_server

ANYBODY = {("GET", "/api/v1/health"), ("POST", "/api/v1/session")}
OF_READERS = {("DELETE", "/api/v1/session"), ("POST", "/api/v1/rules/why")}
"""Not a GET, and yet nobody else's business: leaving, and a question too long for an address."""


PATIENT = RequestLimits(stranger=RequestRate(at_once=10_000, per_second=10_000))


@pytest.fixture(scope="module")
async def patient(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[OpenServer]:
    async with open_server(tmp_path_factory.mktemp("patient"), template, limits=PATIENT) as opened:
        yield opened


@pytest.fixture
def server(patient: OpenServer) -> Generator[OpenServer]:
    yield patient
    patient.forget()


async def operations(server: OpenServer) -> list[tuple[str, str, dict[str, Any]]]:
    """Every operation in the API's document: method, address with every name filled in, and what is said of it."""
    document = (await server.client.get("/api/v1/openapi.json")).json()
    found = list[tuple[str, str, dict[str, Any]]]()
    for path, methods in document["paths"].items():
        parts = ["1" if part.startswith("{") else part for part in path.split("/")]
        found += [(method.upper(), "/".join(parts), said) for method, said in methods.items()]
    return found


async def test_every_route_of_the_api_refuses_whoever_has_no_token_that_counts(server: OpenServer) -> None:
    expired = server.bearing(seconds=0)
    revoked = server.bearing()
    for token in server.tokens.all():
        server.tokens.revoke(token.id)
    asked = [each for each in await operations(server) if each[:2] not in ANYBODY]
    assert asked
    for method, path, _ in asked:
        for headers in ({}, expired, revoked, {"authorization": "Basic YTpi"}, {"authorization": "Bearer"}):
            own = headers | {"origin": server.addresses.origin}
            answer = await server.client.request(method, path, headers=own)
            assert answer.status_code == 401, (method, path, answer.text)


async def test_every_route_but_those_that_only_read_refuses_too_weak_a_token(server: OpenServer) -> None:
    reader = server.bearing("read")
    for method, path, _ in await operations(server):
        if method != "GET" and (method, path) not in ANYBODY | OF_READERS:
            answer = await server.client.request(method, path, headers=reader, json={})
            assert answer.status_code == 403, (method, path, answer.text)


async def test_every_operation_says_what_it_is_and_that_it_needs_a_token(server: OpenServer) -> None:
    found = await operations(server)
    names = [said["operationId"] for _, _, said in found]
    assert len(set(names)) == len(names)
    for method, path, said in found:
        assert said["summary"] and said["tags"], path
        assert ("security" in said) == ((method, path) not in ANYBODY), path


async def test_each_scope_may_what_those_before_it_may(server: OpenServer) -> None:
    for scope in SCOPES:
        bearing = server.bearing(scope)
        assert (await server.client.get("/api/v1/session", headers=bearing)).json()["scope"] == scope
        answer = await server.client.get("/api/v1/tokens", headers=bearing)
        assert answer.status_code == (200 if scope == "admin" else 403)


async def test_a_start_code_lets_one_browser_in_once(server: OpenServer) -> None:
    page = {"origin": server.addresses.origin, "sec-fetch-site": "same-origin"}
    url = server.addresses.url(server.tokens.starts.make())
    code = {"one_time": url.partition("#start=")[2]}
    session = (await server.client.post("/api/v1/session", json=code, headers=page)).json()
    assert session == snapshot(
        {
            "token_id": IsStr(),
            "person": IsStr(),
            "scope": "admin",
            "expires_ms": IsPositiveInt(),
            "token": IsStr(regex=r"cw_[\w-]{43}"),
        }
    )
    assert session["person"] == current_person()
    again = await server.client.post("/api/v1/session", json=code, headers=page)
    assert (again.status_code, again.json()["error"]["hint"]) == (401, "`cellwright serve url` gives a fresh one.")
    bearing = page | {"authorization": f"Bearer {session['token']}"}
    assert (await server.client.get("/api/v1/session", headers=bearing)).json()["token_id"] == session["token_id"]
    assert (await server.client.delete("/api/v1/session", headers=bearing)).json() == {"id": session["token_id"]}
    assert (await server.client.get("/api/v1/session", headers=bearing)).status_code == 401


async def test_a_token_made_over_the_api_is_shown_once_and_revoked_at_once(server: OpenServer) -> None:
    admin = server.bearing()
    body = {"name": "ci", "scope": "steer", "person": "robot", "days": 1}
    created = (await server.client.post("/api/v1/tokens", json=body, headers=admin)).json()
    assert set(created) == {"id", "token", "scope", "expires_ms"}
    listed = await server.client.get("/api/v1/tokens", headers=admin)
    assert [(each["name"], each["person"], each["is_own"]) for each in listed.json()["tokens"]] == [
        ("test", "ada", True),
        ("ci", "robot", False),
    ]
    assert created["token"] not in listed.text
    robot = {"authorization": f"Bearer {created['token']}"}
    assert (await server.client.get("/api/v1/session", headers=robot)).json()["person"] == "robot"
    assert (await server.client.delete(f"/api/v1/tokens/{created['id']}", headers=admin)).status_code == 200
    assert (await server.client.get("/api/v1/session", headers=robot)).status_code == 401
    assert (await server.client.delete(f"/api/v1/tokens/{created['id']}", headers=admin)).status_code == 404


async def test_what_is_being_answered_ends_when_its_token_is_revoked(server: OpenServer) -> None:
    """An upload that waits for the rest of its body stands for everything that lasts."""
    bearing = server.bearing("steer")
    head = f"PUT /api/v1/files/a.csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 10\r\n"
    head += f"Authorization: {bearing['authorization']}\r\n\r\nx"
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
        await stream.send(head.encode())
        with anyio.fail_after(SECONDS):
            while not server.presence.count:  # noqa: ASYNC110 (the other end of a socket)
                await anyio.sleep(0.01)
            server.presence.end_unless(server.tokens.stands)
            assert server.presence.count == 1
            server.tokens.revoke(server.tokens.all()[0].id)
            server.presence.end_unless(server.tokens.stands)
            assert b" 401 " in await stream.receive()
    assert server.presence.count == 0
