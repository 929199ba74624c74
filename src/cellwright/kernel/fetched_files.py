"""Parts of files behind connections as stand-ins for a cage: footers, row groups, beginnings and pieces of texts.

What a server sends is a stranger's bytes: copied here, cut at line ends where it is text, and never parsed.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

import anyio
import anyio.to_thread

from cellwright.data.messages import FileEntry, FileList, FilePart, ListFiles, ReadFile, StatFile
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import CellwrightError, UserError

TAIL_BYTES: Final = 8 << 10
"""Read of a Parquet file first: most footers are shorter."""
WHOLE_BYTES: Final = 4 << 20
"""A text up to this size is fetched whole."""
_LARGEST_WHOLE: Final = 64 << 20
"""What cannot be read in parts is fetched up to this size."""
_LARGEST_FOOTER: Final = 16 << 20
_HEAD_BYTES: Final = 1 << 20
_SHORT_HEAD_BYTES: Final = 32 << 10
_PIECES: Final = 6
_PIECE_BYTES: Final = 256 << 10
_AT_ONCE: Final = 4
_PARQUET: Final = frozenset({".parquet", ".pq"})
_LINES: Final = frozenset({".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".jsonl", ".ndjson"})
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class StoredFiles(Protocol):
    """Where files come from. Methods raise the errors of `cellwright.errors`."""

    async def entries(self, asked: ListFiles) -> FileList:
        """What is in a folder."""
        ...

    async def stat(self, asked: StatFile) -> FileEntry:
        """A file or folder."""
        ...

    async def read(self, asked: ReadFile) -> FilePart:
        """Bytes; the descriptor is the caller's to close."""
        ...


@dataclass(slots=True, kw_only=True)
class StandIn:
    """A file of a folder here, with some of the bytes of a file there."""

    remote: RemotePath
    size: int
    version: str
    target: str
    """Below the folder that a cage has."""
    fetched: int = 0
    tail_from: int | None = None
    """Where what is here of its end begins; None: nothing is."""
    is_part: bool = False
    """It is a text of some of the other's lines."""

    @property
    def suffix(self) -> str:
        """What it is, by its name."""
        return PurePosixPath(self.remote.path.lower()).suffix

    @property
    def is_parquet(self) -> bool:
        """Whether footers and row groups are fetched of it."""
        return self.suffix in _PARQUET

    @property
    def is_lines(self) -> bool:
        """Whether it can be read from the middle."""
        return self.suffix in _LINES


