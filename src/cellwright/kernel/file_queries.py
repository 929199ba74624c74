"""Databases that are files: each question is answered by a program in a cage of its own, which sees that file alone.

Nothing of the file is opened here. What the program says is a stranger's: its Arrow bytes go unread into sealed memory,
bounded; the rest is decoded into our own types, or refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, assert_never

import anyio.to_thread
import msgspec
from pydantic import ValidationError

from cellwright.data.catalogue import CATALOGUE_JSON, MAX_COMMENT, MAX_NAME, Catalogue, CatalogueTable, bounded
from cellwright.data.connections import QueryLimits
from cellwright.data.messages import ResultForm
from cellwright.errors import CellwrightError, Defect, Unavailable, UserError
from cellwright.framing import BadFrame, FrameUnpacker
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.one_shot import stream_one_shot_in_nothing
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.sandbox.spec import MEGABYTE, DataMount, Limits, Tier
from cellwright_guest import wire
from cellwright_guest.file_queries.records import (
    AGAIN,
    ARROW,
    END,
    MAX_COLUMNS,
    MAX_END,
    MAX_NOTICES,
    MAX_PIECE,
    MAX_WORDS,
    FileAnswer,
    FileCatalogue,
    FileEngine,
    FileFailure,
    FileQuestion,
    FileRows,
)

FILE_QUERY_LIMITS: Final = Limits(memory_mb=4096, processes=64, open_files=256, disk_mb=64, inodes=1000, tmp_mb=64)
_PROGRAM: Final = Path(wire.__file__).with_name("file_queries") / "main.py"
_GRACE_SECONDS: Final = 20.0
"""Beyond its own deadline: the program has to load, and to send what it has."""
_CATALOGUE_SECONDS: Final = 60.0
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "HOME": "/home/cell", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}
_BESIDE: Final[dict[FileEngine, tuple[str, ...]]] = {"sqlite": ("-wal", "-shm", "-journal"), "duckdb": (".wal",)}
"""What an engine keeps beside its file, and must see to read it as it is now."""
_SEALS: Final = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_ANSWER: Final = msgspec.json.Decoder(FileAnswer)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """What a query of a file gave. Whoever gets it closes the descriptor."""

    rows: int
    bytes: int
    cut: Literal["", "rows", "bytes"]
    """Of which there were more than the limits let pass."""
    columns: tuple[tuple[str, str], ...]
    """Names, and types in Arrow's words."""
    sha256: str
    """Of the Arrow file."""
    notices: tuple[str, ...]
    descriptor: int
    """An Arrow file in sealed memory, open for reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQueries:
    """Reads SQLite and DuckDB files, at this tier and nowhere else."""

    pool: KernelPool
    tier: Tier
    limits: Limits = FILE_QUERY_LIMITS

    async def query(
        self,
        kind: str,
        path: Path,
        statement: str,
        parameters: Sequence[Any],
        limits: QueryLimits,
        form: ResultForm = "arrow",
    ) -> FileResult:
        """The rows of one statement. Cancelling ends the cage.

        `UserError` for a statement the engine does not take and for a file that is not what was meant; `Unavailable`
        if it takes too long, if somebody is changing the file, or if there is no cage to be had.
        """
        question = FileQuestion(
            source=_source(kind),
            path="",
            do="query",
            statement=statement,
            parameters=tuple(parameters),
            rows=limits.rows,
            bytes=limits.megabytes * MEGABYTE,
            seconds=limits.seconds,
            form=form,
        )
        with ArrowMemory(question.bytes) as memory:
            match await self._ask(path, question, memory):
                case FileRows() as found:
                    return memory.result(found)
                case FileCatalogue():
                    raise _nonsense()
                case FileFailure() as failure:
                    raise _error_of(failure, path)
                case other:
                    assert_never(other)

    async def catalogue(self, kind: str, path: Path) -> Catalogue:
        """What is in the file. Raises as `query`."""
        question = FileQuestion(source=_source(kind), path="", do="catalogue", seconds=_CATALOGUE_SECONDS)
        with ArrowMemory(0) as memory:
            match await self._ask(path, question, memory):
                case FileCatalogue(catalogue=raw):
                    return await anyio.to_thread.run_sync(_read_catalogue, raw)
                case FileRows():
                    raise _nonsense()
                case FileFailure() as failure:
                    raise _error_of(failure, path)
                case other:
                    assert_never(other)

    async def _ask(self, path: Path, question: FileQuestion, memory: ArrowMemory) -> FileAnswer:
        files = await anyio.to_thread.run_sync(_mounts, path, question.source)
        size_mb = await anyio.to_thread.run_sync(_size_mb, files) if self.tier in {"C", "D"} else 0
        await stream_one_shot_in_nothing(
            await self.pool.zygote(),
            "file-query",
            [sys.executable, "-I", "-S", "-B", str(_PROGRAM), *package_paths()],
            msgspec.json.encode(msgspec.structs.replace(question, path=files[0].target)),
            sink=memory,
            seconds=question.seconds * 1.1 + _GRACE_SECONDS,
            tier=self.tier,
            data=files,
            software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, *package_paths()])),
            # Where nothing can be mounted, root's own files are copied for the cage.
            limits=replace(self.limits, disk_mb=self.limits.disk_mb + size_mb),
            environment=_ENVIRONMENT,
        )
        return memory.answer()


class ArrowMemory:
    """Where an answer arrives: the Arrow file in a memory file, unread and bounded, and how it ended."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._frames = FrameUnpacker(MAX_END + 1)
        self._size = 0
        self._wasted = 0
        self._hash = hashlib.sha256()
        self._end: FileAnswer | None = None
        self._file = -1

    def __enter__(self) -> ArrowMemory:
        self._file = os.memfd_create("cellwright-result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def put(self, piece: bytes) -> None:
        """Take the next bytes of the answer. Raises `Unavailable` for what is none."""
        try:
            frames = self._frames.feed(piece)
        except BadFrame:
            raise _nonsense() from None
        for frame in frames:
            self._take(memoryview(frame))

    @property
    def is_whole(self) -> bool:
        """Whether it has said how it ended."""
        return self._end is not None and self._frames.is_empty

    def answer(self) -> FileAnswer:
        """How it ended."""
        if self._end is None:
            raise _nonsense()
        return self._end

    def result(self, found: FileRows) -> FileResult:
        """What came, with the memory sealed and open for reading only."""
        if found.rows < 0 or len(found.columns) > MAX_COLUMNS or (found.rows and not self._size):
            raise _nonsense()
        fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, _SEALS)
        return FileResult(
            rows=found.rows,
            bytes=self._size,
            cut=found.cut,
            columns=tuple((name[:MAX_NAME], type_[:MAX_NAME]) for name, type_ in found.columns),
            sha256=self._hash.hexdigest(),
            notices=tuple(words[:MAX_WORDS] for words in found.notices[:MAX_NOTICES]),
            descriptor=os.open(f"/proc/self/fd/{self._file}", os.O_RDONLY | os.O_CLOEXEC),
        )

    def _take(self, frame: memoryview) -> None:
        mark, payload = bytes(frame[:1]), frame[1:]
        if self._end is not None:
            raise _nonsense()
        if mark == ARROW and len(payload) <= MAX_PIECE and self._size + len(payload) <= self._most:
            self._write(payload)
        elif mark == AGAIN and self._wasted == 0:
            # Once: it then knows the types of all values.
            self._wasted = max(1, self._size)
            self._size, self._hash = 0, hashlib.sha256()
            os.ftruncate(self._file, 0)
        elif mark == END:
            try:
                self._end = _ANSWER.decode(payload)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise _nonsense() from None
        else:
            raise _nonsense()

    def _write(self, payload: memoryview) -> None:
        self._hash.update(payload)
        while payload:
            written = os.pwrite(self._file, payload, self._size)
            self._size += written
            payload = payload[written:]


