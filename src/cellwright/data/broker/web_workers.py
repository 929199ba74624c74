"""Web workers by connection and way to it: one for each, and another whenever its settings or its secret changed.

Each exchange is recorded before anything of it is sent, and again when it is over, whoever ended it.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from cellwright.data.broker.audit import StatementAudit
from cellwright.data.broker.recording import uncut
from cellwright.data.broker.request_network import request_network, worker_environment
from cellwright.data.broker.web_worker_process import WebWorkerProcess, start_web_worker
from cellwright.data.broker.worker_pool import Access, FindSecret, session_fingerprint
from cellwright.data.broker.worker_process import WorkerFailed
from cellwright.data.connections import DataConnection
from cellwright.data.messages import Asker
from cellwright.errors import Unavailable
from cellwright.idle import IdleTimer
from cellwright.network import NetworkSettings

_OPEN_SECONDS: Final = 30.0
_TRY_SECONDS: Final = 60.0
_AT_ONCE: Final = 256
"""Exchanges of one connection."""
_OUTCOMES: Final = frozenset({"done", "refused", "failed", "cancelled", "unknown"})


@dataclass(frozen=True, slots=True)
class _Way:
    """A connection as some commands reach it: runs with other proxies have other workers beside one another."""

    connection: str
    network: NetworkSettings


@dataclass(slots=True, kw_only=True)
class _TrackedExchange:
    """One that is not over."""

    connection: str
    asker: Asker
    line: int | None = None
    """Of the audit; None: it has not said yet what it wants."""
    access: Access = "read"
    tried: anyio.Event | None = None
    """Set when a trial is over."""
    reply: Mapping[str, Any] = field(default_factory=dict[str, Any])
    busy: ExitStack = field(default_factory=ExitStack)
    """The broker is not idle until this is closed."""


@dataclass(slots=True, kw_only=True)
class WebWorkers:
    """The web workers of a broker."""

    find_secret: FindSecret
    environment: Mapping[str, str]
    network: Mapping[str, str]
    """Proxies and certificates for whoever does not say by which it is to be connected."""
    audit: StatementAudit
    idle: IdleTimer
    idle_seconds: float = 60.0
    """A worker that nobody has needed for so long is ended."""
    _workers: dict[_Way, tuple[str, WebWorkerProcess]] = field(default_factory=dict[_Way, tuple[str, WebWorkerProcess]])
    _starting: defaultdict[str, anyio.Lock] = field(default_factory=lambda: defaultdict[str, anyio.Lock](anyio.Lock))
    _exchanges: dict[int, _TrackedExchange] = field(default_factory=dict[int, _TrackedExchange])
    _numbers: count[int] = field(default_factory=count)
    _tasks: TaskGroup | None = None

    async def serve(self, started: anyio.Event) -> None:
        """Hear what workers tell, and end those that nobody has needed for a while; cancelled when the broker ends."""
        async with anyio.create_task_group() as self._tasks:
            started.set()
            while True:
                await anyio.sleep(self.idle_seconds / 4)
                before = anyio.current_time() - self.idle_seconds
                for way, (_, worker) in list(self._workers.items()):
                    if not worker.open and worker.used_at < before:
                        await self._retire(way)

    async def exchange(self, connection: DataConnection, asker: Asker) -> int:
        """A line on which one exchange is spoken; it is the caller's. Raises `WorkerFailed`, `Unavailable`."""
        worker = await self._worker(connection)
        if len(worker.open) >= _AT_ONCE:
            raise Unavailable(
                f"{connection.name!r} has {_AT_ONCE} requests open already.", hint="Wait for some of them."
            )
        ours, theirs = socket.socketpair()
        number = self._track(worker, _TrackedExchange(connection=connection.name, asker=asker))
        with theirs:
            try:
                await worker.tell({"kind": "exchange", "id": number}, theirs.fileno())
            except BaseException:
                self._release(worker, number)
                ours.close()
                raise
        return ours.detach()

    async def try_connection(self, connection: DataConnection) -> str:
        """Ask the server something small; what it calls itself. Raises `WorkerFailed`, `Unavailable`."""
        await self.forget(connection.name)
        worker = await self._worker(connection)
        trial = _TrackedExchange(connection=connection.name, asker=Asker(), tried=(tried := anyio.Event()))
        number = self._track(worker, trial)
        try:
            await worker.tell({"kind": "try", "id": number})
            with anyio.fail_after(_TRY_SECONDS):
                await tried.wait()
        except TimeoutError:
            raise Unavailable(f"The server did not answer within {_TRY_SECONDS:g} s.", hint="Try again.") from None
        finally:
            self._release(worker, number)
        if "failure" in trial.reply:
            raise WorkerFailed(trial.reply)
        if trial.reply.get("kind") != "tried":
            raise Unavailable("The process that speaks with the server ended.", hint="Try again.")
        return " ".join(str(trial.reply.get("server", "")).split())[:200]

    async def forget(self, connection: str) -> None:
        """Start others for whoever asks next; what is open comes to its end."""
        for way in [way for way in self._workers if way.connection == connection]:
            await self._retire(way)

    async def _retire(self, way: _Way) -> None:
        _, worker = self._workers.pop(way, ("", None))
        if worker is not None:
            worker.is_lost = True
            if not worker.open:
                await worker.end()

    async def close(self) -> None:
        """End all, and what they have."""
        for way in list(self._workers):
            _, worker = self._workers.pop(way)
            await worker.end()

    # ── workers ──

    async def _worker(self, connection: DataConnection) -> WebWorkerProcess:
        secret = await anyio.to_thread.run_sync(self.find_secret, connection, "read")
        network = request_network(self.network)
        key = session_fingerprint(connection, secret, network)
        way = _Way(connection.name, NetworkSettings.of(network))
        async with self._starting[connection.name]:
            known, worker = self._workers.get(way, ("", None))
            if worker is not None and known == key and not worker.is_lost:
                return worker
            await self._retire(way)
            opening = {
                "source": connection.kind,
                "name": connection.name,
                "options": dict(connection.options),
                "secret": secret,
                "network": network,
                "megabytes": connection.limits.megabytes,
                "seconds": connection.limits.seconds,
            }
            started = await start_web_worker(opening, worker_environment(self.environment, network), _OPEN_SECONDS)
            self._workers[way] = (key, started)
            assert self._tasks is not None
            self._tasks.start_soon(self._keep, way, started)
            return started

    async def _keep(self, way: _Way, worker: WebWorkerProcess) -> None:
        """Hear it to its end, and record what it left."""
        try:
            await worker.hear(partial(self._heard, worker))
        finally:
            with anyio.CancelScope(shield=True):
                if self._workers.get(way, ("", None))[1] is worker:
                    del self._workers[way]
                await worker.end()
                for number in list(worker.open):
                    await self._lost(worker, number)

    # ── recording ──

    async def _heard(self, worker: WebWorkerProcess, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        exchange = self._exchanges.get(number) if isinstance(number, int) else None
        if exchange is None or not isinstance(number, int) or number not in worker.open:
            return
        match message.get("kind"):
            case "begun" if exchange.line is None:
                exchange.access = "write" if message.get("access") == "write" else "read"
                statement = str(message.get("statement", ""))[:4000]
                begin = partial(self.audit.begin, exchange.connection, exchange.access, statement, exchange.asker)
                exchange.line = await uncut(begin)
                await worker.tell({"kind": "recorded", "id": number})
            case "ended":
                await self._ended(worker, number, exchange, message)
            case "tried" if exchange.tried is not None:
                exchange.reply = message
                exchange.tried.set()
            case _:
                return

    async def _ended(
        self, worker: WebWorkerProcess, number: int, exchange: _TrackedExchange, message: Mapping[str, Any]
    ) -> None:
        self._release(worker, number)
        outcome = str(message.get("outcome"))
        if exchange.line is not None:
            told = {name: message.get(name) for name in ("status", "bytes", "sent_bytes")}
            counted = {name: value if isinstance(value, int) else None for name, value in told.items()}
            seconds, why = float(message.get("seconds", 0)), str(message.get("why", ""))[:500]
            outcome = outcome if outcome in _OUTCOMES else "failed"
            await uncut(partial(self.audit.end, exchange.line, outcome, seconds=seconds, why=why, **counted))
        if worker.is_lost and not worker.open:
            # Another has taken its place already.
            await worker.end()

    async def _lost(self, worker: WebWorkerProcess, number: int) -> None:
        exchange = self._release(worker, number)
        if exchange is None:
            return
        if exchange.tried is not None:
            exchange.tried.set()
        if exchange.line is not None:
            outcome = "unknown" if exchange.access == "write" else "failed"
            why = "the process that spoke with the server ended"
            await uncut(partial(self.audit.end, exchange.line, outcome, why=why))

    def _track(self, worker: WebWorkerProcess, exchange: _TrackedExchange) -> int:
        number = next(self._numbers)
        exchange.busy.enter_context(self.idle.busy())
        self._exchanges[number] = exchange
        worker.open.add(number)
        return number

    def _release(self, worker: WebWorkerProcess, number: int) -> _TrackedExchange | None:
        worker.open.discard(number)
        exchange = self._exchanges.pop(number, None)
        if exchange is not None:
            exchange.busy.close()
        return exchange
