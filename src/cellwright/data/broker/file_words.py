"""What a broker does for files: list, stat and read through a connection's worker, each with a line of the audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from cellwright.data.broker.audit import StatementAudit
from cellwright.data.broker.recording import recorded
from cellwright.data.broker.worker_pool import WorkerPool
from cellwright.data.broker.worker_process import WorkerFailed, close_descriptor
from cellwright.data.connection_options import read_buckets
from cellwright.data.connections import DataConnection
from cellwright.data.file_failures import file_failure
from cellwright.data.file_paths import plain_path
from cellwright.data.messages import Asker, FileEntry, FileList, FilePart, ListFiles, ReadFile, StatFile
from cellwright.errors import Unavailable, UserError

Result = TypeVar("Result")
_GRACE_SECONDS: Final = 10.0
_LIST: Final = TypeAdapter(FileList)
_ENTRY: Final = TypeAdapter(FileEntry)
_PART: Final = TypeAdapter(FilePart)


@dataclass(slots=True, kw_only=True)
class FileWords:
    """The files of a broker's connections."""

    workers: WorkerPool
    audit: StatementAudit

    async def answer(
        self, asked: ListFiles | StatFile | ReadFile, connection: DataConnection
    ) -> FileList | FileEntry | FilePart:
        """What was asked for. Raises `UserError`, `RefusedByPolicy` or `Unavailable`."""
        path = plain_path(asked.path)
        match asked:
            case ListFiles():
                message: dict[str, Any] = {"kind": "files", "path": path, "recursive": asked.recursive}
                return await self._recorded(f"LIST {path}", asked.asker, connection, partial(self._list, message))
            case StatFile():
                message = {"kind": "stat", "path": path}
                return await self._recorded(f"STAT {path}", asked.asker, connection, partial(self._stat, message))
            case ReadFile():
                message = {"kind": "read", "path": path, **_range(asked)}
                words = f"READ {path} {_range_words(asked)}"
                return await self._recorded(words, asked.asker, connection, partial(self._read, message))

    async def count_root(self, connection: DataConnection) -> tuple[str, int]:
        """What the server is, and how many files and folders it shows first. Opens it anew."""
        await self.workers.forget(connection.name)
        # Above its buckets nobody is asked.
        buckets = read_buckets(connection.options["buckets"]) if connection.kind == "s3" else ()
        places = [f"{each.bucket}/{each.prefix}".rstrip("/") for each in buckets] or [""]
        lists = [await self._list({"kind": "files", "path": place, "recursive": False}, connection) for place in places]
        async with self.workers.worker(connection) as worker:
            return worker.server, sum(len(each.entries) for each in lists)

    async def _list(self, message: dict[str, Any], connection: DataConnection) -> FileList:
        reply, _ = await self._ask(message, connection)
        return _read_reply(_LIST, reply)

    async def _stat(self, message: dict[str, Any], connection: DataConnection) -> FileEntry:
        reply, _ = await self._ask(message, connection)
        return _read_reply(_ENTRY, reply)

    async def _read(self, message: dict[str, Any], connection: DataConnection) -> FilePart:
        most = {"bytes": connection.limits.megabytes << 20}
        reply, descriptor = await self._ask(message | most, connection)
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        return _read_reply(_PART, reply | {"descriptor": descriptor, "at": at})

    async def _ask(self, message: dict[str, Any], connection: DataConnection) -> tuple[dict[str, Any], int]:
        seconds = connection.limits.seconds
        try:
            async with self.workers.worker(connection) as worker:
                reply, descriptor = await worker.ask(message | {"seconds": seconds}, seconds + _GRACE_SECONDS)
                if reply.get("kind") == "failed":
                    close_descriptor(descriptor)
                    raise WorkerFailed(reply)
                return reply, descriptor
        except WorkerFailed as failed:
            if failed.failure == "gone":
                await self.workers.forget(connection.name)
            raise file_failure(failed.failure, failed.why, failed.hint, connection) from None

    async def _recorded(
        self,
        words: str,
        asker: Asker,
        connection: DataConnection,
        work: Callable[[DataConnection], Awaitable[Result]],
    ) -> Result:
        begin = partial(self.audit.begin, connection.name, "read", words, asker)
        async with recorded(self.audit, begin) as told:
            found = await work(connection)
            if isinstance(found, FilePart):
                told["bytes"] = found.size
        return found


def _range(asked: ReadFile) -> dict[str, Any]:
    if asked.start < 0 or (asked.length is not None and asked.length < 0):
        raise UserError("A range begins at 0 or later, and has a length.", hint="Ask for its size first.")
    return {"start": asked.start, "length": asked.length, "version": asked.version}


def _range_words(asked: ReadFile) -> str:
    return f"{asked.start}-" if asked.length is None else f"{asked.start}-{asked.start + asked.length - 1}"


def _read_reply(reader: TypeAdapter[Result], reply: dict[str, Any]) -> Result:
    """What a worker says is read as a stranger's: its library speaks with a server that may be anybody's."""
    try:
        return reader.validate_python({name: reply[name] for name in reply if name not in {"kind", "descriptors"}})
    except ValidationError:
        close_descriptor(int(reply.get("descriptor", -1)))
        raise Unavailable("The worker answered what makes no sense.", hint="Try again.") from None