def _source(kind: str) -> FileEngine:
    match kind:
        case "sqlite" | "duckdb":
            return kind
        case _:
            raise Defect(f"A {kind!r} connection is no file.")


def _mounts(path: Path, source: FileEngine) -> tuple[DataMount, ...]:
    """The file, under its own name, and what its engine keeps beside it. Raises `UserError`. Blocking."""
    try:
        real = path.resolve(strict=True)
        found = real.stat()
    except PermissionError:
        hint = "Whoever owns its folder can let you enter it."
        raise UserError(f"{str(path)!r} lies in a folder that may not be entered.", hint=hint) from None
    except (OSError, RuntimeError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise UserError(f"There is no file {str(path)!r}: {why}.", hint="Was it moved? Name it again.") from None
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{str(path)!r} is no file.", hint="Name the database's file itself.")
    if not os.access(real, os.R_OK):
        raise UserError(f"{str(path)!r} may not be read.", hint="Whoever owns it can let you read it.")
    # DuckDB takes what is behind a question mark for options.
    target = f"source/{real.name.replace('?', '_')}"
    beside = [(f"{real}{ending}", f"{target}{ending}") for ending in _BESIDE[source]]
    there = [DataMount(source=path, target=place) for path, place in beside if os.access(path, os.R_OK)]
    return DataMount(source=str(real), target=target), *there


def _size_mb(files: Sequence[DataMount]) -> int:
    """Blocking."""
    sizes = [Path(file.source).stat().st_size for file in files if os.access(file.source, os.R_OK)]
    return sum(sizes) // MEGABYTE


def _error_of(failure: FileFailure, path: Path) -> CellwrightError:
    """For whoever asked: a file is named by what it is called, its engine's words are bounded."""
    why, hint = failure.why[:MAX_WORDS], failure.hint[:MAX_WORDS]
    match failure.failure:
        case "statement":
            return UserError(why, hint=hint)
        case "host":
            return UserError(f"{path.name!r}: {why}", hint=hint or "Is it the right file?")
        case "gone":
            return Unavailable(f"{path.name!r}: {why}", hint=hint or "Try again.")
        case "time":
            return Unavailable(why, hint=hint or "Ask for less, or let the connection take longer.")
        case "other":
            return Unavailable(why, hint=hint or "Try again.")
        case other:
            assert_never(other)


def _read_catalogue(raw: object) -> Catalogue:
    try:
        read = CATALOGUE_JSON.validate_python(raw)
    except (ValidationError, RecursionError):
        raise _nonsense() from None
    kept, is_cut = bounded(table for table in read.tables if _is_bounded(table))
    return replace(
        read,
        tables=kept,
        default_schema=read.default_schema[:MAX_NAME],
        server=read.server[:MAX_NAME],
        is_cut=read.is_cut or is_cut or len(kept) < len(read.tables),
        read_at="",
    )


def _is_bounded(table: CatalogueTable) -> bool:
    """Whether its words are no longer than we keep."""
    names = [table.schema, table.name, *(word for column in table.columns for word in (column.name, column.type))]
    names += [word for key in table.foreign_keys for word in (*key.columns, key.table, *key.target)]
    comments = [table.comment, *(column.comment for column in table.columns)]
    return (
        all(len(word) <= MAX_NAME * 2 + 1 for word in (*names, *table.reads))
        and all(len(words) <= MAX_COMMENT for words in comments)
        and not any(column.samples for column in table.columns)
    )


def _nonsense() -> Unavailable:
    return Unavailable("What reads the file answered with something else than was asked.", hint="Try again.")
