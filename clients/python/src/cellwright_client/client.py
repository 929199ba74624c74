"""Sending calls to a Cellwright that is served; the token is `cellwright serve tokens create NAME`'s."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import httpx2

from cellwright_client.call import Call, File, Request, Stream
from cellwright_client.problems import ApiError, offline, problem_in
from cellwright_client.server_events import EventLines, ServerEvent
from cellwright_client.shapes import Problem

T = TypeVar("T")
_SECONDS = 60.0
_SILENCE_SECONDS = 40.0
"""The server gives a sign of life every 15 s: a stream that is silent for longer is dead."""
_PAUSE_SECONDS = 1.0
"""Before a stream that ended is taken up again."""


class Client(AbstractContextManager["Client"]):
    """Sends calls, one at a time: `with Client(url, token) as client: client.send(calls.list_runs())`."""

    def __init__(self, url: str, token: str, *, seconds: float = _SECONDS) -> None:
        self._http = httpx2.Client(base_url=url.rstrip("/"), headers=_bearer(token), timeout=seconds)

    def send(self, call: Call[T]) -> T:
        """What is answered. Raises `ApiError`."""
        return call.read(self._ask(call, "application/json"))

    def attempt(self, call: Call[T]) -> T | Problem:
        """What is answered, or what is wrong."""
        try:
            return self.send(call)
        except ApiError as error:
            return error.problem

    def download(self, call: File) -> bytes:
        """The file. Raises `ApiError`."""
        return self._ask(call, "*/*")

    def follow(self, call: Stream, *, last: str = "") -> Generator[ServerEvent]:
        """Events as they happen, for ever: leave the loop when you have seen enough. `last` is the id you read last.

        Lost connections are taken up again where they ended, and nothing is lost or doubled. Raises `ApiError` for
        what is refused, and where the server cannot be reached.
        """
        lines = EventLines(last=last)
        while True:
            is_open = False
            try:
                with self._http.stream(**_streamed(call, lines)) as answer:
                    if answer.is_error:
                        raise ApiError(answer.status_code, problem_in(answer.read(), answer.status_code))
                    is_open = True
                    for line in answer.iter_lines():
                        if (event := lines.take(line)) is not None:
                            yield event
            except httpx2.TransportError as problem:
                if not is_open:
                    raise offline(problem) from problem
            time.sleep(_PAUSE_SECONDS)

    def _ask(self, call: Request, accept: str) -> bytes:
        try:
            answer = self._http.request(**call.sent(accept))
        except httpx2.TransportError as problem:
            raise offline(problem) from problem
        return _good(answer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """The same for programs with an event loop."""

    def __init__(self, url: str, token: str, *, seconds: float = _SECONDS) -> None:
        self._http = httpx2.AsyncClient(base_url=url.rstrip("/"), headers=_bearer(token), timeout=seconds)

    async def __aenter__(self) -> Self:
        return self

    async def send(self, call: Call[T]) -> T:
        """What is answered. Raises `ApiError`."""
        return call.read(await self._ask(call, "application/json"))

    async def attempt(self, call: Call[T]) -> T | Problem:
        """What is answered, or what is wrong."""
        try:
            return await self.send(call)
        except ApiError as error:
            return error.problem

    async def download(self, call: File) -> bytes:
        """The file. Raises `ApiError`."""
        return await self._ask(call, "*/*")

    async def follow(self, call: Stream, *, last: str = "") -> AsyncGenerator[ServerEvent]:
        """As `Client.follow`; close it (`contextlib.aclosing`) when you leave the loop."""
        lines = EventLines(last=last)
        while True:
            is_open = False
            try:
                async with self._http.stream(**_streamed(call, lines)) as answer:
                    if answer.is_error:
                        raise ApiError(answer.status_code, problem_in(await answer.aread(), answer.status_code))
                    is_open = True
                    async for line in answer.aiter_lines():
                        if (event := lines.take(line)) is not None:
                            yield event
            except httpx2.TransportError as problem:
                if not is_open:
                    raise offline(problem) from problem
            await anyio.sleep(_PAUSE_SECONDS)

    async def _ask(self, call: Request, accept: str) -> bytes:
        try:
            answer = await self._http.request(**call.sent(accept))
        except httpx2.TransportError as problem:
            raise offline(problem) from problem
        return _good(answer)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _good(answer: httpx2.Response) -> bytes:
    if not answer.is_success:
        raise ApiError(answer.status_code, problem_in(answer.content, answer.status_code))
    return answer.content


def _streamed(call: Stream, lines: EventLines) -> dict[str, Any]:
    sent = call.sent("text/event-stream")
    if lines.last:
        sent["headers"]["last-event-id"] = lines.last
    return sent | {"timeout": httpx2.Timeout(_SECONDS, read=_SILENCE_SECONDS)}
