"""A fresh kernel sees the project's files as its parent left them, and its own changes are told apart from those.

The parent's changes are read out of its cage piece by piece and handed into the other cage, where the guest writes
them. Neither side's files touch the host. What was seeded is remembered by digest: a kernel that only has what it was
given has changed nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Protocol

from cellwright.sandbox.host.file_changes import ChangeRefused, FileChange
from cellwright_guest.transfer_wire import SeedPiece

_PORTION_BYTES: Final = 4 << 20
"""Within one frame of the wire, with room for names."""
_PORTION_PIECES: Final = 1_000


class ChangedFiles(Protocol):
    """A cage that can tell what changed in it, as `CageControl` does."""

    async def changes(self) -> tuple[FileChange, ...]:
        """Every difference from the project on the host."""
        ...

    def read(self, path: str) -> AsyncGenerator[bytes]:
        """The bytes of one of those files."""
        ...


SeedIn = Callable[[Sequence[SeedPiece]], Awaitable[Mapping[str, str]]]
"""Has a kernel write some pieces; gives path → reason for those it could not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What one path was made."""

    change: FileChange
    """As it stood in the parent, told against the project on the host."""
    was_there: bool
    """Whether the host has something under this path."""
    digest: bytes = b""
    """Of a file's content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The files a kernel began with, as far as they differ from the project on the host."""

    seeds: Mapping[str, Seed]
    refused: tuple[tuple[str, str], ...] = ()
    """Paths that could not be seeded, with the reason: the kernel sees the host's."""

    async def own_changes(self, control: ChangedFiles) -> tuple[FileChange, ...]:
        """What the kernel itself made, changed or removed since; told against what it began with.

        `bytes` is 0 for a file that is again as it is on the host: its cage has no copy of it to measure.
        """
        now = _settled(await control.changes())
        own: list[FileChange] = []
        for path, (change, _) in now.items():
            seed = self.seeds.get(path)
            if seed is None:
                own.append(change)
            elif (found := await _against(seed, change, control)) is not None:
                own.append(found)
        own += [_as_on_the_host(seed) for path, seed in self.seeds.items() if path not in now]
        return tuple(own)


async def seed(parent: ChangedFiles, seed_in: SeedIn) -> Baseline:
    """Give a fresh kernel everything its parent changed in the project; nobody may write there meanwhile."""
    sending = _SeedSender(seed_in)
    seeds: dict[str, Seed] = {}
    changes = await parent.changes()
    settled = _settled(changes)
    for change in changes:
        digest = b""
        try:
            if change.kind == "deleted":
                await sending.add(SeedPiece(path=change.path, kind="deleted"))
            elif change.what == "file":
                digest = await _send_file(parent, change, sending)
            else:
                await sending.add(SeedPiece(path=change.path, kind=change.what, mode=change.mode, target=change.target))
        except ChangeRefused as refusal:
            sending.refused[change.path] = str(refusal)
        final, was_there = settled[change.path]
        seeds[change.path] = Seed(change=final, was_there=was_there, digest=digest)
    await sending.finish()
    refused = sending.refused
    return Baseline(
        seeds={path: made for path, made in seeds.items() if path not in refused}, refused=tuple(refused.items())
    )


async def _send_file(parent: ChangedFiles, change: FileChange, sending: _SeedSender) -> bytes:
    digest = hashlib.sha256()
    offset = 0
    async with aclosing(parent.read(change.path)) as chunks:
        async for chunk in chunks:
            digest.update(chunk)
            await sending.add(SeedPiece(path=change.path, kind="file", mode=change.mode, content=chunk, offset=offset))
            offset += len(chunk)
    if not offset:
        await sending.add(SeedPiece(path=change.path, kind="file", mode=change.mode))
    return digest.digest()


class _SeedSender:
    """Pieces on their way, in portions that fit on the wire."""

    def __init__(self, seed_in: SeedIn) -> None:
        self._seed_in = seed_in
        self._portion: list[SeedPiece] = []
        self._bytes = 0
        self.refused: dict[str, str] = {}

    async def add(self, piece: SeedPiece) -> None:
        if self._bytes + len(piece.content) > _PORTION_BYTES or len(self._portion) >= _PORTION_PIECES:
            await self.finish()
        # The rest of a file that was refused would be another file.
        if piece.offset and piece.path in self.refused:
            return
        self._portion.append(piece)
        self._bytes += len(piece.content)

    async def finish(self) -> None:
        portion, self._portion, self._bytes = self._portion, [], 0
        if portion:
            sent = {piece.path for piece in portion}
            told = await self._seed_in(portion)
            self.refused |= {path: reason[:500] for path, reason in told.items() if path in sent}


def _settled(changes: Sequence[FileChange]) -> dict[str, tuple[FileChange, bool]]:
    """How each path ended up, and whether the host has something there: a file may be deleted, then made a folder."""
    found: dict[str, tuple[FileChange, bool]] = {}
    for change in changes:
        was_there = change.kind != "created" or (change.path in found and found[change.path][1])
        found[change.path] = (
            replace(change, kind="modified") if was_there and change.kind == "created" else change,
            was_there,
        )
    return found


async def _against(seed: Seed, change: FileChange, control: ChangedFiles) -> FileChange | None:
    """One change of a seeded path, told against the seed; None if it is as it was seeded."""
    began = seed.change
    if began.kind == "deleted":
        return None if change.kind == "deleted" else replace(change, kind="created")
    if change.kind == "deleted":
        return replace(change, what=began.what)
    is_alike = (change.what, change.mode, change.target, change.bytes) == (
        began.what,
        began.mode,
        began.target,
        began.bytes,
    )
    if is_alike and (change.what != "file" or await _digest(control, change.path) == seed.digest):
        return None
    return replace(change, kind="modified")


async def _digest(control: ChangedFiles, path: str) -> bytes:
    digest = hashlib.sha256()
    try:
        async with aclosing(control.read(path)) as chunks:
            async for chunk in chunks:
                digest.update(chunk)
    except ChangeRefused:
        # Exchanged while it was read: not what it was.
        return b""
    return digest.digest()


def _as_on_the_host(seed: Seed) -> FileChange:
    """A seeded path that is no longer among the differences: the kernel put it back to what the host has."""
    if not seed.was_there:
        return FileChange(path=seed.change.path, kind="deleted", bytes=0, what=seed.change.what)
    kind = "created" if seed.change.kind == "deleted" else "modified"
    return FileChange(path=seed.change.path, kind=kind, bytes=0, what=seed.change.what)
