"""The gateway put together: what it is told at its start becomes a process that listens until it is idle.

What clients say at its socket is heard here; whatever one of them says ends at most its own connection.

Beside its socket it opens the OpenAI-compatible endpoint, on loopback only: other programs use our keys, budgets and
fallback, and see no key. A web server is loaded when the first program connects: until then it costs nothing.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import assert_never

import anyio
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup

from cellwright.errors import CellwrightError, Defect, Unavailable, UserError
from cellwright.framing import MAX_FRAME, MAX_GREETING, BadFrame, FrameUnpacker, peer_uid
from cellwright.idle import IdleTimer
from cellwright.models.calls import Outcome
from cellwright.models.client import protocol
from cellwright.models.client.gateway_process import VERSION, GatewayLaunch
from cellwright.models.client.protocol import Acknowledgement, QueryReply, RequestFailure, ToGateway, Vectors
from cellwright.models.config.keys import KeyRing
from cellwright.models.gateway.call_executor import CallExecutor
from cellwright.models.gateway.call_plan import CallPlanner
from cellwright.models.gateway.gateway_reports import GatewayReports
from cellwright.models.gateway.in_flight import AtGatewayCrash, Subscription, carry_on
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.gateway.openai_access import bind_endpoint
from cellwright.models.money.budgets import Budgets
from cellwright.models.money.ledger import Ledger
from cellwright.models.providers.sdk_clients import connecting_by
from cellwright.models.routing.breaker import Breakers
from cellwright.models.routing.fallback import Attempts

logger = logging.getLogger(__name__)

# Read with the code: who the process is started as may be let to run it, and no longer to look where it lies.
_CELLWRIGHT_VERSION = version("cellwright")
_GREETING_TIMEOUT_SECONDS = 10
_DISCONNECTED = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


@dataclass(eq=False, kw_only=True)
class Server:
    """Speaks with every client at once."""

    executor: CallExecutor
    keys: KeyRing
    idle: IdleTimer
    stop: Callable[[bool], None]
    uid: int
    """Whose processes are heard."""

    async def serve(self, listener: socket.socket) -> None:
        """Until cancelled."""
        async with await SocketListener.from_socket(listener) as opened:
            await opened.serve(self._welcome)

    async def _welcome(self, stream: SocketStream) -> None:
        async with stream:
            if peer_uid(stream.extra(SocketAttribute.raw_socket)) != self.uid:
                logger.warning("a process of another user was turned away")
                return
            with self.idle.busy():
                await _Conversation(stream, self).hold()


class _Conversation:
    """One connection."""

    def __init__(self, stream: SocketStream, server: Server) -> None:
        self._stream = stream
        self._server = server
        self._sending = anyio.Lock(fast_acquire=True)
        self._asked: dict[int, anyio.CancelScope] = {}

    async def hold(self) -> None:
        """Until the other side is gone or says what makes no sense. Calls it asked for go on."""
        try:
            async with anyio.create_task_group() as tasks:
                await self._listen(tasks)
                tasks.cancel_scope.cancel()
        except* _DISCONNECTED:
            pass

    async def _listen(self, tasks: TaskGroup) -> None:
        try:
            requests = self._requests()
            with anyio.fail_after(_GREETING_TIMEOUT_SECONDS):
                await self._greet(await anext(requests))
            async for request in requests:
                self._hear(request, tasks)
        except BadFrame as problem:
            logger.warning("a client sent a malformed message: %s", problem)
            await self._fail(0, UserError(f"The model gateway read {problem}."))
        except (TimeoutError, StopAsyncIteration, *_DISCONNECTED):
            pass

    async def _requests(self) -> AsyncIterator[ToGateway]:
        unpacker = FrameUnpacker(MAX_GREETING)
        async for data in self._stream:
            for payload in unpacker.feed(data):
                yield protocol.read_request(payload)
                unpacker.limit = MAX_FRAME

    async def _greet(self, request: ToGateway) -> None:
        if not isinstance(request, protocol.Hello):
            raise BadFrame("no hello")
        if request.version != VERSION:
            raise BadFrame(f"version {request.version} of the protocol, but speaks {VERSION}")
        await self._send(protocol.pack_reply(protocol.Welcome(pid=os.getpid())))

    def _hear(self, request: ToGateway, tasks: TaskGroup) -> None:
        match request:
            case protocol.Hello():
                raise BadFrame("a second hello")
            case protocol.Detach(number=number):
                if number in self._asked:
                    self._asked[number].cancel()
            case protocol.SubmitCall(number=number, call=call, connection=connection):
                with connecting_by(connection):
                    subscription = self._server.executor.start(call)
                tasks.start_soon(
                    self._in_scope, number, lambda: self._pump(number, subscription, is_streamed=call.stream)
                )
            case protocol.Embed(number=number, connection=connection):
                with connecting_by(connection):
                    tasks.start_soon(self._in_scope, number, lambda: self._answer(request))
            case protocol.Cancel() | protocol.Keys() | protocol.Query() | protocol.Stop():
                tasks.start_soon(self._in_scope, request.number, lambda: self._answer(request))
            case _:
                assert_never(request)

    async def _in_scope(self, number: int, answer: Callable[[], Awaitable[None]]) -> None:
        """Answer one request; what goes wrong is told under its number."""
        with anyio.CancelScope() as scope:
            self._asked[number] = scope
            try:
                await answer()
            except CellwrightError as error:
                await self._fail(number, error)
            except BadFrame as problem:
                error = Unavailable(f"The answer cannot be handed over: {problem}.", hint="Ask for less at once.")
                await self._fail(number, error)
            except _DISCONNECTED:
                raise
            except Exception as error:
                defect = Defect(f"The model gateway failed: {type(error).__name__}.")
                logger.exception("defect %s", defect.report_id)
                await self._fail(number, defect)
            finally:
                if self._asked.get(number) is scope:
                    del self._asked[number]

    async def _pump(self, number: int, subscription: Subscription, *, is_streamed: bool) -> None:
        """Tell what a call tells; what waits together goes in one frame."""
        if not is_streamed:
            await subscription.ended()
        while waiting := await subscription.waiting():
            updates = [item for item in waiting if not isinstance(item, Outcome)]
            frames = protocol.pack_updates(number, updates) if updates and is_streamed else b""
            if isinstance(last := waiting[-1], Outcome):
                frames += protocol.pack_end(number, last)
            if frames:
                await self._send(frames)

    async def _answer(self, request: protocol.Immediate) -> None:
        number = request.number
        match request:
            case protocol.Cancel(call=call):
                answer: Acknowledgement | QueryReply | Vectors = Acknowledgement(
                    number=number, happened=await self._server.executor.cancel(call)
                )
            case protocol.Keys(keys=keys, forget=forget):
                self._server.keys.forget(forget)
                self._server.keys.take(keys)
                answer = Acknowledgement(number=number)
            case protocol.Query(question=question):
                executor = self._server.executor
                report = await executor.reports.report(question, calls_in_flight=executor.in_flight)
                answer = QueryReply(number=number, report=report)
            case protocol.Embed(texts=texts, choice=choice):
                answer = Vectors(number=number, vectors=await self._server.executor.embed(texts, choice))
            case protocol.Stop(at_once=at_once):
                answer = Acknowledgement(number=number)
                self._server.stop(at_once)
            case _:
                assert_never(request)
        await self._send(protocol.pack_reply(answer))

    async def _fail(self, number: int, error: CellwrightError) -> None:
        await self._send(protocol.pack_reply(RequestFailure(number=number, error=error)))

    async def _send(self, frame: bytes) -> None:
        async with self._sending:
            await self._stream.send(frame)


async def run_gateway(
    start: GatewayLaunch,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    mask_log: Callable[[Callable[[str], str]], None] = lambda mask: None,
    at_crash: AtGatewayCrash = carry_on,
) -> None:
    """Be the gateway until nobody has needed it for a while, or it is told to stop."""
    keys = KeyRing(start.home, start.keys)
    registry = ModelRegistry(start.home, keys, Breakers())
    mask_log(registry.mask)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(registry.aclose)
        ledger = stack.enter_context(Ledger(start.home / "models.db", mask=registry.mask, price_of=registry.price_of))
        ledger.adopt()
        for name, probed in ledger.probes().items():
            registry.learn(name, probed)
        idle, stopping = IdleTimer(start.idle_seconds), _StopSignal()
        async with anyio.create_task_group() as tasks:
            reports = GatewayReports(registry=registry, ledger=ledger, idle=idle, version=_CELLWRIGHT_VERSION)
            executor = CallExecutor(
                registry=registry,
                ledger=ledger,
                planner=CallPlanner(registry, Budgets(ledger)),
                attempts=Attempts(ask=registry.ask, breakers=registry.breakers),
                reports=reports,
                idle=idle,
                tasks=tasks,
                at_crash=at_crash,
            )
            server = Server(executor=executor, keys=keys, idle=idle, stop=stopping.stop, uid=os.getuid())
            tasks.start_soon(server.serve, listener)
            tasks.start_soon(_watch_signals, stopping)
            tasks.start_soon(_run_endpoint, executor, start, reports)
            on_ready()
            await _until_over(idle, stopping, executor)
            tasks.cancel_scope.cancel()


class _StopSignal:
    """Whether the gateway was told to stop."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.at_once = anyio.Event()

    def stop(self, at_once: bool) -> None:
        """End when nothing is in flight, or at once. Told twice means at once."""
        if at_once or self.asked.is_set():
            self.at_once.set()
        self.asked.set()


