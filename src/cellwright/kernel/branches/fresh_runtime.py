"""A branch without a fork: a fresh kernel that is given what its cells need, or runs what makes it.

Taken where a fork would not be safe. Values travel in a memory file that the host makes and never opens; they are
unpickled only inside the new cage.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from cellwright.ids import CellId
from cellwright.kernel.branches.notebook_session import NotebookSession, run_only
from cellwright.kernel.branches.runtime import Trial
from cellwright.kernel.branches.seeds import Baseline, seed
from cellwright.kernel.branches.transfer_plan import TransferPlan, plan_replay, plan_transfer
from cellwright.kernel.observation import BranchMethod, Observation
from cellwright.kernel.process.kernel import own_memory_kb
from cellwright.kernel.process.run_request import changed_code
from cellwright.notebook.document import Document
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright.notebook.marimo_graph import graph
from cellwright.sandbox.host.file_changes import FileChange
from cellwright_guest import transfer_wire

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
