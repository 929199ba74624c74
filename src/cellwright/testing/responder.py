"""Takes one request and sees it answered, charged and written down."""

from __future__ import annotations

import math
import secrets
import time
from typing import cast

from anyio.abc import TaskGroup

from cellwright.testing.accounting import Counter, OpenCharge, Received
from cellwright.testing.answers import Answer, Fault, Spoken
from cellwright.testing.background import Background
from cellwright.testing.endpoints import Control, answer_side_request
from cellwright.testing.http_connection import ClientGone, HttpConnection, HttpRequest
from cellwright.testing.playback import Playback, SilenceBarrier, play, reply_for
from cellwright.testing.scripts import Script
from cellwright.testing.wire.formats import WIRES, WireKind, kind_of
from cellwright.testing.wire.reply import REFUSALS, Refusal, Reply, Wire, dump


class Responder:
    """Where requests are answered."""

    def __init__(self, *, counter: Counter, work: TaskGroup, honours_idempotency_keys: bool) -> None:
        self.script = Script()
        self.barrier = SilenceBarrier(on_change=counter.notify)
        self._counter = counter
        self._background = Background(work=work, barrier=self.barrier, counter=counter)
        self._control = Control(script=self.script, barrier=self.barrier, counter=counter)
        self._remembered: dict[str, tuple[Spoken, Reply, OpenCharge]] | None = {} if honours_idempotency_keys else None
        """What was answered to requests with an idempotency key."""

    async def answer(self, request: HttpRequest, connection: HttpConnection) -> None:
        """One request, whatever it is for."""
        kind = kind_of(request.path) if request.method == "POST" else None
        if kind is not None:
            return await self._answer_model(kind, request, connection)
        if self._background.owns(request.path):
            return await self._background.answer(request, connection)
        is_ours = self._control.owns(request.path)
        status, body = await self._control.answer(request) if is_ours else answer_side_request(request)
        await connection.respond(status, dump(body))

    async def _answer_model(self, kind: WireKind, request: HttpRequest, connection: HttpConnection) -> None:
        wire, body = WIRES[kind], request.json()
        try:
            asked = wire.asked(request.path, body or {})
        except (AttributeError, KeyError, TypeError):
            # A shape the provider would not read either.
            asked = None
        if body is None or asked is None:
            return await _refuse(Fault("bad-request"), "", wire, connection, {})
        received = Received(
            id=secrets.token_hex(12),
            kind=kind,
            path=request.path,
            model=asked.model,
            is_stream=asked.is_stream,
            prompt=asked.prompt,
            tools=asked.tools,
            body=body,
            headers=dict(request.headers),
        )
        headers = {"x-request-id": f"req_{received.id}", "request-id": f"req_{received.id}"}
        self._counter.receive(received)
        playback = Playback(connection=connection, wire=wire, asked=asked, headers=headers, barrier=self.barrier)
        await self._play(received, playback)

    async def _play(self, received: Received, playback: Playback) -> None:
        key, asked = received.idempotency_key, playback.asked
        if self._remembered is not None and key in self._remembered:
            spoken, reply, account = self._remembered[key]
            return await self._finish(spoken, reply, playback, account)
        answer = self.script.next_for(received, asked)
        if isinstance(answer, Fault) and answer.kind in REFUSALS:
            return await _refuse(answer, asked.model, playback.wire, playback.connection, playback.headers)
        reply = reply_for(answer, asked, id=received.id, created=int(time.time()))
        account = self._counter.open_account(received, reply.tokens)
        if self._remembered is not None and key is not None:
            spoken = answer.answer if isinstance(answer, Fault) else answer
            self._remembered[key] = spoken, reply, account
        if asked.is_background:
            return await self._background.begin(answer, reply, playback, account)
        await self._finish(answer, reply, playback, account)

    async def _finish(self, answer: Answer, reply: Reply, playback: Playback, account: OpenCharge) -> None:
        try:
            await play(answer, reply, playback, account)
        except ClientGone:
            account.lose()
            raise
        finally:
            self._counter.notify()


async def _refuse(fault: Fault, model: str, wire: Wire, connection: HttpConnection, headers: dict[str, str]) -> None:
    status, body = wire.refusal(cast("Refusal", fault.kind), model, fault.message, fault.retry_after_seconds)
    if fault.retry_after_seconds is not None:
        seconds = fault.retry_after_seconds
        headers = headers | {"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(int(seconds * 1000))}
    await connection.respond(fault.status or status, dump(body), headers)
