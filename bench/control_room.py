"""A control room on the bench: the daemon of a `RunTestbed` with its web door open, and somebody with a token."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from bench.failure import BenchFailed
from bench.run_testbed import RunTestbed
from bench.stage import Stage
from cellwright.server.daemon.launch import DaemonLaunch
from cellwright.server.http.addresses import WebOptions

API: Final = "/api/v1"
_ANSWER_SECONDS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRoom:
    """What a browser would have."""

    testbed: RunTestbed
    origin: str
    token: str
    _client: httpx.AsyncClient

    @classmethod
    @asynccontextmanager
    async def open(cls, stage: Stage, *, launch: DaemonLaunch | None = None) -> AsyncGenerator[ControlRoom]:
        """A daemon of its own, as `cellwright serve --detach` starts it."""
        async with RunTestbed.open(stage, launch=launch) as testbed:
            opened = await testbed.daemon.web(WebOptions(folder=str(testbed.project)))
            async with httpx.AsyncClient(base_url=opened.origin + API, timeout=_ANSWER_SECONDS) as client:
                one_time = opened.url.partition("#start=")[2]
                session = await client.post("/session", json={"one_time": one_time}, headers={"origin": opened.origin})
                token = _answer(session)["token"]
                client.headers["authorization"] = f"Bearer {token}"
                yield cls(testbed=testbed, origin=opened.origin, token=token, _client=client)

    @property
    def port(self) -> int:
        """Where it listens."""
        port = urlsplit(self.origin).port
        assert port is not None
        return port

    async def address(self) -> str:
        """One that lets a browser in, once."""
        return (await self.testbed.daemon.web()).url

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """What the API answers. `BenchFailed` if it refuses."""
        return _answer(await self._client.post(path, json=body))


def _answer(response: httpx.Response) -> Any:
    if response.is_error:
        raise BenchFailed(f"{response.request.url.path} answered {response.status_code}: {response.text[:500]}")
    return response.json()
