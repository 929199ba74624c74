"""Verifying, put together: fresh environments on this machine, its key, and where proofs are stored."""

from __future__ import annotations

import dataclasses
import json
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio.to_thread

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.notebook_exchanges import NotebookExchanges, open_notebook_exchanges
from cellwright.app.notebooks import Files, contained, kernel_options, with_exchanges
from cellwright.data.broker_client import BrokerClient
from cellwright.kernel.environments.interpreters import PythonChoice
from cellwright.kernel.pool import KernelPool
from cellwright.notebook.files import read
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import sentence_of
from cellwright.runs.deliver.delivery import CheckExtent, CheckOutcome, DeliveredCheck
from cellwright.runs.verify.fresh_environment import FreshEnvironments
from cellwright.runs.verify.judge import SOURCE_NOTES, Machine
from cellwright.runs.verify.proof import ProofStore, ProvenExchange, ProvenQuery, Signer, fingerprint, to_json
from cellwright.runs.verify.verification import NotVerified, Verified, verify
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits, Tier
from cellwright.settings import Settings


async def verify_notebook(
    path: Path,
    *,
    files: Files,
    settings: Settings,
    pool: KernelPool,
    other: KernelPool | None = None,
    limits: Limits | None = None,
    tier: Tier | None = None,
    allow_uncontained: bool = False,
    python: PythonChoice = "header",
    seconds: float = 600,
    is_strict: bool = False,
    opinion: str = "",
    connections: ConnectionLeave | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> tuple[Verified | NotVerified, Path | None]:
    """Verify a notebook on this machine, whatever becomes of files it changes; a proof is kept, at the path given back.

    The second run is on a kernel of the `other` pool, or of one of its own: what depends on a hash seed is not the same
    there by accident. Databases, object stores and APIs are asked anew: those that `connections` lets it read, or all
    of the person's.
    """
    file, report = await anyio.to_thread.run_sync(lambda: (read(path), probe()))
    options = kernel_options(
        file,
        files=replace(files, mode="drop"),
        limits=limits or Limits(),
        tier=contained(tier, report, allow_uncontained=allow_uncontained),
        settings=settings,
        python=python,
        on_progress=on_progress,
    )
    leave = connections or ConnectionLeave(is_everything=True)
    asking = open_notebook_connections(
        BrokerClient(launch=settings.broker_launch()),
        notebook=file.path,
        project=options.project,
        named=leave.named,
        may_query=lambda _: leave.is_everything,
        kept=leave.kept,
        is_cached=False,
    )
    async with asking as asked:
        exchanges = await open_notebook_exchanges(asked, project=options.project, is_proof=True)
        options = await with_exchanges(replace(options, host_services=asked.services), exchanges)
        outcome = await verify(
            path,
            fresh=FreshEnvironments(pool=pool, options=options, other=other),
            queries=lambda: proven_queries(asked),
            exchanges=lambda: proven_exchanges(exchanges),
            more_exchanges=lambda: exchanges.unnamed if exchanges else 0,
            signer=await anyio.to_thread.run_sync(Signer.at, settings.ready_home()),
            machine=Machine(
                home=settings.user_home,
                state=settings.home,
                temporary=Path(tempfile.gettempdir()),
                project=options.project,
                cache=settings.cache,
            ),
            masker=Masker.of(salt=secrets.token_bytes(16)),
            seconds=seconds,
            is_strict=is_strict,
            opinion=opinion,
            on_progress=on_progress,
        )
    if isinstance(outcome, NotVerified):
        return outcome, None
    store, signed = ProofStore(home=settings.home), outcome.signed
    return outcome, await anyio.to_thread.run_sync(lambda: store.put(signed, path.resolve(), options.data))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLeave:
    """Which connections a notebook that is verified may read."""

    named: tuple[str, ...] = ()
    kept: Path | None = None
    """Where what people granted a run is kept."""
    is_everything: bool = False
    """A person verifies it themselves."""


def proven_queries(asked: NotebookConnections) -> tuple[ProvenQuery, ...]:
    """What was asked of databases, and read of files, each result once."""
    found = [*asked.queried]
    found += [
        ProvenQuery(
            connection=each.connection,
            statement=f"READ {each.path} (version {each.version}: {each.bytes:,} bytes in {each.ranges:,} ranges)",
            sha256=each.sha256,
            rows=0,
            at=each.at,
        )
        for each in asked.files.fetched
    ]
    return tuple({(each.connection, each.statement, each.sha256): each for each in reversed(found)}.values())[::-1]


def proven_exchanges(exchanges: NotebookExchanges | None) -> tuple[ProvenExchange, ...]:
    """What object stores and APIs answered, each answer once."""
    return tuple(exchanges.exchanged.values()) if exchanges else ()


def verification_result(result: Verified | NotVerified, stored: Path | None) -> dict[str, Any]:
    """What was found as `--json` shows it; only the hints of its reasons are still `Hint`s."""
    report = result.report
    reasons = result.reasons if isinstance(result, NotVerified) else ()
    signed = result.signed if isinstance(result, Verified) else None
    return {
        "verified": signed is not None,
        "reasons": [{"kind": reason.kind, "text": reason.text, "hint": reason.hint} for reason in reasons],
        "cells": [
            {"id": cell.cell, "label": cell.label, "status": cell.status, "same": cell.is_same} for cell in report.cells
        ],
        "checks": [dataclasses.asdict(check) for check in report.checks],
        "hollow": [{"name": test.name, "reads": test.reads, "says": test.says} for test in report.hollow],
        "lint": [dataclasses.asdict(finding) for finding in report.findings],
        "data": [dataclasses.asdict(data) for data in report.data],
        "queries": [dataclasses.asdict(each) for each in signed.proof.queries] if signed is not None else [],
        "exchanges": [dataclasses.asdict(each) for each in signed.proof.exchanges] if signed is not None else [],
        "more_exchanges": signed.proof.more_exchanges if signed is not None else 0,
        "environment": {
            "has_header": report.has_header,
            "packages": dict(report.packages),
            "python": report.python,
            "source": report.source,
            "note": SOURCE_NOTES.get(report.source, ""),
        },
        "tier": report.tier,
        "proof": json.loads(to_json(signed)) if signed is not None else None,
        "fingerprint": fingerprint(signed.key) if signed is not None else None,
        "stored": str(stored) if stored is not None else None,
    }


def check_outcome(outcome: Verified | NotVerified, proof: Path | None) -> CheckOutcome:
    """Whether a notebook stands up, in words an agent can repair it by."""
    hollow = {test.name: test.notices for test in outcome.report.hollow}
    checks = tuple(
        DeliveredCheck(
            name=check.name,
            says=check.name,
            has_passed=check.outcome == "passed",
            detail=check.message or hollow.get(check.name, ""),
            is_hollow=check.name in hollow,
        )
        for check in outcome.report.checks
    )
    note = SOURCE_NOTES.get(outcome.report.source, "")
    if isinstance(outcome, NotVerified):
        problems = tuple(f"{reason.text} {sentence_of(reason.hint)}" for reason in outcome.reasons)
        ran: CheckExtent = "whole" if outcome.report.cells else "not at all"
        if any(reason.is_unavailable for reason in outcome.reasons):
            ran = "unavailable"
        return CheckOutcome(problems=problems, checks=checks, ran=ran, note=note)
    return CheckOutcome(problems=(), checks=checks, proof=str(proof), note=note)
