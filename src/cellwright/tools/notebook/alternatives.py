"""Candidates tried side by side, each in a branch of its own, and ranked: the first may be kept, no other is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.branches.branch_kernel import BranchLimits
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook import Document, Edit
from cellwright.tools.notebook.trial_records import TrialRecord
from cellwright.tools.notebook.trials import BranchTrial, try_edits

_AT_ONCE: Final = 3
"""So many run at the same time."""
_LEAST_MEMORY_MB: Final = 256
_LIVE_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCandidate:
    """One way to do it, and what must hold then."""

    name: str
    edits: Callable[[Document], Sequence[Edit]]
    """From the document as it is when the call has its slot."""
    checks: tuple[str, ...] = ()
    """Expressions that must be true, or names of tests in the notebook."""
    is_accepted: bool = False
    """A person wants it: it is kept if it runs, whatever its checks say."""

    def may_be_kept(self, tried: BranchTrial) -> bool:
        """Whether it may be made in the notebook, after what came of it in its branch."""
        return tried.status == "passed" or (self.is_accepted and tried.is_sound)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCandidate:
    """A candidate in its place."""

    tried: BranchTrial
    record: TrialRecord


KeepCandidate = Callable[[Branch, BranchTrial], Awaitable[str]]
"""Makes in the notebook what was tried in the branch; says why not, or nothing."""


def rank(tried: Sequence[BranchTrial]) -> list[int]:
    """The places of the candidates, best first: by checks that hold, then by failures, then by time."""

    def key(place: int) -> tuple[float, int, int, float]:
        each = tried[place]
        held = sum(check.has_passed for check in each.checks)
        share = held / len(each.checks) if each.checks else float(each.status == "passed")
        is_none = each.status in {"refused", "lost"}
        failures = sum(cell.status in {"failed", "interrupted", "cancelled", "lost"} for cell in each.observation.cells)
        return -share, is_none, failures, each.ms

    return sorted(range(len(tried)), key=key)


@dataclass(slots=True)
class _CandidateBranch:
    """One candidate on its way."""

    tried: BranchTrial | None = None
    is_tried: anyio.Event = field(default_factory=anyio.Event)
    is_over: anyio.Event = field(default_factory=anyio.Event)
    why_not: str = ""
    is_kept: bool = False


class CandidateTrials:
    """All candidates of one call."""

    def __init__(
        self,
        notebook: OpenNotebook,
        candidates: Sequence[TrialCandidate],
        edits: Sequence[Sequence[Edit]],
        *,
        key: str,
        seconds: float | None,
    ) -> None:
        self._notebook = notebook
        self._candidates = candidates
        self._edits = edits
        self._key = key
        self._seconds = seconds
        memory = max(_LEAST_MEMORY_MB, notebook.provisioner.options.limits.memory_mb // len(candidates))
        self._limits = BranchLimits(memory_mb=memory, live_seconds=_LIVE_SECONDS)
        self._running = anyio.CapacityLimiter(_AT_ONCE)
        self._states = [_CandidateBranch() for _ in candidates]
        self._is_decided = anyio.Event()
        self.first = -1
        """Which candidate ranks first, once that is known."""

    async def run(self, keep: KeepCandidate | None) -> tuple[RankedCandidate, ...]:
        """Try all of them, best first. The first is kept if it passed and `keep` is given."""
        order: list[int] = []
        async with anyio.create_task_group() as tasks:
            for place in range(len(self._candidates)):
                tasks.start_soon(self._try, place, keep)
            for state in self._states:
                await state.is_tried.wait()
            order += rank([state.tried for state in self._states if state.tried is not None])
            self.first = order[0]
            self._is_decided.set()
        return tuple(self._ranked(place) for place in order)

    async def _try(self, place: int, keep: KeepCandidate | None) -> None:
        state = self._states[place]
        try:
            async with self._notebook.branch(self._limits) as branch:
                state.tried = await self._tried(branch, place)
                state.is_tried.set()
                # Until all are known: the one that is kept must still be there then.
                await self._is_decided.wait()
                if self.first == place and keep is not None and self._candidates[place].may_be_kept(state.tried):
                    await self._others_are_gone(place)
                    state.why_not = await keep(branch, state.tried)
                    state.is_kept = not state.why_not
        except Unavailable as error:
            state.tried = state.tried or BranchTrial(observation=Observation(problem=error.message), status="lost")
        finally:
            state.is_over.set()
            state.is_tried.set()

    async def _tried(self, branch: Branch, place: int) -> BranchTrial:
        async with self._running:
            return await try_edits(
                branch, self._edits[place], seconds=self._seconds, checks=self._candidates[place].checks
            )

    async def _others_are_gone(self, place: int) -> None:
        for other, state in enumerate(self._states):
            if other != place:
                await state.is_over.wait()

    def _ranked(self, place: int) -> RankedCandidate:
        state, candidate = self._states[place], self._candidates[place]
        assert state.tried is not None
        record = state.tried.record(f"{self._key}.{place + 1}", candidate.name, group=self._key)
        seen = state.tried.observation
        refused = seen.refused.message if seen.refused is not None else ""
        record = replace(record, is_kept=state.is_kept, note=state.why_not or refused or seen.problem)
        return RankedCandidate(tried=state.tried, record=record)


def number_of(branch: str) -> int:
    """Which candidate of its call the branch is of, as they were given, from 1."""
    return int(branch.rpartition(".")[2])
