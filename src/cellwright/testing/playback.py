"""One answer, or one fault, played onto a connection; silent ones wait until they are released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import anyio

from cellwright.testing.accounting import OpenCharge, Received
from cellwright.testing.answers import CallTool, CallTools, Fault, Say, Spoken
from cellwright.testing.http_connection import ClientGone, HttpConnection
from cellwright.testing.wire.reply import Event, Reply, Wire, WireRequest, dump, pieces_in, reply_to


class SilenceBarrier:
    """Opens for those who wait now; who comes later waits for the next time."""

    def __init__(self, *, on_change: Callable[[], None]) -> None:
        self._event = anyio.Event()
        self._on_change = on_change
        self.waiting = 0
        """How many wait now."""

    async def wait(self) -> None:
        """Until the next opening."""
        self._count(1)
        try:
            await self._event.wait()
        finally:
            self._count(-1)

    def open(self) -> None:
        """Let all go on who wait now."""
        self._event.set()
        self._event = anyio.Event()

    def _count(self, more: int) -> None:
        self.waiting += more
        self._on_change()


EVENT_STREAM: Final = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_UNICODE: Final = Say("Grüße 🌍 Ελλάδα 日本語 👩‍🚀", chunks=4)
_SCRAP_BYTES: Final = 31
_LONG_CALL: Final = CallTool("search", {"query": 'quotes " and \\ and Grüße 🌍', "limit": 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class Playback:
    """Everything one answer is played with."""

    connection: HttpConnection
    wire: Wire
    asked: Received
    headers: dict[str, str]
    barrier: SilenceBarrier


def reply_for(answer: Spoken | Fault, asked: WireRequest, *, id: str, created: int) -> Reply:
    """What is said, and charged, once a fault has had its way with it."""
    if not isinstance(answer, Fault):
        return reply_to(answer, asked=asked, id=id, created=created)
    spoken = answer.answer
    match answer.kind:
        case "huge":
            spoken = Say("lorem ipsum " * (answer.characters // 12 + 1), chunks=200, tokens=spoken.tokens)
        case "split-tool-call" if not isinstance(spoken, CallTool | CallTools):
            spoken = replace(_LONG_CALL, tokens=spoken.tokens)
        case "cut-unicode" if isinstance(spoken, Say) and spoken.text.isascii():
            spoken = replace(_UNICODE, tokens=spoken.tokens)
        case _:
            pass
    reply = reply_to(spoken, asked=asked, id=id, created=created)
    match answer.kind:
        case "wrong-usage":
            return replace(reply, usage=answer.reported)
        case "split-tool-call":
            return replace(reply, calls=tuple(replace(call, pieces=tuple(call.arguments)) for call in reply.calls))
        case _:
            return reply


async def play(answer: Spoken | Fault, reply: Reply, playback: Playback, account: OpenCharge) -> None:
    """Play the answer. Raises `ClientGone` where the client left before its end."""
    fault = answer if isinstance(answer, Fault) else None
    if fault is not None and fault.kind == "slow-first-byte":
        await _be_silent(fault, playback)
    if playback.asked.is_stream:
        await _play_stream(fault, reply, playback, account)
    else:
        await _play_whole(fault, reply, playback, account)


async def _play_whole(fault: Fault | None, reply: Reply, playback: Playback, account: OpenCharge) -> None:
    await _pause(reply.chunk_seconds, playback)
    # Made before it is sent: an answer lost on the way is paid all the same.
    account.deliver(1.0)
    connection, body = playback.connection, dump(playback.wire.whole(reply))
    match fault.kind if fault else None:
        case "drop":
            return await connection.reset()
        case "bad-json":
            body = body[: len(body) // 2]
        case "error-event":
            body = dump(playback.wire.refusal("server-error", reply.model, fault.message if fault else None, None)[1])
        case _:
            pass
    await connection.begin(200, playback.headers, length=len(body))
    if fault is not None and fault.kind in {"stall", "truncated-stream"}:
        await connection.send(body[: len(body) // 2])
        if fault.kind == "truncated-stream":
            return await connection.close()
        await _be_silent(fault, playback)
        body = body[len(body) // 2 :]
    # Before the last bytes: who has the answer finds it in the accounts.
    account.finish()
    await _send(body, fault, connection)
    await connection.finish()


async def _play_stream(fault: Fault | None, reply: Reply, playback: Playback, account: OpenCharge) -> None:
    connection, events = playback.connection, list(playback.wire.events(reply, playback.asked))
    count = pieces_in(events)
    strikes_at = None if fault is None else min(fault.after_chunks, count)
    await connection.begin(200, EVENT_STREAM | playback.headers)
    sent = 0
    for event in events:
        if fault is not None and sent == strikes_at and (event.is_piece or sent == count):
            strikes_at = None
            if await _strike(fault, event, playback):
                return
        if event.is_piece:
            await _pause(reply.chunk_seconds, playback)
            sent += 1
        account.deliver(sent / max(count, 1))
        if event is events[-1]:
            account.finish()
        await _send(event.data, fault, connection)
    await connection.finish()


async def _strike(fault: Fault, event: Event, playback: Playback) -> bool:
    """The fault in the middle of a stream, in offset of this event; whether the stream is over."""
    connection = playback.connection
    match fault.kind:
        case "drop":
            await connection.reset()
        case "truncated-stream":
            await connection.finish()
        case "bad-json":
            await connection.send(event.data.rstrip()[:-2] + b"\n\n")
            await connection.finish()
        case "error-event":
            await connection.send(playback.wire.error_event(fault.message or "The server had an error."))
            await connection.finish()
        case "stall":
            await _be_silent(fault, playback)
            return False
        case _:
            return False
    return True


async def _send(data: bytes, fault: Fault | None, connection: HttpConnection) -> None:
    match fault.kind if fault else None:
        case "cut-unicode":
            parts = _cut_inside_characters(data)
        case "split-tool-call":
            parts = [data[offset : offset + _SCRAP_BYTES] for offset in range(0, len(data), _SCRAP_BYTES)]
        case _:
            parts = [data]
    for part in parts:
        await connection.send(part)


def _cut_inside_characters(data: bytes) -> list[bytes]:
    """Cut after the first byte of every character that has more than one."""
    marks = [offset + 1 for offset, byte in enumerate(data) if byte >= 0xC0]
    return [data[start:end] for start, end in zip([0, *marks], [*marks, len(data)], strict=True)]


async def _be_silent(fault: Fault, playback: Playback) -> None:
    """Say nothing until the time is over, the barrier opens, or the client leaves."""
    if fault.seconds is not None:
        return await _pause(fault.seconds, playback)
    is_gone = False

    async def watch() -> None:
        nonlocal is_gone
        await playback.connection.wait_until_gone()
        is_gone = True
        either.cancel_scope.cancel()

    async with anyio.create_task_group() as either:
        either.start_soon(watch)
        await playback.barrier.wait()
        either.cancel_scope.cancel()
    if is_gone:
        raise ClientGone


async def _pause(seconds: float, playback: Playback) -> None:
    if seconds > 0:
        with anyio.move_on_after(seconds):
            await playback.connection.wait_until_gone()
            raise ClientGone
