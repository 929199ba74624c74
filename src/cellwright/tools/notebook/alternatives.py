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
from cellwright.notebook.document import Document
from cellwright.notebook.edits import Edit
from cellwright.tools.notebook.trials import BranchTrial, trial_of, try_edits

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
        return tried.record.status == "passed" or (self.is_accepted and tried.is_sound)


KeepCandidate = Callable[[int, Branch, BranchTrial], Awaitable[str]]
"""Makes in the notebook what was tried in the branch of this candidate; says why not, or nothing."""


def rank(tried: Sequence[BranchTrial]) -> list[int]:
    """The places of the candidates, best first: by checks that hold, then by failures, then by time."""

    def key(place: int) -> tuple[float, int, int, float]:
        each, cells = tried[place].record, tried[place].observation.cells
        share = each.checks_passed / len(each.checks) if each.checks else float(each.status == "passed")
        is_none = each.status in {"refused", "lost"}
        failures = sum(cell.status in {"failed", "interrupted", "cancelled", "lost"} for cell in cells)
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


async def try_candidates(
    notebook: OpenNotebook,
    candidates: Sequence[TrialCandidate],
    edits: Sequence[Sequence[Edit]],
    keep: KeepCandidate | None,
    *,
    key: str,
    seconds: float | None,
) -> tuple[BranchTrial, ...]:
    """Try all candidates of one call, best first. The first is kept if it passed and `keep` is given."""
    memory = max(_LEAST_MEMORY_MB, notebook.provisioner.options.limits.memory_mb // len(candidates))
    limits = BranchLimits(memory_mb=memory, live_seconds=_LIVE_SECONDS)
    running, is_decided = anyio.CapacityLimiter(_AT_ONCE), anyio.Event()
    states, order = [_CandidateBranch() for _ in candidates], list[int]()

    async def attempt(place: int, candidate: TrialCandidate, state: _CandidateBranch) -> None:
        try:
            async with notebook.branch(limits) as branch:
                async with running:
                    state.tried = await try_edits(branch, edits[place], seconds=seconds, checks=candidate.checks)
                state.is_tried.set()
                # Until all are known: the one that is kept must still be there then.
                await is_decided.wait()
                if order[0] == place and keep is not None and candidate.may_be_kept(state.tried):
                    for other in [*states[:place], *states[place + 1 :]]:
                        await other.is_over.wait()
                    state.why_not = await keep(place, branch, state.tried)
                    state.is_kept = not state.why_not
        except Unavailable as error:
            state.tried = state.tried or trial_of(Observation(problem=error.message), "lost")
        finally:
            state.is_over.set()
            state.is_tried.set()

    async with anyio.create_task_group() as tasks:
        for place, (candidate, state) in enumerate(zip(candidates, states, strict=True)):
            tasks.start_soon(attempt, place, candidate, state)
        for state in states:
            await state.is_tried.wait()
        order += rank([state.tried for state in states if state.tried is not None])
        is_decided.set()
    return tuple(_ranked(states[place], f"{key}.{place + 1}", candidates[place].name, group=key) for place in order)


def _ranked(state: _CandidateBranch, branch: str, name: str, *, group: str) -> BranchTrial:
    assert state.tried is not None
    seen = state.tried.observation
    note = state.why_not or (seen.refused.message if seen.refused is not None else "") or seen.problem
    known = {"branch": branch, "purpose": name, "group": group, "is_kept": state.is_kept, "note": note}
    return replace(state.tried, record=replace(state.tried.record, **known))


def number_of(branch: str) -> int:
    """Which candidate of its call the branch is of, as they were given, from 1."""
    return int(branch.rpartition(".")[2])
