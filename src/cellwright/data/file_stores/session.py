"""A store in its worker: a loop in a thread of its own, asked from outside, one request at a time, and cancelled."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from dataclasses import asdict
from functools import partial
from typing import Any, Final, TypeVar

import anyio
from anyio.from_thread import start_blocking_portal

from cellwright.data.file_stores.opening import open_store
from cellwright.data.file_stores.store import FileStore, missing
from cellwright.data.sealed_memory import SealedMemory, new_memory, seal
from cellwright.data.source_kinds import SourceKind
from cellwright.data.worker.source import SourceFailed, SourceLogin

Result = TypeVar("Result")
_CHUNK_BYTES: Final = 8 << 20
_AT_ONCE: Final = 4
"""Chunks of one range."""


class FileSession:
    """An open store. Blocking; `cancel` comes from another thread. Raises `SourceFailed`."""

    def __init__(self, kind: SourceKind, login: SourceLogin) -> None:
        # It ends with the process: nobody waits for what a server is still sending.
        self._loop = start_blocking_portal()
        self._portal = self._loop.__enter__()
        self._running: Future[Any] | None = None
        self._has_secret = bool(login.secret)
        self._store: FileStore = self._wait(partial(open_store, kind, login))
        self.server = self._store.server

    def entries(self, folder: str, *, is_deep: bool) -> dict[str, Any]:
        """What is in a folder, as plain values."""
        return asdict(self._wait(partial(self._store.entries, folder, is_deep=is_deep)))

    def stat(self, path: str) -> dict[str, Any]:
        """A file or folder, as plain values."""
        return asdict(self._wait(partial(self._store.stat, path)))

    def read(self, path: str, start: int, length: int | None, version: str, most: int) -> tuple[SealedMemory, str]:
        """A range in sealed memory, and the version of the file it is from."""
        return self._wait(partial(self._read, path, start, length, version, most))

    def cancel(self) -> None:
        """End what runs now. Nothing if nothing does."""
        if (running := self._running) is not None:
            running.cancel()

    async def _read(
        self, path: str, start: int, length: int | None, version: str, most: int
    ) -> tuple[SealedMemory, str]:
        if length is None:
            entry = await self._store.stat(path)
            if entry.is_folder or entry.size is None:
                raise missing(path)
            length = max(0, entry.size - start)
        if length > most:
            raise SourceFailed(
                "size",
                f"{length:,} bytes of {path[:200]!r} are more than the {most:,} that may be read at once.",
                hint="Read less at once, or allow the connection more megabytes.",
            )
        reading = _RangeReading(self._store, path, start, start + length, version)
        descriptor = new_memory()
        try:
            found = await reading.into(descriptor)
            return seal(descriptor), found
        finally:
            os.close(descriptor)

    def _wait(self, work: Callable[[], Awaitable[Result]]) -> Result:
        self._running = running = self._portal.start_task_soon(work)
        try:
            return running.result()
        except CancelledError:
            raise SourceFailed("cancelled", "It was cancelled.") from None
        except SourceFailed as failed:
            if failed.kind == "login" and not self._has_secret:
                raise SourceFailed("login", "no secret is kept, and the server wants one.") from None
            raise
        finally:
            self._running = None


class _RangeReading:
    """A range in chunks, some at once, of one version of its file."""

    def __init__(self, store: FileStore, path: str, start: int, stop: int, version: str) -> None:
        self._store, self._path, self._start, self._stop = store, path, start, stop
        self._version = version

    async def into(self, descriptor: int) -> str:
        """Write it, and say of which version it is. Raises `SourceFailed`."""
        slots, failures = anyio.Semaphore(_AT_ONCE), list[SourceFailed]()

        async def read(at: int, end: int) -> None:
            async with slots:
                try:
                    await self._chunk(descriptor, at, end)
                except SourceFailed as failure:
                    failures.append(failure)
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for at in range(self._start, self._stop, _CHUNK_BYTES):
                tasks.start_soon(read, at, min(at + _CHUNK_BYTES, self._stop))
        if failures:
            raise failures[0]
        return self._version

    async def _chunk(self, descriptor: int, at: int, end: int) -> None:
        found = await self._store.read(self._path, at, end)
        if self._version and found.version != self._version:
            raise SourceFailed(
                "changed", f"{self._path[:200]!r} changed while it was read.", hint="Read it again from its beginning."
            )
        self._version = found.version
        if len(found.data) != end - at:
            raise SourceFailed(
                "statement", f"{self._path[:200]!r} ends before byte {end:,}.", hint="Ask for its size first."
            )
        os.pwrite(descriptor, found.data, at - self._start)