@dataclass(slots=True, kw_only=True)
class FileFetch:
    """Fetches into a folder, several at once."""

    source: StoredFiles
    folder: Path
    requests: int = 0
    lost: list[tuple[StandIn, CellwrightError]] = field(default_factory=list[tuple[StandIn, CellwrightError]])

    async def footers(self, files: Sequence[StandIn], until: float) -> list[StandIn]:
        """Their footers, in files of the right sizes; those that could be fetched in time."""
        return await self._each(files, self._footer, until)

    async def ranges(self, file: StandIn, ranges: Sequence[tuple[int, int]]) -> None:
        """More of a file whose footer is here. Raises what the source raises."""
        for start, stop in ranges:
            await self._copy(file, start, stop if file.tail_from is None else min(stop, file.tail_from), start)

    async def samples(self, files: Sequence[StandIn], until: float) -> list[StandIn]:
        """Texts by their beginnings and some pieces, others whole; those that could be fetched in time."""
        return await self._each(files, self._sample, until)

    async def heads(self, files: Sequence[StandIn], until: float) -> list[StandIn]:
        """The first lines of texts: enough to see what columns they have; those that could be fetched in time."""
        return await self._each(files, self._head, until)

    async def _each(
        self, files: Sequence[StandIn], fetch: Callable[[StandIn], Awaitable[None]], until: float
    ) -> list[StandIn]:
        done, waiting = set[int](), list(enumerate(files))[::-1]

        async def work() -> None:
            while waiting and anyio.current_time() < until:
                number, file = waiting.pop()
                try:
                    await fetch(file)
                    done.add(number)
                except CellwrightError as problem:
                    self.lost.append((file, problem))

        async with anyio.create_task_group() as tasks:
            for _ in range(_AT_ONCE):
                tasks.start_soon(work)
        late = UserError("There was no time left for it.", hint="Name fewer files.")
        self.lost += [(file, late) for _, file in waiting]
        return [files[number] for number in sorted(done)]

    async def _footer(self, file: StandIn) -> None:
        start = max(0, file.size - TAIL_BYTES)
        tail = await self._read(file, start, file.size)
        length = int.from_bytes(tail[-8:-4], "little") + 8
        if tail[-4:] != b"PAR1" or not 8 < length <= min(_LARGEST_FOOTER, file.size):
            raise UserError("It is a broken or unfinished Parquet file.", hint="Look at who wrote it.")
        if length > len(tail):
            tail = await self._read(file, file.size - length, start) + tail
        file.tail_from = file.size - len(tail)
        await anyio.to_thread.run_sync(self._write_sparse, file, tail)

    def _write_sparse(self, file: StandIn, tail: bytes) -> None:
        path = self._path(file)
        with path.open("wb") as stream:
            stream.truncate(file.size)
            # How the first page of nearly every such file begins; where it is read, it is fetched.
            stream.write(b"PAR1\x15")
            stream.seek(file.size - len(tail))
            stream.write(tail)

    async def _sample(self, file: StandIn) -> None:
        if file.size <= WHOLE_BYTES or not file.is_lines:
            if file.size > _LARGEST_WHOLE:
                raise UserError("It is too large to be fetched for a look.", hint="Read it in a notebook.")
            await self._copy(file, 0, file.size, 0)
            return
        head = await self._read(file, 0, _HEAD_BYTES)
        parts = [_whole_lines(head, is_first=True)]
        if not head.startswith(_WIDE_MARKS):
            step = (file.size - _HEAD_BYTES - _PIECE_BYTES) // _PIECES
            starts = [_HEAD_BYTES + step * number for number in range(1, _PIECES + 1)]
            parts += [_whole_lines(await self._read(file, at, at + _PIECE_BYTES), is_first=False) for at in starts]
        file.is_part = True
        await anyio.to_thread.run_sync(self._path(file).write_bytes, b"".join(parts))

    async def _head(self, file: StandIn) -> None:
        head = await self._read(file, 0, min(file.size, _SHORT_HEAD_BYTES))
        file.is_part = file.size > _SHORT_HEAD_BYTES
        lines = _whole_lines(head, is_first=True) if file.is_part else head
        if not lines:
            raise UserError("Its first line is too long for a look.", hint="Read it in a notebook.")
        await anyio.to_thread.run_sync(self._path(file).write_bytes, lines)

    async def _copy(self, file: StandIn, start: int, stop: int, at: int) -> None:
        data = await self._read(file, start, stop)
        await anyio.to_thread.run_sync(_write_at, self._path(file), at, data)

    async def _read(self, file: StandIn, start: int, stop: int) -> bytes:
        if stop <= start:
            return b""
        remote = file.remote
        part = await self.source.read(
            ReadFile(
                connection=remote.connection, path=remote.path, start=start, length=stop - start, version=file.version
            )
        )
        self.requests += 1
        file.fetched += part.size
        return await anyio.to_thread.run_sync(_take, part)

    def _path(self, file: StandIn) -> Path:
        path = self.folder / file.target
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _take(part: FilePart) -> bytes:
    """All of it; the descriptor is closed. Blocking."""
    try:
        data = bytearray()
        while chunk := os.pread(part.descriptor, part.size - len(data), len(data)):
            data += chunk
        return bytes(data)
    finally:
        os.close(part.descriptor)


def _write_at(path: Path, at: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, at)
            view, at = view[written:], at + written
    finally:
        os.close(descriptor)


def _whole_lines(data: bytes, *, is_first: bool) -> bytes:
    """Without half a line at either end."""
    begin = 0 if is_first else data.find(b"\n") + 1
    return data[begin : data.rfind(b"\n") + 1]
