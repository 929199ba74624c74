"""A branch without a fork: a fresh kernel that is given what its cells need, or runs what makes it.

Taken where a fork would not be safe. Values travel in a memory file that the host makes and never opens; they are
unpickled only inside the new cage.

The fresh kernel sees the project's files as its parent left them, and its own changes are told apart from those. The
parent's changes are read out of its cage piece by piece and handed into the other cage, where the guest writes them.
Neither side's files touch the host. What was seeded is remembered by digest: a kernel that only has what it was given
has changed nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, cast

from cellwright.ids import CellId
from cellwright.kernel.branches.notebook_session import NotebookSession, run_only
from cellwright.kernel.branches.runtime import Trial
from cellwright.kernel.branches.transfer_plan import TransferPlan, plan_replay, plan_transfer
from cellwright.kernel.observation import BranchMethod, Observation
from cellwright.kernel.process.kernel import own_memory_kb
from cellwright.kernel.process.run_request import changed_code
from cellwright.notebook.document import Document
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright.notebook.marimo_graph import graph
from cellwright.sandbox.host.file_changes import ChangeRefused, FileChange
from cellwright_guest import transfer_wire
from cellwright_guest.transfer_wire import SeedPiece

_PORTION_BYTES: Final = 4 << 20
"""Within one frame of the wire, with room for names."""
_PORTION_PIECES: Final = 1_000


class ChangedFiles(Protocol):
    """Something that knows what changed in its cage: a `Kernel`, or its `CageControl`."""

    async def changes(self) -> tuple[FileChange, ...]:
        """Every difference from the project on the host."""

    def read(self, path: str) -> AsyncGenerator[bytes]:
        """The bytes of one of those files."""


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
    is_alike = replace(change, kind=began.kind) == began
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
    kind = "deleted" if not seed.was_there else "created" if seed.change.kind == "deleted" else "modified"
    return FileChange(path=seed.change.path, kind=kind, bytes=0, what=seed.change.what)


logger = logging.getLogger(__name__)

_CARRY_SECONDS = 120.0
_SEED_SECONDS = 60.0
_ATTEMPTS = 3
_MEGABYTE = 1024 * 1024
_LEAST_BYTES = 16 * _MEGABYTE


class FreshRuntime:
    """A kernel of its own, in a cage of its own, that gets from the parent only what its cells refer to."""

    def __init__(self, parent: NotebookSession, notebook: NotebookSession, reasons: tuple[str, ...]) -> None:
        self._parent = parent
        self.notebook = notebook
        self.method = BranchMethod(kind="replayed", reasons=reasons)
        self._base: Document = parent.state.document
        self._baseline: Baseline | None = None
        self._present: set[CellId] = set()
        """Cells whose names the fresh kernel has."""

    async def run(self, trial: Trial) -> Observation:
        """Give the kernel what the cells need, and do it there."""
        began = time.perf_counter()
        edited = apply_edits(self.notebook.state.document, trial.edits)
        if isinstance(edited, EditRefused):
            return Observation(refused=edited)
        if self._baseline is None:
            self._baseline = await self._start()
        await self._provide(edited, _candidates(trial, self.notebook.state.document, edited))
        self.method = replace(self.method, ms=self.method.ms + round((time.perf_counter() - began) * 1e3, 3))
        observation = await trial.apply_to(self.notebook)
        self._present |= {outcome.id for outcome in observation.cells if outcome.status == "ok"}
        return observation

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files it changed, besides what its parent had changed before."""
        kernel = self.notebook.live.kernel
        if self._baseline is None or kernel is None:
            return ()
        return await self._baseline.own_changes(kernel)

    async def close(self) -> None:
        """End the kernel, its cage and its files."""
        await self.notebook.close()

    async def _start(self) -> Baseline:
        """The kernel with all cells known and none run, and the files as the parent left them."""
        await self.notebook.apply(run="none")
        parent = self._parent.live.kernel
        if parent is None or parent.is_over:
            return Baseline(seeds={})
        async with self._parent.live.slot:
            return await seed(parent, self._seed_in)

    async def _seed_in(self, pieces: Sequence[transfer_wire.SeedPiece]) -> Mapping[str, str]:
        asked = await self.notebook.side_calls.ask(
            lambda number: transfer_wire.SeedFiles(request=number, pieces=list(pieces)), _SEED_SECONDS
        )
        if isinstance(asked.answer, transfer_wire.FilesSeeded):
            return asked.answer.refused
        return {piece.path: "the new kernel did not take it" for piece in pieces}

    async def _provide(self, edited: Document, candidates: set[CellId]) -> None:
        """Carry what can be carried; what cannot is made again by the cells that make it."""
        cannot: dict[str, str] = {}
        if self._parent.state.document is self._base:
            kinds = {variable.name: variable.kind for variable in await self._parent.side_calls.look((), tokens=20)}
            for _ in range(_ATTEMPTS):
                wanted = plan_transfer(edited, self._parent.state.outcomes, candidates, kinds, cannot=cannot)
                left = await self._follow(wanted, edited)
                if not left:
                    return
                cannot |= left
        await self._follow(plan_replay(edited, self.notebook.state.outcomes, candidates), edited)

    async def _follow(self, wanted: TransferPlan, edited: Document) -> dict[str, str]:
        """Do what a plan says; returns what it needed and could not be carried, with the reasons."""
        makers = {name: cell for cell, node in graph(edited).nodes.items() for name in node.defs}
        carry = [name for name in wanted.carry if makers.get(name) not in self._present]
        most_bytes = await self._room_for_values()
        with _memory_file(most_bytes) as file:
            if carry:
                exported = await self._export(carry, file, most_bytes)
                if missing := {name: why for name, why in exported.left.items() if name in wanted.needed}:
                    return missing
                carry = [name for name in exported.carried if name in carry]
            await self._mark(wanted.fresh)
            if replay := [cell for cell in wanted.replay if cell not in self._present]:
                await run_only(self.notebook, replay)
            if carry:
                missing = await self._import(file)
                if needed := {name: why for name, why in missing.items() if name in wanted.needed or name == "*"}:
                    return needed if "*" not in needed else dict.fromkeys(wanted.needed, needed["*"])
            # What ran made what depends on it stale, and those have their values.
            await self._mark(wanted.fresh)
        self._present |= {*wanted.fresh, *wanted.replay}
        self._note(wanted, carry)
        return {}

    async def _export(self, names: list[str], file: int, most_bytes: int) -> transfer_wire.Exported:
        asked = await self._parent.side_calls.ask(
            lambda number: transfer_wire.ExportValues(request=number, names=names, most_bytes=most_bytes),
            _CARRY_SECONDS,
            (file,),
        )
        answer = asked.answer
        if not isinstance(answer, transfer_wire.Exported) or answer.error:
            why = answer.error if isinstance(answer, transfer_wire.Exported) else "the kernel did not answer"
            return transfer_wire.Exported(request=0, left=dict.fromkeys(names, why[:200]))
        return answer

    async def _import(self, file: int) -> dict[str, str]:
        asked = await self.notebook.side_calls.ask(
            lambda number: transfer_wire.ImportValues(request=number), _CARRY_SECONDS, (file,)
        )
        answer = asked.answer
        if not isinstance(answer, transfer_wire.Imported) or answer.error:
            return {"*": answer.error[:200] if isinstance(answer, transfer_wire.Imported) else "it did not answer"}
        return {name[:200]: why[:200] for name, why in answer.left.items()}

    async def _mark(self, cells: Sequence[CellId]) -> None:
        if cells:
            names = [str(cell) for cell in cells]
            await self.notebook.side_calls.ask(
                lambda number: transfer_wire.MarkFresh(request=number, cells=names), _SEED_SECONDS
            )

    async def _room_for_values(self) -> int:
        """A part of what the parent has left: the file counts as its memory, and must not be the end of it."""
        limit = self._parent.live.provisioner.options.limits.memory_mb * _MEGABYTE
        kernel = self._parent.live.kernel
        used_kb = await own_memory_kb(kernel) if kernel is not None else 0
        return max(_LEAST_BYTES, min(limit // 4, (limit - used_kb * 1024) // 2))

    def _note(self, wanted: TransferPlan, carried: list[str]) -> None:
        names = self.notebook.state.name_of
        steps = [*self.method.steps]
        if carried:
            steps.append(f"carried {', '.join(carried[:20])}{' …' if len(carried) > 20 else ''}")
        if wanted.replay:
            ran = [names(cell) for cell in wanted.replay]
            steps.append(f"ran {', '.join(ran[:20])}{' …' if len(ran) > 20 else ''}")
        is_carried = bool(carried) or self.method.kind == "carried"
        self.method = replace(self.method, kind="carried" if is_carried else "replayed", steps=tuple(steps))


def _candidates(trial: Trial, before: Document, edited: Document) -> set[CellId]:
    if isinstance(trial.run, str):
        return changed_code(before, edited) if trial.run != "all" else {cell.id for cell in edited.cells}
    return {CellId(cell) for cell in cast("Sequence[Any]", trial.run)} | changed_code(before, edited)


@contextmanager
def _memory_file(most_bytes: int) -> Generator[int]:
    """A file in memory that cannot grow beyond its size, for one kernel to fill and another to read."""
    file = os.memfd_create("cellwright-carry", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(file, most_bytes)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
        yield file
    finally:
        os.close(file)
