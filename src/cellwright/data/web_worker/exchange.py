"""One exchange: a cell's request is judged, recorded, completed, sent; its answer is bounded, masked and passed on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, Literal, Protocol

import anyio
import httpcore2

from cellwright.data.connection_options import WebAddress
from cellwright.data.exchanges.aws_chunks import AwsChunks, BadChunk
from cellwright.data.exchanges.masked_stream import MaskedStream
from cellwright.data.exchanges.requests import CellRequest, RefusedRequest, SentRequest
from cellwright.data.exchanges.retries import asked_seconds, seconds_to_wait
from cellwright.data.exchanges.s3_rules import S3Rules
from cellwright.data.web_worker.client_line import BadRequest, ClientLeft, ClientLine
from cellwright.data.web_worker.upstream import Upstream, UpstreamFailed, telling_failures
from cellwright.http_heads import end_to_end

_HEAD_SECONDS: Final = 30.0
"""Given to a client to say what it wants."""
_MAX_SHOWN: Final = 2_000
SENT_HEADER: Final = b"x-cellwright-sent"
"""How often a request was sent, where that was more than once."""
_NOT_PASSED: Final = frozenset({b"set-cookie", b"set-cookie2", b"alt-svc", b"content-length", SENT_HEADER})
"""A session's cookie is a credential, too; another way to the server would be one around us."""
_STATUS: Final = {"host": 502, "tls": 502, "other": 502, "time": 504}
_ASKS_WHO: Final = 401
_UNSURE: Final = frozenset({"other", "time"})
"""Failures after which a request may have come to the server."""
ExchangeOutcome = Literal["done", "refused", "failed", "cancelled", "unknown"]
"""unknown: a change was on its way, and no answer came."""


class ExchangeRules(Protocol):
    """What one connection allows."""

    @property
    def address(self) -> WebAddress:
        """Where it leads."""
        ...

    @property
    def hidden(self) -> tuple[str, ...]:
        """What no answer shows."""
        ...

    def complete(self, request: CellRequest, now: datetime) -> SentRequest | RefusedRequest:
        """What is sent in its place."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLimits:
    """How much one exchange may be."""

    megabytes: int
    seconds: float

    @property
    def bytes(self) -> int:
        """Each way."""
        return self.megabytes << 20


@dataclass(slots=True, kw_only=True)
class ExchangeRecord:
    """What is told of an exchange when it is over."""

    outcome: ExchangeOutcome = "done"
    why: str = ""
    status: int = 0
    """Of the server's answer; 0: there was none."""
    sent_bytes: int = 0
    bytes: int = 0
    retries: int = 0


Begin = Callable[[str, Literal["read", "write"]], Awaitable[None]]
"""Records a request before it is sent."""


