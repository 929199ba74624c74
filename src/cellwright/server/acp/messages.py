"""The protocol's messages on a client's lines: read as JSON objects, written by the SDK's own connection."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import anyio
from acp.exceptions import RequestError
from pydantic import BaseModel

from cellwright.errors import CellwrightError
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.line_stream import LineStream

Handler = Callable[[Any], Awaitable[BaseModel | None]]
Methods = Mapping[str, tuple[type[BaseModel], Handler]]
"""Of each method what it takes and what answers it."""


class LineTransport:
    """The SDK's `Transport` over a client's lines."""

    def __init__(self, client: LineStream) -> None:
        self._client = client
        self._lines: AsyncGenerator[bytes] = client.lines()
        self._writing = anyio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """One message. A lone surrogate, which a model may well write, goes as an escape."""
        line = json.dumps(message).encode()
        async with self._writing:
            await self._client.write(line)

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None once the client has ended. What is none is answered as the protocol wants it."""
        async for line in self._lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict) and isinstance(message.get("id"), str | int | None):
                return message
            problem = RequestError.parse_error().to_error_obj()
            await self.send({"jsonrpc": "2.0", "id": None, "error": problem})
        return None

    async def close(self) -> None:
        """Read no more."""
        await self._lines.aclose()


def wire(message: BaseModel) -> dict[str, Any]:
    """The message as it is sent."""
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)


def answering(methods: Methods) -> Callable[[str, Any, bool], Awaitable[dict[str, Any] | None]]:
    """What the SDK's connection calls for each message of the client."""

    async def answer(method: str, params: Any, _: bool) -> dict[str, Any] | None:
        known = methods.get(method) if isinstance(method, str) else None
        if known is None:
            raise RequestError.method_not_found(str(method)[:200])
        takes, handle = known
        try:
            said = await handle(takes.model_validate(params if params is not None else {}))
        except CellwrightError as problem:
            raise as_protocol_error(problem) from problem
        return {} if said is None else wire(said)

    return answer


def as_protocol_error(problem: CellwrightError) -> RequestError:
    """In words a person at the client reads."""
    words = f"{problem.message} {problem.hint}".strip()
    code = -32002 if isinstance(problem, ResourceNotFound) else -32602
    return RequestError(code, words, {"details": words})
