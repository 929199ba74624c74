"""What a notebook's text and two runs of it say against it, leaks included.

A notebook must not carry secrets, nor paths that mean something on this machine only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook import Cell, NotebookFile
from cellwright.notebook.marimo_check import LintFinding
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import remedy
from cellwright.runs.verify.comparison import comparable_output, difference
from cellwright.runs.verify.input_files import InputFile
from cellwright.runs.verify.notebook_run import NotebookRun
from cellwright.runs.verify.proof import cell_name
from cellwright.runs.verify.reasons import (
    CellFailed,
    CellLocation,
    ChangedMeanwhile,
    CheckFailed,
    DidNotEnd,
    KernelStopped,
    LintError,
    MachinePathFound,
    OutputDiffers,
    SecretFound,
    UnverifiedReason,
)

Where = Literal["code", "output", "console"]

_CANDIDATES: Final = 2_000
_EACH: Final = 5
"""Findings told per text; the first ones are enough to act on."""
_PATH: Final = re.compile(r"(?:(?<![\w/:.+~%@&?#\\-])|(?<=file://)|(?<=\\[nrt]))/[\w.+@~%-][\w.+@~%/-]{0,1000}")
_BINARY: Final = re.compile(r"data:[\w/+.-]{1,100};base64,[A-Za-z0-9+/=]+")
_CELL: Final = re.compile(r"/tmp/marimo_\d+/__marimo__cell_\w+\.py")
"""What marimo calls a cell's source, in warnings and tracebacks: a name, no file."""
_EVERYWHERE: Final = tuple(
    PurePosixPath(path)
    for path in (
        *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys"),
        *("/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"),
        *("/usr/local/bin", "/usr/local/lib", "/project", "/home/cell"),
    )
)
"""In every Linux, or in every cage: naming them ties a notebook to no machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The places of this machine that a notebook must not name."""

    home: Path
    state: Path
    temporary: Path
    project: Path
    cache: Path
    """Where environments are built."""

    @property
    def _own(self) -> tuple[PurePosixPath, ...]:
        places = (self.home, self.state, self.temporary, self.project, self.cache)
        both = [PurePosixPath(form) for place in places for form in (place.absolute(), place.resolve())]
        return tuple(place for place in both if place != PurePosixPath("/"))

    def paths_in(self, text: str) -> Iterator[str]:
        """Each path of this machine in a text, once."""
        own, seen = self._own, set[str]()
        for match in _PATH.finditer(text):
            word = match[0].rstrip("./-%~")
            if word in seen:
                continue
            seen.add(word)
            if len(seen) > _CANDIDATES:
                return
            if word and not _CELL.fullmatch(word) and _is_of_this_machine(PurePosixPath(word), own):
                yield word


def _is_of_this_machine(path: PurePosixPath, own: Sequence[PurePosixPath]) -> bool:
    if len(path.parts) < 3:
        # `/tmp`, `/home`, `/data`: a word as often as a place.
        return False
    if any(path.is_relative_to(place) for place in own):
        return True
    if any(path.is_relative_to(place) for place in _EVERYWHERE):
        return False
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def leaks_in(
    text: str, *, place: CellLocation | None, where: Where, masker: Masker, machine: Machine
) -> list[SecretFound | MachinePathFound]:
    """What stands in this text and should not. Pictures and other binary data in it are not looked at."""
    plain = _BINARY.sub("", text)
    named = dict.fromkeys(finding.name for finding in masker.find(plain))
    found: list[SecretFound | MachinePathFound] = [
        SecretFound(place=place, where=where, looks_like=name) for name in list(named)[:_EACH]
    ]
    paths = [path for path, _ in zip(machine.paths_in(plain), range(_EACH), strict=False)]
    # A path may hold what looks like a secret.
    return found + [MachinePathFound(place=place, where=where, path=masker.mask(path).text) for path in paths]


_LABEL: Final = 60


