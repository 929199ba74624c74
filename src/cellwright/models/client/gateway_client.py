"""Models, as everything but the gateway sees them: one connection to it, calls by id, answers as they come.

A gateway that dies is started again and asked for the same ids: its record answers. Leaving a call does not cancel it.
"""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import SocketStream, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from cellwright.errors import Defect, Unavailable
from cellwright.framing import BadFrame, FrameUnpacker
from cellwright.models import reports
from cellwright.models.calls import Choice, FailedAttempt, ModelCall, OnUpdate, Outcome, Piece, Restarted, Update
from cellwright.models.client import protocol
from cellwright.models.client.gateway_process import GatewayLaunch, connect_or_start
from cellwright.models.client.protocol import CallEnd, CallUpdates, FromGateway, RequestFailure, ToGateway
from cellwright.models.config.names import CallId
from cellwright.models.reports import Report, ReportRequest, UsageBy

_MAX_RECONNECTS: Final = 3
"""Limit of automatic retries of a call under which the gateway died."""
_READ_BYTES: Final = 1 << 18
_DISCONNECTED = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
ReplyT = TypeVar("ReplyT", bound=FromGateway)
ReportT = TypeVar("ReportT", bound=Report)


_ConnectionLost = anyio.EndOfStream
"""The connection is gone: nothing more comes."""


