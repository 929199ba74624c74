"""One request on its way: what it may still use, what it has used, and how it ends."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal
from xml.sax.saxutils import escape

import anyio

from cellwright.sandbox.egress.buffered_socket import BufferedSocket, HttpViolation
from cellwright.sandbox.egress.destinations import EgressCaps, EgressRecord, Outcome, Target

_FORBIDDEN: Final = 403


class RequestRejected(Exception):
    """A request that goes no further: what the client is told, with which status."""

    def __init__(self, status: Literal[400, 403, 408, 502], why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@dataclass(slots=True)
class TrafficTotals:
    """Bytes so far, per host and in all."""

    caps: EgressCaps
    out: Counter[str] = field(default_factory=Counter[str])
    into: Counter[str] = field(default_factory=Counter[str])

    def room_out(self, host: str) -> int:
        """How many bytes may still be sent there."""
        return min(self.caps.bytes_out_per_host - self.out[host], self.caps.bytes_out - self.out.total())

    def spend_out(self, host: str, count: int) -> None:
        """Count bytes before they are sent; `RequestRejected` when they are too many."""
        if count > self.room_out(host):
            raise RequestRejected(403, f"host {host!r} was sent as many bytes as this notebook may send")
        self.out[host] += count

    def spend_into(self, host: str, count: int) -> None:
        """Count bytes that arrived; `RequestRejected` when they are too many."""
        self.into[host] += count
        if self.into[host] > self.caps.bytes_in_per_host or self.into.total() > self.caps.bytes_in:
            raise RequestRejected(403, f"host {host!r} sent as many bytes as this notebook may receive")


@dataclass(slots=True, kw_only=True)
class ProxiedRequest:
    """One request on its way, with everything its `EgressRecord` will say."""

    target: Target | None
    totals: TrafficTotals
    client: BufferedSocket
    address: str | None = None
    verdict: Outcome = "denied"
    why: str = ""
    bytes_out: int = 0
    bytes_in: int = 0
    has_answered: bool = False
    """The client was sent something: it cannot be told of a refusal any more."""
    is_recorded: bool = True
    """False: what was said inside of it has records of its own."""
    began: float = field(default_factory=time.monotonic)
    _scope: anyio.CancelScope | None = None

    @property
    def host(self) -> str:
        """The host it wants to reach."""
        return "" if self.target is None else self.target.host

    def record(self) -> EgressRecord:
        """What is known now."""
        return EgressRecord(
            host=self.host,
            port=0 if self.target is None else self.target.port,
            address=self.address,
            verdict=self.verdict,
            bytes_out=self.bytes_out,
            bytes_in=self.bytes_in,
            milliseconds=round((time.monotonic() - self.began) * 1e3, 3),
            why=self.why,
        )

    def reject(self, rejection: RequestRejected) -> None:
        """Remember why it goes no further."""
        self.why = rejection.why
        self.verdict = "failed" if rejection.status == 502 else "cut" if self.bytes_out else "denied"

    async def send(self, server: BufferedSocket, data: bytes) -> None:
        """To the server, counted before it leaves."""
        self.totals.spend_out(self.host, len(data))
        self.bytes_out += len(data)
        await server.send(data)
        self._touch()

    async def answer(self, data: bytes) -> None:
        """To the client."""
        self.has_answered = True
        await self.client.send(data)
        self._touch()

    def received(self, count: int) -> None:
        """From the server."""
        self.bytes_in += count
        self.totals.spend_into(self.host, count)
        self._touch()

    @asynccontextmanager
    async def within_idle_time(self) -> AsyncGenerator[None]:
        """A block that ends when nothing has moved for too long."""
        with anyio.CancelScope() as self._scope:
            self._touch()
            yield
        if self._scope.cancelled_caught:
            raise RequestRejected(502, f"host {self.host!r}: nothing moved for {self.totals.caps.idle_seconds:g} s")

    def _touch(self) -> None:
        if self._scope is not None:
            self._scope.deadline = anyio.current_time() + self.totals.caps.idle_seconds


async def run_both(first: Callable[[], Awaitable[None]], second: Callable[[], Awaitable[None]]) -> None:
    """Run both; the error of one ends the other and comes out as it is. When `second` is done, so is `first`."""
    errors: list[RequestRejected | HttpViolation | OSError] = []
    async with anyio.create_task_group() as tasks:

        async def attempt(part: Callable[[], Awaitable[None]], *, is_last: bool) -> None:
            try:
                await part()
            except (RequestRejected, HttpViolation, OSError) as error:
                errors.append(error)
                tasks.cancel_scope.cancel()
            if is_last:
                tasks.cancel_scope.cancel()

        tasks.start_soon(lambda: attempt(first, is_last=False))
        await attempt(second, is_last=True)
    if errors:
        raise errors[0]


def refusal(status: int, why: str, *, is_for_object: bool = False) -> bytes:
    """What a client is told: the reason stands in the status line, because that is what most libraries show.

    Libraries for objects show what the body says in an object store's own words.
    """
    phrase = "".join(character if " " <= character <= "~" else "?" for character in why)[:300]
    text, kind = f"{phrase}\n".encode(), "text/plain"
    if is_for_object:
        code = "AccessDenied" if status == _FORBIDDEN else "ServiceUnavailable"
        text = f"<Error><Code>{code}</Code><Message>{escape(phrase)}</Message></Error>".encode()
        kind = "application/xml"
    return (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode() + text
