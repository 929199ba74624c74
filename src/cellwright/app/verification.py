"""Verifying, put together: fresh places on this machine, its key, and the shelf where proofs are kept."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from cellwright.app.notebooks import Files, contained, project_for, terrain_for
from cellwright.kernel import KernelPool, PythonChoice
from cellwright.notebook import read
from cellwright.policy import Masker
from cellwright.remedies import sentence_of
from cellwright.runs.deliver.delivery import CheckExtent, CheckOutcome, DeliveredCheck
from cellwright.runs.verify import (
    SOURCE_NOTES,
    Machine,
    NoEnvironment,
    NotVerified,
    ProofStore,
    Signer,
    Verified,
    fresh_environments,
    hint_of,
    text_of,
    verify,
)
from cellwright.sandbox import DataMount, Limits, Tier, probe
from cellwright.settings import Settings


async def check_notebook(
    path: Path,
    *,
    files: Files,
    pool: KernelPool,
    other: KernelPool,
    settings: Settings,
    limits: Limits | None = None,
    tier: Tier | None = None,
    python: PythonChoice = "header",
    on_progress: Callable[[str], None] | None = None,
) -> CheckOutcome:
    """Whether a notebook stands up, in words an agent can mend it by; a proof of one that does is kept.

    The second run is on a kernel of the `other` pool: what depends on a hash seed is not the same there by accident.
    """
    file, report = await anyio.to_thread.run_sync(lambda: (read(path), probe()))
    terrain = terrain_for(
        file,
        files=replace(files, mode="drop"),
        limits=limits or Limits(),
        tier=contained(tier, report, allow_uncontained=False),
        settings=settings,
        python=python,
        on_progress=on_progress,
    )
    outcome = await verify(
        path,
        open_fresh=fresh_environments(pool, terrain, other=other),
        signer=await anyio.to_thread.run_sync(Signer.at, settings.ready_home()),
        machine=_machine(settings, project_for(path, files)),
        masker=Masker.of(salt=secrets.token_bytes(16)),
        on_progress=on_progress,
    )
    checks = tuple(
        DeliveredCheck(name=check.name, says=check.name, has_passed=check.outcome == "passed", detail=check.message)
        for check in outcome.report.checks
    )
    note = SOURCE_NOTES.get(outcome.report.source, "")
    if isinstance(outcome, NotVerified):
        problems = tuple(f"{text_of(reason)} {sentence_of(hint_of(reason))}" for reason in outcome.reasons)
        return CheckOutcome(problems=problems, checks=checks, ran=_ran(outcome), note=note)
    place = await anyio.to_thread.run_sync(_store_proof, settings, outcome, path, terrain.data)
    return CheckOutcome(problems=(), checks=checks, proof=str(place), note=note)


def _ran(outcome: NotVerified) -> CheckExtent:
    if any(isinstance(reason, NoEnvironment) and reason.is_unavailable for reason in outcome.reasons):
        return "unavailable"
    return "whole" if outcome.report.cells else "not at all"


def _store_proof(settings: Settings, verified: Verified, path: Path, data: Sequence[DataMount]) -> Path:
    return ProofStore(home=settings.home).put(verified.signed, path.resolve(), data)


def _machine(settings: Settings, project: Path) -> Machine:
    return Machine(
        home=settings.user_home,
        state=settings.home,
        temporary=Path(tempfile.gettempdir()),
        project=project,
        cache=settings.cache,
    )
