"""What the OpenAI-compatible endpoint answers over HTTP. Loaded when the first program connects.

No page of a browser is heard, and nobody without the token. Every request becomes a call like any other.
"""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Final

import anyio
import uvicorn
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cellwright.errors import CellwrightError, Defect, UserError
from cellwright.models.calls import ModelAnswer, ModelCall, Payer, Update
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.names import CallId
from cellwright.models.gateway import openai_response
from cellwright.models.gateway.call_executor import CallExecutor
from cellwright.models.gateway.openai_access import EndpointAddress, standing_limits
from cellwright.models.gateway.openai_request import Chat, read_chat, read_embedding
from cellwright.models.gateway.openai_response import DONE, Chunks, Json, OpenAIFailure, failure_of

logger = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}", flags=re.ASCII)
_SHUTDOWN_TIMEOUT_SECONDS: Final = 2


class OpenAIRoutes:
    """The endpoint's three pages."""

    def __init__(self, executor: CallExecutor, start: GatewayLaunch) -> None:
        self._executor = executor
        self._start = start

    def application(self, address: EndpointAddress) -> ASGIApp:
        """What answers at this address."""
        routes = [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
        ]
        # Starlette types handlers by the base exception.
        handlers: dict[Any, Any] = {HTTPException: _http_failure, CellwrightError: _failure, Exception: _defect}
        return _AccessMiddleware(Starlette(routes=routes, exception_handlers=handlers), address)

    async def _chat(self, request: HttpRequest) -> Response:
        body = await _body(request)
        chat = await anyio.to_thread.run_sync(read_chat, body) if len(body) > 100_000 else read_chat(body)
        key = request.headers.get("idempotency-key")
        return _Completion(self._executor, chat, await self._call(chat, key), is_kept=key is not None)

    async def _call(self, chat: Chat, key: str | None) -> ModelCall:
        if key is not None and _KEY.fullmatch(key) is None:
            raise UserError("Idempotency-Key: not 1 to 200 printable characters.", hint="Send a UUID, for example.")
        today = datetime.now(UTC).date().isoformat()
        return ModelCall(
            id=CallId(f"endpoint/{key or secrets.token_hex(16)}"),
            request=chat.request,
            choice=chat.choice,
            payer=Payer(run=f"endpoint/{today}", step="chat", role="endpoint", person=self._start.person),
            limits=await anyio.to_thread.run_sync(standing_limits, self._start.home, self._start.team_rules),
            stream=chat.stream,
        )

    async def _embeddings(self, request: HttpRequest) -> Response:
        asked = read_embedding(await _body(request))
        vectors = await self._executor.embed(asked.texts, asked.choice)
        name = str(asked.choice.models[0]) if asked.choice.models else asked.choice.tier
        return _json(openai_response.embeddings(vectors, model=name, encoding=asked.encoding))

    async def _models(self, _: HttpRequest) -> Response:
        return _json(openai_response.model_list((await self._executor.reports.models()).models))


class _Completion(Response):
    """One chat completion, from its call to its last byte.

    A program that goes away cannot ask for this answer again unless it named the call: then it is finished and kept.
    Otherwise the call is taken back, so that nobody pays for what nobody can read.
    """

    def __init__(self, executor: CallExecutor, chat: Chat, call: ModelCall, *, is_kept: bool) -> None:
        super().__init__()
        self._executor = executor
        self._chat = chat
        self._call = call
        self._is_kept = is_kept
        self._is_answered = False
        self._created = int(datetime.now(UTC).timestamp())
        self._identity = f"chatcmpl-{secrets.token_hex(12)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                response = await (self._stream(send) if self._chat.stream else self._whole())
                if response is not None:
                    self._is_answered = True
                    await response(scope, receive, send)
                tasks.cancel_scope.cancel()
        finally:
            if not self._is_answered and not self._is_kept:
                with anyio.CancelScope(shield=True):
                    await self._executor.cancel(self._call.id)

    async def _whole(self) -> Response:
        try:
            async for item in self._executor.start(self._call):
                if isinstance(item, ModelAnswer):
                    return _json(openai_response.completion(item, identity=self._identity, created=self._created))
                if not isinstance(item, Update):
                    return _failed(failure_of(item))
        except CellwrightError as error:
            return _failed(failure_of(error))
        raise Defect("A call ended without an outcome.")

    async def _stream(self, send: Send) -> Response | None:
        """Send it as it comes; a failure before the first byte is given back, to be said with a status."""
        chunks = Chunks(identity=self._identity, created=self._created, include_usage=self._chat.include_usage)
        events, failure = _Events(send), None
        try:
            async for item in self._executor.start(self._call):
                if isinstance(item, Update):
                    await events.send(chunks.add(item), is_over=chunks.is_over)
                elif isinstance(item, ModelAnswer):
                    self._is_answered = True
                    await events.send(chunks.finish(item), is_over=True, is_whole=True)
                else:
                    failure = failure_of(item)
                if chunks.is_over or failure is not None:
                    break
        except CellwrightError as error:
            failure = failure_of(error)
        if failure is not None and not events.has_begun:
            return _failed(failure)
        if failure is not None:
            self._is_answered = True
            await events.send([failure.body], is_over=True)
        return None


