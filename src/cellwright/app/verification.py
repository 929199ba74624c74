"""Verifying, put together: fresh environments on this machine, its key, and where proofs are stored."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from cellwright.app.notebooks import Files, contained, kernel_options, project_for
from cellwright.kernel import KernelPool, PythonChoice
from cellwright.notebook import read
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import sentence_of
from cellwright.runs.deliver.delivery import CheckExtent, CheckOutcome, DeliveredCheck
from cellwright.runs.verify.fresh_environment import fresh_environments
from cellwright.runs.verify.judge import Machine
from cellwright.runs.verify.proof import ProofStore, Signer
from cellwright.runs.verify.reasons import SOURCE_NOTES
from cellwright.runs.verify.verification import NotVerified, verify
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings


async def check_notebook(
    path: Path,
    *,
    files: Files,
    pool: KernelPool,
    other: KernelPool,
    settings: Settings,
    limits: Limits | None = None,
    python: PythonChoice = "header",
) -> CheckOutcome:
    """Whether a notebook stands up, in words an agent can mend it by; a proof of one that does is kept.

    The second run is on a kernel of the `other` pool: what depends on a hash seed is not the same there by accident.
    """
    file, report = await anyio.to_thread.run_sync(lambda: (read(path), probe()))
    options = kernel_options(
        file,
        files=replace(files, mode="drop"),
        limits=limits or Limits(),
        tier=contained(None, report, allow_uncontained=False),
        settings=settings,
        python=python,
    )
    outcome = await verify(
        path,
        open_fresh=fresh_environments(pool, options, other=other),
        signer=await anyio.to_thread.run_sync(Signer.at, settings.ready_home()),
        machine=Machine(
            home=settings.user_home,
            state=settings.home,
            temporary=Path(tempfile.gettempdir()),
            project=project_for(path, files),
            cache=settings.cache,
        ),
        masker=Masker.of(salt=secrets.token_bytes(16)),
    )
    checks = tuple(
        DeliveredCheck(name=check.name, says=check.name, has_passed=check.outcome == "passed", detail=check.message)
        for check in outcome.report.checks
    )
    note = SOURCE_NOTES.get(outcome.report.source, "")
    if isinstance(outcome, NotVerified):
        problems = tuple(f"{reason.text} {sentence_of(reason.hint)}" for reason in outcome.reasons)
        ran: CheckExtent = "whole" if outcome.report.cells else "not at all"
        if any(reason.is_unavailable for reason in outcome.reasons):
            ran = "unavailable"
        return CheckOutcome(problems=problems, checks=checks, ran=ran, note=note)
    store, signed = ProofStore(home=settings.home), outcome.signed
    proof = await anyio.to_thread.run_sync(lambda: store.put(signed, path.resolve(), options.data))
    return CheckOutcome(problems=(), checks=checks, proof=str(proof), note=note)