async def _until_over(idle: IdleTimer, stopping: _StopSignal, executor: CallExecutor) -> None:
    async def drained() -> None:
        await stopping.asked.wait()
        await executor.drained()

    async with anyio.create_task_group() as waiting:

        async def until(is_over: Callable[[], Awaitable[None]]) -> None:
            await is_over()
            waiting.cancel_scope.cancel()

        for is_over in (idle.wait, drained, stopping.at_once.wait):
            waiting.start_soon(until, is_over)


async def _watch_signals(stopping: _StopSignal) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stopping.stop(False)


async def _run_endpoint(executor: CallExecutor, start: GatewayLaunch, reports: GatewayReports) -> None:
    """The OpenAI-compatible endpoint, beside what clients need: without it the gateway is still a gateway."""
    try:
        listener, address = await anyio.to_thread.run_sync(bind_endpoint, start.home)
        with listener:
            reports.endpoint = {"base_url": address.base_url}
            await anyio.wait_readable(listener)
            # An HTTP server is loaded for the first program that connects: no client should wait for that.
            from cellwright.models.gateway.openai_http import OpenAIRoutes, serve

            await serve(OpenAIRoutes(executor, start).application(address), listener)
    except (CellwrightError, OSError) as problem:
        logger.warning("the OpenAI-compatible endpoint is not open: %s", problem)