class _Events:
    """A stream of server-sent events; its head goes out with the first of them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def send(self, chunks: list[Json], *, is_over: bool, is_whole: bool = False) -> None:
        """Send these together; a whole stream says so at its end."""
        if not chunks:
            return
        if not self.has_begun:
            self.has_begun = True
            headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        data = b"".join(map(openai_response.server_sent, chunks)) + (DONE if is_whole else b"")
        await self._send({"type": "http.response.body", "body": data, "more_body": not is_over})


class _AccessMiddleware:
    """Lets in who names this address and holds its token, and no page of a browser."""

    def __init__(self, inside: ASGIApp, address: EndpointAddress) -> None:
        self._inside = inside
        self._hosts = {f"127.0.0.1:{address.port}".encode(), f"localhost:{address.port}".encode()}
        self._credentials = f"Bearer {address.token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope["headers"]) if scope["type"] == "http" else None
        try:
            await (self._inside if refusal is None else _failed(refusal))(scope, receive, send)
        except Exception as error:  # noqa: BLE001 (an interface: what went wrong was told and logged by `_defect`)
            logger.debug("Endpoint: %s", type(error).__name__)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> OpenAIFailure | None:
        said: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            said.setdefault(name.lower(), []).append(value)
        if len(said.get(b"host", [])) != 1 or said[b"host"][0] not in self._hosts:
            return _refused(403, "This address is not served here.", "cellwright_wrong_host")
        if b"origin" in said:
            return _refused(403, "Pages of a browser are not served.", "cellwright_browser")
        given = said.get(b"authorization", [])
        if len(given) != 1 or not hmac.compare_digest(given[0], self._credentials):
            hint = "Use the token of `cellwright models endpoint` as API key."
            return _refused(401, f"The token is missing or wrong. {hint}", "invalid_api_key")
        return None


async def serve(application: ASGIApp, listener: socket.socket) -> None:
    """Answer whoever connects, until cancelled."""
    settings = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=1000,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_SECONDS,
    )
    server = _Server(settings)
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            # Not cut off: it is told to end, and does within its timeout.
            with anyio.CancelScope(shield=True):
                await server.serve(sockets=[listener])
            tasks.cancel_scope.cancel()

        tasks.start_soon(listen)
        try:
            await anyio.sleep_forever()
        finally:
            server.should_exit = True


class _Server(uvicorn.Server):
    """A uvicorn that leaves signals to the process it is in."""

    def capture_signals(self) -> Any:
        return nullcontext()


async def _until_gone(receive: Callable[[], Awaitable[Message]], scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _body(request: HttpRequest) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"The body is larger than {MAX_BODY_BYTES // 1024**2} MB.")
    return bytes(body)


def _json(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(to_json(value), status_code=status, media_type="application/json", headers=headers)


def _failed(failure: OpenAIFailure) -> Response:
    # We have tried again already, and every other try is a new call.
    return _json(failure.body, failure.status, {"x-should-retry": "false", "cache-control": "no-store"})


def _refused(status: int, message: str, code: str) -> OpenAIFailure:
    return OpenAIFailure(status=status, message=message, type="invalid_request_error", code=code)


async def _failure(_: HttpRequest, error: CellwrightError) -> Response:
    return _failed(failure_of(error))


async def _http_failure(_: HttpRequest, error: HTTPException) -> Response:
    return _failed(_refused(error.status_code, error.detail, f"cellwright_http_{error.status_code}"))


async def _defect(_: HttpRequest, error: Exception) -> Response:
    defect = Defect("Our own mistake.")
    logger.error("Endpoint: defect %s", defect.report_id, exc_info=error)
    return _failed(failure_of(Defect(f"Our own mistake, {defect.report_id}.")))
