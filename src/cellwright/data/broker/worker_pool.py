"""Workers by connection: a session that is free is used again; one whose settings or secret changed never is."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import anyio
import anyio.to_thread

from cellwright.data.broker.request_network import request_network, worker_environment
from cellwright.data.broker.worker_process import WorkerProcess, start_worker
from cellwright.data.connections import DataConnection
from cellwright.data.source_kinds import FILE_KINDS
from cellwright.errors import Unavailable

Access = Literal["read", "write"]
FindSecret = Callable[[DataConnection, Access], str]
"""The secret of a connection, empty if it has none. Blocking."""
_IDLE_SECONDS: Final = 60.0
_AT_ONCE: Final = 4
"""Workers of one connection."""
_OPEN_SECONDS: Final = 30.0
_KEY: Final = os.urandom(32)


@dataclass(frozen=True, slots=True)
class _SessionKey:
    connection: str
    access: Access
    fingerprint: str


@dataclass(slots=True, kw_only=True)
class WorkerPool:
    """The workers of a broker."""

    find_secret: FindSecret
    environment: Mapping[str, str]
    network: Mapping[str, str]
    """Proxies and certificates for whoever does not say by which it is to be connected."""
    _free: defaultdict[_SessionKey, list[WorkerProcess]] = field(
        default_factory=lambda: defaultdict[_SessionKey, list[WorkerProcess]](list)
    )
    _slots: defaultdict[str, anyio.Semaphore] = field(
        default_factory=lambda: defaultdict[str, anyio.Semaphore](lambda: anyio.Semaphore(_AT_ONCE))
    )

    @asynccontextmanager
    async def worker(self, connection: DataConnection, access: Access = "read") -> AsyncGenerator[WorkerProcess]:
        """A worker with a session of this connection, for this block alone. Raises `WorkerFailed`, `Unavailable`."""
        if connection.kind in FILE_KINDS:
            raise Unavailable("A file is read in a cage, not by a worker.")
        secret = await anyio.to_thread.run_sync(self.find_secret, connection, access)
        network = request_network(self.network)
        key = _SessionKey(connection.name, access, session_fingerprint(connection, secret, network))
        async with self._slots[connection.name]:
            worker = self._take(key) or await self._start(connection, access, secret, network)
            try:
                yield worker
            finally:
                if worker.is_lost:
                    await worker.end()
                else:
                    self._free[key].append(worker)

    async def sweep(self) -> None:
        """End those that nobody has needed for a while; cancelled when the broker ends."""
        while True:
            await anyio.sleep(_IDLE_SECONDS / 4)
            await self._end_free(anyio.current_time() - _IDLE_SECONDS)

    async def close(self) -> None:
        """End all that are free."""
        await self._end_free(float("inf"))

    async def forget(self, connection: str) -> None:
        """End the free sessions of one connection."""
        for key in [key for key in self._free if key.connection == connection]:
            for worker in self._free.pop(key):
                await worker.end()

    def _take(self, key: _SessionKey) -> WorkerProcess | None:
        free = self._free[key]
        while free:
            worker = free.pop()
            if not worker.is_lost:
                return worker
        return None

    async def _start(
        self, connection: DataConnection, access: Access, secret: str, network: Mapping[str, str]
    ) -> WorkerProcess:
        opening: dict[str, Any] = {
            "source": connection.kind,
            "options": dict(connection.options),
            "user": connection.writer if access == "write" else connection.options.get("user", ""),
            "secret": secret,
            "access": access,
            "seconds": connection.limits.seconds,
            "network": dict(network),
        }
        return await start_worker(opening, worker_environment(self.environment, network), _OPEN_SECONDS)

    async def _end_free(self, before: float) -> None:
        for key, workers in list(self._free.items()):
            over = [worker for worker in workers if worker.used_at < before]
            self._free[key] = [worker for worker in workers if worker not in over]
            if not self._free[key]:
                del self._free[key]
            for worker in over:
                await worker.end()


def session_fingerprint(connection: DataConnection, secret: str, network: Mapping[str, str]) -> str:
    """Another one whenever a worker's session must be another; no secret or password can be told from it."""
    limits = (connection.limits.megabytes, connection.limits.seconds)
    options, ways = sorted(connection.options.items()), sorted(network.items())
    text = repr((connection.kind, options, connection.writer, limits, secret, ways))
    return hashlib.blake2b(text.encode(), key=_KEY).hexdigest()
