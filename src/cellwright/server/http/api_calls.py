"""Calls of the API in this process: the same operations, scopes, masks and errors as over HTTP, without a socket."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import anyio
from starlette.types import ASGIApp, Message

from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.server.http.addresses import API
from cellwright.server.http.auth.dependencies import CALLER
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import REPORT_HEADER, read_error


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCalls:
    """The API, as one caller has it."""

    app: ASGIApp
    """`http.application.api_application`."""
    caller: ApiCaller

    def by(self, caller: ApiCaller) -> ApiCalls:
        """The same for another caller."""
        return replace(self, caller=caller)

    async def get(self, path: str, **query: object) -> Any:
        """What is answered. Raises what the operation raises."""
        return json.loads(await self.read("GET", path, query=query))

    async def post(self, path: str, body: object) -> Any:
        """What is answered. Raises what the operation raises."""
        return json.loads(await self.read("POST", path, body=body))

    async def read(self, method: str, path: str, *, body: object = None, query: Mapping[str, object] = {}) -> bytes:
        """The body of the answer. Raises what the operation raises."""
        status, headers, answered = 500, dict[bytes, bytes](), list[bytes]()
        sent = b"" if body is None else json.dumps(body).encode()
        is_sent = False

        async def receive() -> Message:
            nonlocal is_sent
            if is_sent:
                return {"type": "http.disconnect"}
            is_sent = True
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers.update(message["headers"])
            else:
                answered.append(message.get("body", b""))

        scope = self._scope(method, API + path, urlencode({k: v for k, v in query.items() if v is not None}))
        await self.app(scope, receive, send)
        data = b"".join(answered)
        if status >= 400:
            raise read_error(data, headers.get(REPORT_HEADER.encode(), b"").decode("latin-1"))
        return data

    @asynccontextmanager
    async def stream(self, path: str, **query: object) -> AsyncGenerator[AsyncIterator[bytes]]:
        """An answer that goes on until the block ends. Raises what the operation raises before it begins."""
        to_reader, chunks = anyio.create_memory_object_stream[bytes](16)
        scope, begun = self._scope("GET", API + path, urlencode(query)), anyio.Event()
        status, problem = 500, b""

        async def receive() -> Message:
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            nonlocal status, problem
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= 400:
                problem += message.get("body", b"")
            else:
                begun.set()
                await to_reader.send(message.get("body", b""))

        async def answer() -> None:
            async with to_reader:
                await self.app(scope, receive, send)
            begun.set()

        with unwrap_single_error():
            async with chunks, anyio.create_task_group() as tasks:
                tasks.start_soon(answer)
                await begun.wait()
                if status >= 400:
                    raise read_error(problem, "")
                yield chunks
                tasks.cancel_scope.cancel()

    def _scope(self, method: str, path: str, query: str) -> dict[str, Any]:
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(b"host", b"here"), (b"content-type", b"application/json")],
            CALLER: self.caller,
        }