class TooMuch(Exception):
    """A body is longer than it may be."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request and its answer."""

    line: ClientLine
    rules: ExchangeRules
    upstream: Upstream
    limits: ExchangeLimits
    begin: Begin
    masks_answers: bool
    """Whether the secret itself was sent, and may be in any answer."""
    _access: Literal["", "read", "write"] = ""
    """Empty: nothing was recorded yet."""
    _is_complete: bool = False
    """The client has all of the answer, or will with what is being sent: it may leave now."""

    async def run(self) -> ExchangeRecord:
        """From the client's first byte to the last of the answer; what came of it."""
        record = ExchangeRecord()
        try:
            with anyio.fail_after(self.limits.seconds):
                await self._run(record)
        except TimeoutError:
            await self._fail(record, 504, f"It took longer than {self.limits.seconds:g} s.", is_unsure=True)
        except UpstreamFailed as failed:
            await self._fail(record, _STATUS[failed.kind], failed.why, is_unsure=failed.kind in _UNSURE)
        except TooMuch as problem:
            await self._fail(record, 502, str(problem), is_unsure=True)
        except (BadRequest, BadChunk) as problem:
            if not self._access:
                await self._record("a request that cannot be read", "read")
            await self._fail(record, 400, f"The request cannot be understood: {problem}.", is_unsure=True)
        except ClientLeft:
            record.outcome = "done" if self._is_complete else "cancelled"
        if record.outcome == "cancelled" and self._access == "write" and not record.status:
            record.outcome, record.why = "unknown", "whoever asked left before the answer"
        record.sent_bytes = self.line.received
        await self.line.settle()
        return record

    async def _record(self, shown: str, access: Literal["read", "write"]) -> None:
        masked = MaskedStream(self.rules.hidden).whole(shown.encode()).decode("utf-8", "replace")
        await self.begin(masked[:_MAX_SHOWN], access)
        self._access = access

    async def _fail(self, record: ExchangeRecord, status: int, why: str, *, is_unsure: bool) -> None:
        """Tell it, if the client has heard nothing yet; else it sees that the answer does not end."""
        is_unknown = is_unsure and self._access == "write" and not record.status
        record.outcome, record.why = "unknown" if is_unknown else "failed", why
        if not self.line.has_answered:
            with anyio.move_on_after(_HEAD_SECONDS):
                try:
                    await self.line.answer_text(status, why, is_for_object=isinstance(self.rules, S3Rules))
                except ClientLeft:
                    return

    async def _run(self, record: ExchangeRecord) -> None:
        request = await self._request()
        completed = self.rules.complete(request, datetime.now(UTC))
        if isinstance(completed, RefusedRequest):
            await self._refuse(record, request, completed.why)
            return
        length = request.header("content-length") or "0"
        if length.isdecimal() and int(length[:15]) > self.limits.bytes:
            await self._refuse(record, request, f"a body may have {self.limits.megabytes:,} MB")
            return
        await self._record(completed.shown, completed.access)
        problem = await self._while_listening(request, completed, record)
        if problem is not None:
            raise problem

    async def _request(self) -> CellRequest:
        with anyio.move_on_after(_HEAD_SECONDS):
            return await self.line.request()
        raise BadRequest("it did not come in time")

    async def _while_listening(
        self, request: CellRequest, completed: SentRequest, record: ExchangeRecord
    ) -> Exception | None:
        """Ask, as long as the client is there; what it could not be done for, not wrapped into a group."""
        problem: Exception | None = None
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await self.line.left()
                if not self._is_complete:
                    record.outcome = "cancelled"
                    tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                await self._ask(request, completed, record)
            except (UpstreamFailed, TooMuch, BadRequest, BadChunk, ClientLeft) as raised:
                problem = raised
            tasks.cancel_scope.cancel()
        return problem

    async def _refuse(self, record: ExchangeRecord, request: CellRequest, why: str) -> None:
        await self._record(f"{request.method} {request.target}", "read")
        record.outcome, record.why = "refused", why
        await self.line.answer_text(403, f"Not sent: {why}", is_for_object=isinstance(self.rules, S3Rules))

    async def _ask(self, request: CellRequest, completed: SentRequest, record: ExchangeRecord) -> None:
        while True:
            body = self._body(completed) if request.has_body else None
            async with self.upstream.answer(completed, body, self.limits.seconds) as response:
                record.status = response.status
                asked = asked_seconds(response.status, partial(_header, response), datetime.now(UTC))
                wait = seconds_to_wait(completed.method, asked, record.retries)
                if wait is None or request.has_body:
                    await self._pass_on(response, completed, record)
                    return
            record.retries += 1
            record.why = f"sent {record.retries + 1} times, as the service asked to wait"
            await anyio.sleep(wait)
            again = self.rules.complete(request, datetime.now(UTC))
            # The time is part of a signature.
            completed = again if isinstance(again, SentRequest) else completed

    async def _body(self, completed: SentRequest) -> AsyncIterator[bytes]:
        chunks, length = AwsChunks() if completed.is_aws_chunked else None, 0
        async for piece in self.line.body():
            plain = piece if chunks is None else chunks.feed(piece)
            length += len(plain)
            if length > self.limits.bytes:
                raise TooMuch(f"A body may have {self.limits.megabytes:,} MB.")
            if plain:
                yield plain
        if chunks is not None:
            chunks.finish()

    async def _pass_on(self, response: httpcore2.Response, completed: SentRequest, record: ExchangeRecord) -> None:
        if response.status < 200:
            raise UpstreamFailed("other", "The server wants to speak another protocol.")
        headers = [(name, value) for name, value in response.headers if name.lower() not in _NOT_PASSED]
        if self.masks_answers and _is_compressed(response):
            raise UpstreamFailed("other", "The server compressed its answer, though it was asked not to.")
        length = _header(response, "content-length")
        size = int(length[:15]) if length is not None and completed.method != "HEAD" else 0
        if size > self.limits.bytes:
            raise TooMuch(f"The answer has {size >> 20:,} MB, and {self.limits.megabytes:,} are let through.")
        mask = MaskedStream(self.rules.hidden)
        head = [(mask.whole(name), mask.whole(value)) for name, value in end_to_end(headers)]
        framing = [(b"Content-Length", length.encode())] if length is not None else []
        framing += [(SENT_HEADER, b"%d" % (record.retries + 1))] if record.retries else []
        self._is_complete = completed.method == "HEAD" or length == "0" or response.status in {204, 304}
        reason = response.extensions.get("reason_phrase", b"")
        await self.line.answer(response.status, mask.whole(reason)[:200], [*head, *framing])
        # What a bucket holds never saw the secret; an error's text may name the key.
        is_masked = self.masks_answers or response.status >= 300
        with telling_failures():
            async for piece in response.aiter_stream():
                record.bytes += len(piece)
                if record.bytes > self.limits.bytes:
                    raise TooMuch(f"The answer has more than {self.limits.megabytes:,} MB.")
                self._is_complete = length is not None and record.bytes >= size
                await self.line.say(mask.feed(piece) if is_masked else piece)
        self._is_complete = True
        await self.line.say(mask.finish())
        await self.line.finish()
        if response.status == _ASKS_WHO and not self.rules.hidden:
            record.why = "no secret is kept for this connection"
        if mask.has_masked:
            record.why = f"{record.why}; the secret was in the answer, and was masked".removeprefix("; ")


def _header(response: httpcore2.Response, name: str) -> str | None:
    return next((value.decode("latin-1") for key, value in response.headers if key.lower() == name.encode()), None)


def _is_compressed(response: httpcore2.Response) -> bool:
    return (_header(response, "content-encoding") or "identity").strip().lower() not in {"", "identity"}
