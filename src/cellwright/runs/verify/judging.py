"""Judging: what a notebook's text and two runs of it say against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from cellwright.ids import CellId
from cellwright.kernel import CellOutcome
from cellwright.notebook import Cell, Finding, NotebookFile
from cellwright.policy.masking import Masker
from cellwright.runs.verify.data_files import DataFile
from cellwright.runs.verify.leaks import Machine, Where, leaks_in
from cellwright.runs.verify.proof import cell_name
from cellwright.runs.verify.reasons import (
    CellFailed,
    ChangedMeanwhile,
    CheckFailed,
    DidNotEnd,
    KernelEnded,
    LintError,
    OutputDiffers,
    Place,
    Reason,
)
from cellwright.runs.verify.running import Run
from cellwright.runs.verify.sameness import difference, shown

_LABEL: Final = 60


class Judge:
    """Collects what speaks against a notebook."""

    def __init__(self, file: NotebookFile, *, machine: Machine, masker: Masker) -> None:
        self._file = file
        self._document = file.document
        self._machine = machine
        self._masker = masker
        self.reasons: list[Reason] = []
        self._places = {
            cell.id: Place(cell=cell.id, label=label_of(cell, number, masker))
            for number, cell in enumerate(file.document.cells, start=1)
        }

    def place(self, cell: CellId) -> Place:
        """Where a cell is, in words."""
        return self._places[cell]

    def lint(self, findings: Iterable[Finding], *, is_strict: bool) -> None:
        """What breaks a notebook always counts, what is only untidy when that was asked for."""
        for finding in findings:
            if finding.severity in ("breaking", "runtime") or (is_strict and finding.severity == "formatting"):
                self.reasons.append(
                    LintError(code=finding.code, message=self._masker.mask(finding.message).text, line=finding.line)
                )

    def code(self) -> None:
        """Leaks in what is written: header and cells."""
        self._leaks(self._document.header, None, "code")
        for cell in self._document.cells:
            self._leaks(cell.code, self.place(cell.id), "code")

    def runs(self, runs: Sequence[Run], seconds: float) -> None:
        """Failures, failed checks, differences and leaks of what was shown; the same thing is said once."""
        for run in runs:
            self._failures(run, seconds)
        if len(runs) == 2:
            self._differences(*runs)
        # What both runs showed is looked through once.
        for outcome in {(one.id, one.console, one.output): one for run in runs for one in run.outcomes}.values():
            self._shown(outcome)
        self.reasons[:] = list(dict.fromkeys(self.reasons))

    def unchanged(self, before: Iterable[DataFile], after: Iterable[DataFile], now: bytes | None) -> None:
        """What was verified must be what is there."""
        if now != self._file.content:
            self.reasons.append(ChangedMeanwhile(what="The notebook"))
        digests = {data.path: data.sha256 for data in after}
        changed = [data.path for data in before if digests.get(data.path, data.sha256) != data.sha256]
        self.reasons += [ChangedMeanwhile(what=path) for path in dict.fromkeys(changed)]

    def _failures(self, run: Run, seconds: float) -> None:
        failed = [outcome for outcome in run.outcomes if outcome.status in ("failed", "interrupted", "lost")]
        for outcome in failed:
            self.reasons.append(self._failure(outcome, run, seconds))
        if run.problem or (run.kernel_end is not None and not failed):
            message = run.problem or f"the kernel ended: {run.kernel_end.reason if run.kernel_end else ''}"
            hint = "Try again; `cellwright doctor` says whether this machine lacks something."
            self.reasons.append(KernelEnded(place=None, message=message, run=run.number, hint=hint))
        elif not failed:
            self._unheard(run)
        for result in run.checks:
            if result.outcome in ("failed", "needs pytest") and not (result.kind == "cell" and failed):
                self.reasons.append(
                    CheckFailed(
                        place=self.place(result.cell),
                        name=result.name,
                        message=self._masker.mask(result.message).text,
                        needs_pytest=result.outcome == "needs pytest",
                    )
                )

    def _unheard(self, run: Run) -> None:
        """Cells without an outcome that counts, though nothing failed: silence proves nothing."""
        status = {outcome.id: outcome.status for outcome in run.outcomes}
        for cell in self._document.cells:
            if (said := status.get(cell.id, "nothing was heard of it")) not in ("ok", "stopped", "disabled"):
                self.reasons.append(
                    CellFailed(place=self.place(cell.id), type="did not run", message=said, line=None, run=run.number)
                )

    def _failure(self, outcome: CellOutcome, run: Run, seconds: float) -> Reason:
        place, error = self.place(outcome.id), outcome.error
        kind = error.type if error is not None else outcome.status
        message = self._masker.mask(error.message).text if error is not None else ""
        if kind == "DeadlineReached":
            return DidNotEnd(place=place, seconds=seconds, run=run.number)
        if outcome.status == "lost":
            return KernelEnded(place=place, message=message or "the kernel ended", run=run.number)
        return CellFailed(
            place=place, type=kind, message=message, line=error.line if error is not None else None, run=run.number
        )

    def _differences(self, first: Run, second: Run) -> None:
        again = {outcome.id: outcome for outcome in second.outcomes}
        for outcome in first.outcomes:
            other = again.get(outcome.id)
            found = difference(shown(outcome), shown(other)) if other is not None else None
            if found is not None:
                text = self._masker.mask(found.text).text
                self.reasons.append(OutputDiffers(place=self.place(outcome.id), what=found.what, difference=text))

    def _shown(self, outcome: CellOutcome) -> None:
        place = self.place(outcome.id)
        self._leaks(outcome.console, place, "console")
        if outcome.output is not None:
            self._leaks(f"{outcome.output.text}\n{outcome.output.data}", place, "output")

    def _leaks(self, text: str, place: Place | None, where: Where) -> None:
        self.reasons += leaks_in(text, place=place, where=where, masker=self._masker, machine=self._machine)


def label_of(cell: Cell, number: int, masker: Masker) -> str:
    """A cell as a person would find it: its name, else its number and first line."""
    if cell_name(cell.name):
        return f"cell {cell.name}"
    line = masker.mask(next((line.strip() for line in cell.code.splitlines() if line.strip()), "")).text
    return f"cell {number} ({line[:_LABEL]}{'…' if len(line) > _LABEL else ''})" if line else f"cell {number}"
