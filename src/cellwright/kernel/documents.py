"""Reading documents: each file by a program in a cage of its own, which sees that file alone.

Nothing of a file is opened here but to copy and hash it. What the program says is a stranger's: bounded, and decoded
into our own types. A file that takes its reader down is one that could not be read.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, assert_never

import anyio
import anyio.to_thread
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from cellwright.documents.document import MAX_FILE_BYTES, Document, DocumentKind, Page, UnreadDocument, UnreadReason
from cellwright.documents.document_files import KINDS, DocumentFile
from cellwright.documents.document_store import DocumentStore
from cellwright.errors import Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.one_shot import run_one_shot_in_nothing
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import MEGABYTE, DataMount, Limits, Tier
from cellwright_guest import wire
from cellwright_guest.reading.records import (
    MAX_CHARACTERS,
    MAX_NOTICES,
    MAX_PAGES,
    MAX_TITLE,
    MAX_WORDS,
    ReadAnswer,
    ReadDocument,
    ReadFailure,
    ReadRequest,
)

READING_LIMITS: Final = Limits(memory_mb=1024, processes=16, open_files=64, disk_mb=16, inodes=200, tmp_mb=16)
READING_SECONDS: Final = 60.0
"""For one document; a thousand pages take four."""
_PROGRAM: Final = Path(wire.__file__).with_name("reading") / "main.py"
_MAX_ANSWER: Final = MAX_CHARACTERS * 6 + (4 << 20)
"""A character is six bytes of JSON at most."""
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "HOME": "/home/cell", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}
_ANSWER: Final = msgspec.json.Decoder(ReadAnswer)
_CHUNK_BYTES: Final = 1 << 20
_AT_ONCE: Final = 2

ReadOutcome = Document | UnreadDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReader:
    """Reads documents, at this tier and nowhere else."""

    pool: KernelPool
    tier: Tier
    store: DocumentStore
    limits: Limits = READING_LIMITS
    seconds: float = READING_SECONDS

    async def read(self, file: DocumentFile) -> ReadOutcome:
        """What the file says, from the store if these bytes were read before. `Unavailable` if no cage is to be had."""
        kind = file.kind
        if kind is None:
            known = ", ".join(KINDS)
            return _unread(file.name, "", "unknown-kind", f"files of its kind are not read, only {known}")
        with private_directory("document") as folder:
            copy = folder / f"document{file.path.suffix.lower()}"
            sha256 = await anyio.to_thread.run_sync(_copied, file, copy)
            if isinstance(sha256, UnreadDocument):
                return sha256
            return await self._read_copy(file.name, kind, copy, sha256)

    async def read_bytes(self, name: str, kind: DocumentKind, content: bytes) -> ReadOutcome:
        """The same for a document that is no file: a page that was fetched."""
        if len(content) > MAX_FILE_BYTES:
            return _unread(name, "", "too-large", f"it is larger than {MAX_FILE_BYTES // MEGABYTE} MB")
        with private_directory("document") as folder:
            copy = folder / f"document.{kind}"
            await anyio.to_thread.run_sync(copy.write_bytes, content)
            return await self._read_copy(name, kind, copy, hashlib.sha256(content).hexdigest())

    @asynccontextmanager
    async def read_all(
        self, files: Sequence[DocumentFile]
    ) -> AsyncGenerator[MemoryObjectReceiveStream[tuple[int, ReadOutcome]]]:
        """Outcomes as they come, each with its place in `files`; two are read at once, and no more are held."""
        send, receive = anyio.create_memory_object_stream[tuple[int, ReadOutcome]](0)
        left = iter(enumerate(files))

        async def work(outcomes: MemoryObjectSendStream[tuple[int, ReadOutcome]]) -> None:
            async with outcomes:
                for position, file in left:
                    await outcomes.send((position, await self.read(file)))

        async with anyio.create_task_group() as tasks, receive:
            async with send:
                for _ in range(_AT_ONCE):
                    tasks.start_soon(work, send.clone())
            yield receive
            tasks.cancel_scope.cancel()

    async def _read_copy(self, name: str, kind: DocumentKind, copy: Path, sha256: str) -> ReadOutcome:
        kept = await anyio.to_thread.run_sync(self.store.find, sha256, kind, name)
        if kept is not None:
            return kept
        read = await self._in_cage(name, kind, copy, sha256)
        return await anyio.to_thread.run_sync(self.store.keep, kind, read)

    async def _in_cage(self, name: str, kind: DocumentKind, copy: Path, sha256: str) -> ReadOutcome:
        target = f"source/{copy.name}"
        zygote = await self.pool.zygote()
        # Where nothing can be mounted, the file is copied for the cage.
        size_mb = (await anyio.Path(copy).stat()).st_size // MEGABYTE + 1 if self.tier in {"C", "D"} else 0
        try:
            raw = await run_one_shot_in_nothing(
                zygote,
                "reading",
                [sys.executable, "-I", "-S", "-B", str(_PROGRAM), *package_paths()],
                msgspec.json.encode(ReadRequest(path=target, kind=kind)),
                most_bytes=_MAX_ANSWER,
                seconds=self.seconds,
                tier=self.tier,
                data=(DataMount(source=str(copy), target=target),),
                software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, *package_paths()])),
                limits=replace(self.limits, disk_mb=self.limits.disk_mb + size_mb),
                environment=_ENVIRONMENT,
            )
        except Unavailable as lost:
            if not zygote.is_alive:
                raise
            reason: UnreadReason = "time" if "longer than" in lost.message else "crash"
            return _unread(name, sha256, reason, f"reading it failed: {lost.message[:1].lower()}{lost.message[1:]}")
        return await anyio.to_thread.run_sync(_outcome, raw, name, sha256)


def _outcome(raw: bytes, name: str, sha256: str) -> ReadOutcome:
    """What the program said, as our own types; what it may not say is a crash."""
    try:
        answer = _ANSWER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _unread(name, sha256, "crash", "what read it answered with something else than was asked")
    match answer:
        case ReadFailure():
            return _unread(name, sha256, answer.reason, answer.why)
        case ReadDocument():
            numbers = [page.number for page in answer.pages]
            is_ordered = all(left < right for left, right in zip([0, *numbers], numbers, strict=False))
            if not is_ordered or len(numbers) > MAX_PAGES or sum(len(p.text) for p in answer.pages) > MAX_CHARACTERS:
                return _unread(name, sha256, "crash", "what read it answered with more than was asked")
            return Document(
                name=name,
                sha256=sha256,
                kind=answer.document_kind,
                title=answer.title[:MAX_TITLE],
                pages=tuple(Page(number=page.number, text=page.text) for page in answer.pages),
                notices=tuple(notice[:MAX_WORDS] for notice in answer.notices[:MAX_NOTICES]),
            )
        case other:
            assert_never(other)


def _copied(file: DocumentFile, copy: Path) -> str | UnreadDocument:
    """The hash of the bytes that are now in `copy`: what is read is what was hashed. Blocking."""
    digest, size = hashlib.sha256(), 0
    try:
        # A pipe would be waited for.
        descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as source, copy.open("wb") as target:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return _unread(file.name, "", "unknown-kind", "it is no file")
            while piece := source.read(_CHUNK_BYTES):
                size += len(piece)
                if size > MAX_FILE_BYTES:
                    return _unread(file.name, "", "too-large", f"it is larger than {MAX_FILE_BYTES // MEGABYTE} MB")
                digest.update(piece)
                target.write(piece)
    except OSError as problem:
        return _unread(file.name, "", "gone", f"it cannot be opened: {problem.strerror}")
    return digest.hexdigest()


def _unread(name: str, sha256: str, reason: UnreadReason, why: str) -> UnreadDocument:
    return UnreadDocument(name=name, sha256=sha256, reason=reason, why=why[:MAX_WORDS])