class _Link:
    """One connection, shared by everything that is asked."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self.is_lost = False
        self._inboxes: dict[int, MemoryObjectSendStream[FromGateway]] = {}
        self._sending = anyio.Lock(fast_acquire=True)

    async def read(self) -> None:
        """Hand out what comes, until the other side is gone."""
        unpacker = FrameUnpacker()
        try:
            while True:
                for payload in unpacker.feed(await self.stream.receive(_READ_BYTES)):
                    self._hand_out(protocol.read_reply(payload))
        except (*_DISCONNECTED, BadFrame):
            pass
        finally:
            self.is_lost = True
            for inbox in self._inboxes.values():
                inbox.close()
            with anyio.CancelScope(shield=True):
                await self.stream.aclose()

    @contextmanager
    def inbox(self, number: int) -> Generator[MemoryObjectReceiveStream[FromGateway]]:
        """What comes under this number."""
        self._inboxes[number], inbox = anyio.create_memory_object_stream[FromGateway](math.inf)
        try:
            yield inbox
        finally:
            inbox.close()
            self._inboxes.pop(number).close()

    async def send(self, message: ToGateway) -> None:
        # Half a frame would break the connection for everyone who shares it.
        with anyio.CancelScope(shield=True):
            async with self._sending:
                try:
                    await self.stream.send(protocol.pack_request(message))
                except _DISCONNECTED as problem:
                    raise _ConnectionLost from problem

    def _hand_out(self, message: FromGateway) -> None:
        if not isinstance(message, protocol.Welcome) and message.number in self._inboxes:
            self._inboxes[message.number].send_nowait(message)


class Models:
    """The way to every model. `async with Models.open(home) as models`."""

    def __init__(self, launch: GatewayLaunch, tasks: TaskGroup) -> None:
        self._launch = launch
        self._connection = None if launch.connection is None else dict(launch.connection)
        self._tasks = tasks
        self._link: _Link | None = None
        self._linking = anyio.Lock()
        self._numbers = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, home: Path, *, launch: GatewayLaunch | None = None) -> AsyncGenerator[Models]:
        """Connected to the gateway of this state directory, which is started if need be."""
        problem: Exception | None = None
        async with anyio.create_task_group() as tasks:
            models = cls(launch or GatewayLaunch(home=home), tasks)
            try:
                await models._linked()
                yield models
            except Exception as error:  # noqa: BLE001 - raised again below: our task group is nobody else's business
                problem = error
            tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem

    async def ask(self, call: ModelCall, on_update: OnUpdate | None = None) -> Outcome:
        """How the call ends; `on_update` hears what is emitted until then.

        Raises `ModelUnavailable`, `RefusedByPolicy`, `UserError` or `Unavailable`.
        """
        outcome: Outcome | None = None
        async for item in self._follow(call):
            if not isinstance(item, Update):
                outcome = item
            elif on_update is not None:
                on_update(item)
        if outcome is None:
            raise Defect("A call ended without an outcome.")
        return outcome

    @asynccontextmanager
    async def stream(self, call: ModelCall) -> AsyncGenerator[AsyncIterator[Update | Outcome]]:
        """Updates as they come, the outcome last. Leaving the block early does not cancel the call."""
        followed = self._follow(call)
        try:
            yield followed
        finally:
            with anyio.CancelScope(shield=True):
                await followed.aclose()

    async def cancel(self, call: CallId) -> bool:
        """Stop a call and stop paying. False if it was not in flight."""
        reply = await self._exchange(lambda number: protocol.Cancel(number=number, call=call), protocol.Acknowledgement)
        return reply.happened

    async def usage(self, by: UsageBy = "model", since: str = "") -> reports.UsageReport:
        """What was used and paid."""
        return await self._report(ReportRequest(kind="usage", by=by, since=since), reports.UsageReport)

    async def latency(self, since: str = "") -> reports.LatencyReport:
        """How long models took, and how often they failed."""
        return await self._report(ReportRequest(kind="latency", since=since), reports.LatencyReport)

    async def listed(self) -> reports.ModelsReport:
        """Which models there are."""
        return await self._report(ReportRequest(kind="models"), reports.ModelsReport)

    async def providers(self) -> reports.ProvidersReport:
        """Which providers are ready."""
        return await self._report(ReportRequest(kind="providers"), reports.ProvidersReport)

    async def test(self, model: str) -> reports.TestReport:
        """Ask one model something trivial. This is paid."""
        return await self._report(ReportRequest(kind="test", model=model), reports.TestReport)

    async def status(self) -> reports.StatusReport:
        """How the gateway is doing."""
        return await self._report(ReportRequest(kind="status"), reports.StatusReport)

    async def embed(self, texts: Sequence[str], choice: Choice | None = None) -> list[list[float]]:
        """One vector per text."""
        texts, choice = tuple(texts), choice or Choice(tier="embed")
        reply = await self._exchange(
            lambda number: protocol.Embed(number=number, texts=texts, choice=choice, connection=self._connection),
            protocol.Vectors,
        )
        return reply.vectors

    async def keys_changed(self, *, forget: Sequence[str] = ()) -> None:
        """Let the gateway read stored keys anew, and forget what these providers were handed over."""
        await self._exchange(
            lambda number: protocol.Keys(number=number, forget=tuple(forget)), protocol.Acknowledgement
        )

    async def stop_gateway(self, *, at_once: bool = False) -> None:
        """End the gateway when nothing is in flight, or at once."""
        await self._exchange(lambda number: protocol.Stop(number=number, at_once=at_once), protocol.Acknowledgement)

    async def _follow(self, call: ModelCall) -> AsyncGenerator[Update | Outcome]:
        """Everything about one call, over as many connections as it takes."""
        lost, has_pieces = 0, False
        while True:
            try:
                async with aclosing(self._follow_once(call)) as items:
                    async for item in items:
                        if type(item) is Piece:
                            has_pieces = True
                        yield item
            except _ConnectionLost:
                lost += 1
                if lost >= _MAX_RECONNECTS:
                    raise Unavailable(f"The model gateway died {lost} times under this call.") from None
            else:
                return
            if has_pieces:
                # It is told from its start again, or answered from the record.
                has_pieces = False
                yield Restarted(
                    failed=FailedAttempt(model="", failing="connection", detail="the model gateway was lost")
                )

    async def _follow_once(self, call: ModelCall) -> AsyncGenerator[Update | Outcome]:
        link, number = await self._linked(), self._number()
        is_over = False
        with link.inbox(number) as inbox:
            try:
                await link.send(protocol.SubmitCall(number=number, call=call, connection=self._connection))
                while not is_over:
                    match await inbox.receive():
                        case CallUpdates(updates=updates):
                            for update in updates:
                                yield update
                        case CallEnd(outcome=outcome):
                            is_over = True
                            yield outcome
                        case RequestFailure(error=error):
                            is_over = True
                            raise error
                        case other:
                            raise _unexpected(other)
            finally:
                if not is_over and not link.is_lost:
                    with suppress(_ConnectionLost):
                        await link.send(protocol.Detach(number=number))

    async def _report(self, question: ReportRequest, kind: type[ReportT]) -> ReportT:
        reply = await self._exchange(
            lambda number: protocol.Query(number=number, question=question), protocol.QueryReply
        )
        if not isinstance(reply.report, kind):
            raise _unexpected(reply.report)
        return reply.report

    async def _exchange(self, message: Callable[[int], ToGateway], kind: type[ReplyT]) -> ReplyT:
        """One request, under a number of its own, and its one answer."""
        link, number = await self._linked(), self._number()
        try:
            with link.inbox(number) as inbox:
                await link.send(message(number))
                answer = await inbox.receive()
        except _ConnectionLost:
            raise Unavailable("The model gateway ended before it answered.", hint="Try again.") from None
        if isinstance(answer, RequestFailure):
            raise answer.error
        if not isinstance(answer, kind):
            raise _unexpected(answer)
        return answer

    async def _linked(self) -> _Link:
        """The connection; a new one, to a new gateway if need be, if it was lost."""
        if self._link is not None and not self._link.is_lost:
            return self._link
        async with self._linking:
            if self._link is None or self._link.is_lost:
                self._link = _Link(await open_stream(partial(connect_or_start, self._launch)))
                self._tasks.start_soon(self._link.read)
            return self._link

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def _unexpected(message: FromGateway | Report) -> Defect:
    return Defect(f"The model gateway answered with {type(message).__name__}.")


async def open_stream(find: Callable[[], socket.socket]) -> SocketStream:
    """What `find` connects to. A task cancelled natively leaves its thread behind, which then closes what it found."""
    found: list[socket.socket] = []
    is_abandoned = threading.Event()
    lock = threading.Lock()

    def look() -> socket.socket:
        connection = find()
        with lock:
            if is_abandoned.is_set():
                connection.close()
            found.append(connection)
        return connection

    try:
        connection = await anyio.to_thread.run_sync(look)
        connection.setblocking(False)
        return await SocketStream.from_socket(connection)
    except BaseException:
        with lock:
            is_abandoned.set()
            for connection in found:
                connection.close()
        raise
