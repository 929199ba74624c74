"""Verifying: a notebook run twice from scratch, judged by code alone, and a signed proof if all is well."""

from __future__ import annotations

import importlib.metadata
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.environments.lookup import PackageSource
from cellwright.notebook.files import NotebookFile, read
from cellwright.notebook.marimo_check import LintFinding, check
from cellwright.policy.masking.masker import Masker
from cellwright.runs.verify.comparison import NORMALISATIONS, comparable_output
from cellwright.runs.verify.fresh_environment import FreshEnvironment, FreshEnvironments
from cellwright.runs.verify.input_files import FileLocations, InputFile, hash_files, known_files
from cellwright.runs.verify.judge import Judge, Machine, UnverifiedReason
from cellwright.runs.verify.notebook_run import CheckResult, HollowTest, NotebookRun, OnProgress, run_once
from cellwright.runs.verify.proof import (
    Proof,
    ProvenCell,
    ProvenCheck,
    ProvenEnvironment,
    ProvenExchange,
    ProvenQuery,
    SignedProof,
    Signer,
    canonical,
    cell_name,
    header_sha256,
    options_sha256,
    sha256,
)

RUNS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CellVerification:
    """One cell in both runs."""

    cell: CellId
    label: str
    """Its name, else its number and first line."""
    status: str
    is_same: bool | None
    """None when it was not compared: there was no second run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """Everything that was seen, whatever came of it."""

    cells: tuple[CellVerification, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    hollow: tuple[HollowTest, ...] = ()
    """Tests that notice nothing: they pass whatever is changed in what they read."""
    findings: tuple[LintFinding, ...] = ()
    """All that marimo's linter said."""
    data: tuple[InputFile, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    python: str = ""
    """The version of the interpreter it ran on."""
    has_header: bool = False
    source: PackageSource | None = None
    """Where the packages of its header came from."""
    tier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Nothing speaks against the notebook."""

    signed: SignedProof
    report: VerificationReport

    @property
    def proof(self) -> Proof:
        """What was proven."""
        return self.signed.proof


@dataclass(frozen=True, slots=True, kw_only=True)
class NotVerified:
    """At least one thing does."""

    reasons: tuple[UnverifiedReason, ...]
    report: VerificationReport


async def verify(
    path: Path,
    *,
    fresh: FreshEnvironments,
    signer: Signer,
    machine: Machine,
    masker: Masker,
    seconds: float = 600,
    is_strict: bool = False,
    opinion: str = "",
    queries: Callable[[], Sequence[ProvenQuery]] = tuple,
    exchanges: Callable[[], Sequence[ProvenExchange]] = tuple,
    more_exchanges: Callable[[], int] = int,
    on_progress: OnProgress = lambda _: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Verified | NotVerified:
    """Run a notebook twice in fresh kernels, compare, check, look for leaks; a proof if all is well.

    `seconds` bounds each run. Warnings of marimo's linter fail only when `is_strict`. `opinion` is what a
    second opinion on its answer said, which the proof tells too, like database results. Raises `UserError` for a file
    that is no notebook.
    """
    file = await anyio.to_thread.run_sync(read, path)
    findings = tuple(await check(file.document))
    judge = Judge(file, machine=machine, masker=masker)
    judge.lint(findings, is_strict=is_strict)
    judge.code()
    if any(finding.severity == "breaking" for finding in findings):
        return NotVerified(reasons=tuple(judge.reasons), report=VerificationReport(findings=findings))
    async with AsyncExitStack() as stack:
        try:
            environment, (runs, seen) = await _run_fresh(stack, fresh, file, seconds, on_progress)
        except (UserError, Unavailable) as error:
            reason = UnverifiedReason(
                kind="NoEnvironment",
                text=f"environment: {error.message}",
                hint=error.advice,
                is_unavailable=isinstance(error, Unavailable),
            )
            judge.reasons.append(reason)
            return NotVerified(reasons=tuple(judge.reasons), report=VerificationReport(findings=findings))
        on_progress("comparing")
        data = await _hashed(file, environment, runs)
    await anyio.to_thread.run_sync(judge.runs, runs, seconds)
    judge.unchanged(seen, data, await anyio.to_thread.run_sync(_content, file.path))
    differing = {reason.cell for reason in judge.reasons if reason.kind == "OutputDiffers"}
    report = VerificationReport(
        cells=tuple(
            CellVerification(
                cell=outcome.id,
                label=judge.labels[outcome.id],
                status=outcome.status,
                is_same=outcome.id not in differing if len(runs) == RUNS else None,
            )
            for outcome in runs[0].outcomes
        ),
        checks=_both(runs),
        hollow=runs[0].hollow,
        findings=findings,
        data=data,
        packages=environment.packages,
        python=environment.python,
        has_header=environment.requirements is not None,
        source=environment.source,
        tier=environment.options.tier,
    )
    if judge.reasons:
        return NotVerified(reasons=tuple(judge.reasons), report=report)
    proof = _proof(file, runs, report, environment, now(), opinion)
    proof = replace(proof, queries=tuple(queries()), exchanges=tuple(exchanges()), more_exchanges=more_exchanges())
    signed = SignedProof(proof=proof, key=signer.key, signature=signer.sign(canonical(proof)))
    return Verified(signed=signed, report=report)


async def _run_fresh(
    stack: AsyncExitStack, fresh: FreshEnvironments, file: NotebookFile, seconds: float, on_progress: OnProgress
) -> tuple[FreshEnvironment, tuple[list[NotebookRun], list[InputFile]]]:
    """Both runs on what the header comes to now, which is open until the stack closes. Raises as `fresh.open` does.

    They begin on what it came to last time, while it is resolved: where it comes to the same, they count.
    """
    last = await stack.enter_async_context(fresh.open_last(file))
    early: list[tuple[list[NotebookRun], list[InputFile]]] = []
    problem: UserError | Unavailable | None = None
    environment: FreshEnvironment | None = None

    async def run_early(on: FreshEnvironment) -> None:
        early.append(await _run_side_by_side(on, file, seconds, on_progress))

    async with anyio.create_task_group() as beside:
        if last is not None:
            beside.start_soon(run_early, last)
        try:
            environment = await stack.enter_async_context(fresh.open(file))
        except (UserError, Unavailable) as error:
            problem = error
        is_same = environment is not None and last is not None and environment.key == last.key
        if not is_same:
            beside.cancel_scope.cancel()
    if environment is None:
        assert problem is not None
        raise problem
    return environment, early[0] if is_same else await _run_side_by_side(environment, file, seconds, on_progress)


async def _run_side_by_side(
    environment: FreshEnvironment, file: NotebookFile, seconds: float, on_progress: OnProgress
) -> tuple[list[NotebookRun], list[InputFile]]:
    """Both runs, each in an interpreter and a cage of its own; only the first counts where that failed.

    With the files that are known before, and those that each had opened, as they were at its end.
    """
    runs: dict[int, NotebookRun] = {}
    between: list[InputFile] = [*await _hashed(file, environment)]

    async def run(number: int) -> None:
        runs[number] = ran = await _run(environment, file, number, seconds, on_progress)
        between.extend(await _hashed(file, environment, [ran]))

    async with anyio.create_task_group() as both:
        for number in range(1, RUNS + 1):
            both.start_soon(run, number)
    return [runs[1], *([runs[2]] if runs[1].is_ok else [])], between


async def _run(
    environment: FreshEnvironment, file: NotebookFile, number: int, seconds: float, on_progress: OnProgress
) -> NotebookRun:
    try:
        return await run_once(environment, file, number, seconds=seconds, on_progress=on_progress)
    except Unavailable as error:
        return NotebookRun(number=number, outcomes=(), problem=error.message)


async def _hashed(
    file: NotebookFile, environment: FreshEnvironment, runs: Sequence[NotebookRun] = ()
) -> tuple[InputFile, ...]:
    around = FileLocations(
        project=environment.options.project,
        notebook=file.path,
        data=environment.options.data,
        hidden=tuple({path for run in runs for path in run.hidden}),
    )

    opened = [path for run in runs for path in run.opened]
    return await anyio.to_thread.run_sync(lambda: hash_files(known_files(file.document, around, opened), around))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _both(runs: Sequence[NotebookRun]) -> tuple[CheckResult, ...]:
    """Each check once, as the run saw it in which it went worse."""
    worst: dict[tuple[CellId, str], CheckResult] = {}
    for run in runs:
        for result in run.checks:
            known = worst.get((result.cell, result.name))
            if known is None or known.outcome == "passed":
                worst[result.cell, result.name] = result
    return tuple(worst.values())


def _proof(
    file: NotebookFile,
    runs: Sequence[NotebookRun],
    report: VerificationReport,
    environment: FreshEnvironment,
    made_at: datetime,
    opinion: str,
) -> Proof:
    outcomes = {outcome.id: comparable_output(outcome) for outcome in runs[0].outcomes}
    cells = tuple(
        ProvenCell(
            id=cell.id,
            name=cell_name(cell.name),
            code_sha256=sha256(cell.code),
            status=seen.status if seen is not None else "",
            output_sha256=seen.sha256 if seen is not None else "",
            is_whole=seen is None or seen.is_whole,
        )
        for cell in file.document.cells
        for seen in [outcomes.get(cell.id)]
    )
    rules = ", ".join(NORMALISATIONS)
    same = f"{len(outcomes)} of {len(outcomes)} cells showed the same in {RUNS} runs; normalised: {rules}"
    return Proof(
        notebook=file.path.relative_to(environment.options.project).as_posix(),
        notebook_sha256=sha256(file.content or b""),
        header_sha256=header_sha256(file.document),
        options_sha256=options_sha256(file.document),
        cells=cells,
        data=report.data,
        environment=ProvenEnvironment(
            requirements=environment.requirements, packages=environment.packages, source=environment.source
        ),
        checks=tuple(ProvenCheck(name=one.name, kind=one.kind, outcome=one.outcome) for one in report.checks),
        warnings=(
            *(f"line {one.line}: {one.message} ({one.code})" for one in report.findings),
            *(one.says for one in report.hollow),
        ),
        tools=tools_here(environment.python),
        tier=environment.options.tier,
        made_at=made_at.isoformat(timespec="seconds"),
        determinism=f"{same}. {opinion}" if opinion else same,
    )


def tools_here(python: str) -> dict[str, str]:
    """What a verification made here is made with; `python` is the version the notebook ran on."""
    return {
        "cellwright": importlib.metadata.version("cellwright"),
        "marimo": importlib.metadata.version("marimo"),
        "python": python,
        "platform": sysconfig.get_platform(),
    }