class Judge:
    """Collects what speaks against a notebook."""

    def __init__(self, file: NotebookFile, *, machine: Machine, masker: Masker) -> None:
        self._file = file
        self._document = file.document
        self._machine = machine
        self._masker = masker
        self.reasons: list[UnverifiedReason] = []
        self._places = {
            cell.id: CellLocation(cell=cell.id, label=label_of(cell, number, masker))
            for number, cell in enumerate(file.document.cells, start=1)
        }

    def place(self, cell: CellId) -> CellLocation:
        """Where a cell is, in words."""
        return self._places[cell]

    def lint(self, findings: Iterable[LintFinding], *, is_strict: bool) -> None:
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

    def runs(self, runs: Sequence[NotebookRun], seconds: float) -> None:
        """Failures, failed checks, differences and leaks of what was shown; the same thing is said once."""
        for run in runs:
            self._failures(run, seconds)
        if len(runs) == 2:
            self._differences(*runs)
        # What both runs showed is looked through once.
        for outcome in {(one.id, one.console, one.output): one for run in runs for one in run.outcomes}.values():
            self._shown(outcome)
        self.reasons[:] = list(dict.fromkeys(self.reasons))

    def unchanged(self, before: Iterable[InputFile], after: Iterable[InputFile], now: bytes | None) -> None:
        """What was verified must be what is there."""
        if now != self._file.content:
            self.reasons.append(ChangedMeanwhile(what="The notebook"))
        digests = {data.path: data.sha256 for data in after}
        changed = [data.path for data in before if digests.get(data.path, data.sha256) != data.sha256]
        self.reasons += [ChangedMeanwhile(what=path) for path in dict.fromkeys(changed)]

    def _failures(self, run: NotebookRun, seconds: float) -> None:
        failed = [outcome for outcome in run.outcomes if outcome.status in ("failed", "interrupted", "lost")]
        for outcome in failed:
            self.reasons.append(self._failure(outcome, run, seconds))
        if run.problem or (run.kernel_end is not None and not failed):
            message = run.problem or f"the kernel ended: {run.kernel_end.reason if run.kernel_end else ''}"
            hint = remedy("see_doctor", lead="Try again;", says="says whether this machine lacks something")
            self.reasons.append(KernelStopped(place=None, message=message, run=run.number, hint=hint))
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

    def _unheard(self, run: NotebookRun) -> None:
        """Cells without an outcome that counts, though nothing failed: silence proves nothing."""
        status = {outcome.id: outcome.status for outcome in run.outcomes}
        for cell in self._document.cells:
            if (said := status.get(cell.id, "nothing was heard of it")) not in ("ok", "stopped", "disabled"):
                self.reasons.append(
                    CellFailed(place=self.place(cell.id), type="did not run", message=said, line=None, run=run.number)
                )

    def _failure(self, outcome: CellOutcome, run: NotebookRun, seconds: float) -> UnverifiedReason:
        place, error = self.place(outcome.id), outcome.error
        kind = error.type if error is not None else outcome.status
        message = self._masker.mask(error.message).text if error is not None else ""
        if kind == "DeadlineReached":
            return DidNotEnd(place=place, seconds=seconds, run=run.number)
        if outcome.status == "lost":
            return KernelStopped(place=place, message=message or "the kernel ended", run=run.number)
        return CellFailed(
            place=place, type=kind, message=message, line=error.line if error is not None else None, run=run.number
        )

    def _differences(self, first: NotebookRun, second: NotebookRun) -> None:
        again = {outcome.id: outcome for outcome in second.outcomes}
        for outcome in first.outcomes:
            other = again.get(outcome.id)
            found = difference(comparable_output(outcome), comparable_output(other)) if other is not None else None
            if found is not None:
                text = self._masker.mask(found.text).text
                self.reasons.append(OutputDiffers(place=self.place(outcome.id), what=found.what, difference=text))

    def _shown(self, outcome: CellOutcome) -> None:
        place = self.place(outcome.id)
        self._leaks(outcome.console, place, "console")
        if outcome.output is not None:
            self._leaks(f"{outcome.output.text}\n{outcome.output.data}", place, "output")

    def _leaks(self, text: str, place: CellLocation | None, where: Where) -> None:
        self.reasons += leaks_in(text, place=place, where=where, masker=self._masker, machine=self._machine)


def label_of(cell: Cell, number: int, masker: Masker) -> str:
    """A cell as a person would find it: its name, else its number and first line."""
    if cell_name(cell.name):
        return f"cell {cell.name}"
    line = masker.mask(next((line.strip() for line in cell.code.splitlines() if line.strip()), "")).text
    return f"cell {number} ({line[:_LABEL]}{'…' if len(line) > _LABEL else ''})" if line else f"cell {number}"
