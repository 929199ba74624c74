"""What goes wrong in a route becomes an answer of one shape; our own mistakes are told without a detail."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from dirty_equals import IsStr
from fastapi import FastAPI
from inline_snapshot import snapshot

from cellwright.errors import CellwrightError, Defect, KernelLost, RefusedByPolicy, Unavailable, UserError
from cellwright.server.http.errors import Conflict, ResourceNotFound
from tests.server.http.an_open_server import OpenServer, open_server

SECRET = "ghp_" + "q7Xm2f9Kd4Lw8Rz1Vb6Nc3Ht5Jy0Gs8Pa2Qe"
ERRORS: list[CellwrightError | Exception] = [
    UserError("Bad.", hint="Mend it."),
    ResourceNotFound("Gone."),
    Conflict("Changed."),
    RefusedByPolicy("No."),
    Unavailable("Later."),
    KernelLost("Lost."),
    Defect("Ours."),
    ZeroDivisionError(SECRET),
    UserError(f"Not {SECRET} \ud800.", hint=SECRET),
]


def failing(app: FastAPI) -> None:
    @app.post("/api/v1/fail/{number}")
    async def fail(number: int) -> None:
        raise ERRORS[number]


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[OpenServer]:
    async with open_server(tmp_path_factory.mktemp("door"), template, with_routes=failing) as opened:
        yield opened


async def test_each_error_has_its_status_and_kind(server: OpenServer) -> None:
    found = list[tuple[int, str, str, str]]()
    for number in range(len(ERRORS)):
        answer = await server.client.post(f"/api/v1/fail/{number}", headers=server.bearing())
        assert SECRET not in answer.text
        error = answer.json()["error"]
        found.append((answer.status_code, error["kind"], error["message"], error["hint"]))
    assert found == snapshot(
        [
            (400, "user", "Bad.", "Mend it."),
            (404, "not_found", "Gone.", ""),
            (409, "conflict", "Changed.", ""),
            (403, "refused", "No.", ""),
            (503, "unavailable", "Later.", ""),
            (503, "unavailable", "Lost.", ""),
            (500, "defect", "Ours.", IsStr(regex=r"Please report this with its id, [0-9a-f]{8}\.")),
            (500, "defect", "The server failed.", IsStr(regex=r"Please report this with its id, [0-9a-f]{8}\.")),
            (400, "user", IsStr(regex=r"Not .+ \?\."), IsStr()),
        ]
    )


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"name": "\\ud800", "scope": "read"}', b"\xff", b'{"name":' * 2_000, b"1e999", b"null"]
)
async def test_no_body_does_more_than_be_refused(server: OpenServer, body: bytes) -> None:
    headers = server.bearing() | {"content-type": "application/json"}
    answer = await server.client.post("/api/v1/tokens", content=body, headers=headers)
    assert answer.status_code in {400, 422}
    assert answer.json()["error"]["kind"] in {"user", "invalid"}
