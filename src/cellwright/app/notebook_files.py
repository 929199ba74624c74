"""Files of connections for the cells of one notebook: from the broker, or from what was read before."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

import anyio.to_thread

from cellwright.data.broker_client import BrokerClient
from cellwright.data.file_cache import FileCache
from cellwright.data.file_paths import FileChanged, NoSuchFile, plain_path
from cellwright.data.messages import (
    Asker,
    FileEntry,
    FileList,
    FilePart,
    ListFiles,
    ReadFile,
    StatFile,
    failure_json,
)
from cellwright.kernel.process.host_calls import ServiceAnswer

FileWord = ListFiles | StatFile | ReadFile
SettingsStamp = Callable[[str], Awaitable[Hashable]]
"""Another one whenever a connection leads elsewhere or has another secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedFile:
    """One file that a proof rests on: what was read of it."""

    connection: str
    path: str
    version: str
    sha256: str
    """Of the hashes of its ranges, in their order; of one range, of its bytes."""
    ranges: int
    bytes: int
    at: str
    """When the first was read."""


@dataclass(slots=True, kw_only=True)
class NotebookFiles:
    """What a notebook's cells read of files. Who may is asked before."""

    client: BrokerClient
    asker: Asker
    stamp: SettingsStamp
    cache: FileCache | None = field(default_factory=FileCache)
    """None: everything is asked anew."""
    _read: dict[tuple[str, str, str], dict[tuple[int, int | None], FilePart]] = field(
        default_factory=dict[tuple[str, str, str], dict[tuple[int, int | None], FilePart]]
    )

    @property
    def fetched(self) -> list[FetchedFile]:
        """What was read of servers, by file."""
        return [_fetched(*key, parts) for key, parts in self._read.items()]

    async def answer(self, asked: FileWord, shorten: Callable[[dict[str, Any]], ServiceAnswer]) -> ServiceAnswer:
        """For a cell. That there is no such file is an answer, too: libraries ask to find out."""
        try:
            match asked:
                case ListFiles():
                    listed = {"kind": "listed", **asdict(await self.entries(asked))}
                    return await anyio.to_thread.run_sync(shorten, listed)
                case StatFile():
                    return ServiceAnswer(body=json.dumps({"kind": "file", **asdict(await self.stat(asked))}).encode())
                case ReadFile():
                    part = await self.read(asked)
                    told = {"kind": "part", "size": part.size, "version": part.version, "descriptors": 1}
                    return ServiceAnswer(body=json.dumps(told).encode(), descriptors=(part.descriptor,))
        except NoSuchFile as problem:
            return ServiceAnswer(body=json.dumps(failure_json(problem)).encode())

    async def entries(self, asked: ListFiles) -> FileList:
        """What is in a folder. Raises what the broker raises."""
        key = await self._key(asked, "list", asked.recursive)
        known = self.cache.find(key) if self.cache is not None and not asked.fresh else None
        if isinstance(known, FileList):
            return known
        writes = self.cache.writes if self.cache is not None else 0
        found = await self.client.files(replace(asked, asker=self.asker))
        if self.cache is not None:
            self.cache.keep(key, found, writes)
            for entry in found.entries:
                if entry.size is not None and not entry.is_folder:
                    self.cache.keep((*key[:2], entry.path, "stat"), entry, writes)
        return found

    async def stat(self, asked: StatFile) -> FileEntry:
        """A file or folder. Raises what the broker raises."""
        key = await self._key(asked, "stat")
        known = self.cache.find(key) if self.cache is not None and not asked.fresh else None
        if isinstance(known, FileEntry):
            return known
        writes = self.cache.writes if self.cache is not None else 0
        found = await self.client.stat(replace(asked, asker=self.asker))
        if self.cache is not None:
            self.cache.keep(key, found, writes)
        return found

    async def read(self, asked: ReadFile) -> FilePart:
        """Bytes; the descriptor is the caller's to close. Raises what the broker raises."""
        key = await self._key(asked, "read", asked.version, asked.start, asked.length)
        # What has no version may be another by now.
        cache = self.cache if asked.version else None
        known = await anyio.to_thread.run_sync(cache.find_part, key) if cache is not None else None
        if known is not None:
            return known
        try:
            found = await self.client.read(replace(asked, asker=self.asker))
        except FileChanged:
            # What is known of sizes and versions is old, maybe of its whole folder.
            if self.cache is not None:
                self.cache.clear()
            raise
        read = self._read.setdefault((asked.connection, plain_path(asked.path), found.version), {})
        read[asked.start, asked.length] = replace(found, descriptor=-1)
        if cache is not None:
            await anyio.to_thread.run_sync(cache.keep_part, key, found)
        return found

    async def _key(self, asked: FileWord, *more: Hashable) -> tuple[Hashable, ...]:
        return (asked.connection, await self.stamp(asked.connection), plain_path(asked.path), *more)


def _fetched(connection: str, path: str, version: str, parts: dict[tuple[int, int | None], FilePart]) -> FetchedFile:
    ordered = [parts[key] for key in sorted(parts, key=lambda each: (each[0], each[1] or 0))]
    hashes = [part.sha256 for part in ordered]
    return FetchedFile(
        connection=connection,
        path=path,
        version=version,
        sha256=hashes[0] if len(hashes) == 1 else sha256("\n".join(hashes).encode()).hexdigest(),
        ranges=len(ordered),
        bytes=sum(part.size for part in ordered),
        at=min(part.at for part in ordered),
    )
