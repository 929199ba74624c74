"""What a notebook's text and two runs of it say against it, leaks included.

A notebook must not carry secrets, nor paths that mean something on this machine only. Each reason has its
words and what to do next.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.ids import CellId
from cellwright.kernel.environments.lookup import PackageSource
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import Cell
from cellwright.notebook.files import NotebookFile
from cellwright.notebook.marimo_check import LintFinding
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import Hint, remedy
from cellwright.runs.verify.comparison import comparable_output, difference
from cellwright.runs.verify.input_files import InputFile
from cellwright.runs.verify.notebook_run import NotebookRun
from cellwright.runs.verify.proof import cell_name

ReasonKind = Literal[
    "LintError", "NoEnvironment", "CellFailed", "DidNotEnd", "KernelStopped", "OutputDiffers", "CheckFailed",
    "SecretFound", "MachinePathFound", "ChangedMeanwhile",
]  # fmt: skip
"""What is wrong, as JSON says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedReason:
    """One thing that speaks against a notebook. No secret is repeated in it."""

    kind: ReasonKind
    text: str
    """What is wrong, beginning with where."""
    hint: Hint
    """What to do about it."""
    cell: CellId | None = None
    """Whose output differs."""
    is_unavailable: bool = False
    """Something outside was missing: no change to the notebook would help."""


SOURCE_NOTES: Final[Mapping[PackageSource | None, str]] = {
    "cache": "No package index was reached: the environment was made anew from uv's cache, with the versions it had.",
    "installed": "No package index was reached: the environment was made anew from packages installed with Cellwright "
    "(each file as its wheel brought it) and uv's cache, in versions that the header allows.",
}
"""What to know of an environment that did not come from an index."""


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


def leaks_in(text: str, *, at: str, where: Where, masker: Masker, machine: Machine) -> list[UnverifiedReason]:
    """What stands in this text and should not. Pictures and other binary data in it are not looked at."""
    plain = _BINARY.sub("", text)
    is_code = where == "code"
    hint: Hint = "Do not show it; change it where it is used if the notebook was shared."
    if is_code:
        hint = "Take it out of the notebook, and change it where it is used: it has been written down."
    named = dict.fromkeys(finding.name for finding in masker.find(plain))
    found = [
        UnverifiedReason(kind="SecretFound", text=f"{at}: a secret in its {where} ({name})", hint=hint)
        for name in list(named)[:_EACH]
    ]
    hint = "Show a name relative to the notebook instead; of a warning, repair its cause."
    if is_code:
        lead = "Name files relative to the notebook, for example `data/sales.csv`;"
        hint = remedy("add_data", lead=lead, what="others")
    for path, _ in zip(machine.paths_in(plain), range(_EACH), strict=False):
        # A path may hold what looks like a secret.
        said = f"{at}: a path of this machine in its {where}: {masker.mask(path).text}"
        found.append(UnverifiedReason(kind="MachinePathFound", text=said, hint=hint))
    return found


_LABEL: Final = 60
_REPAIR_CELL: Final = "Repair the cell: it must run from top to bottom in a fresh kernel."
_ADD_PACKAGE: Final = "Add the package to `dependencies` in the notebook's header: nothing else is there."
_FIX_SEED: Final = "Fix the seed, sort what has no order, and show no clock times, random ids or progress bars."


class Judge:
    """Collects what speaks against a notebook."""

    def __init__(self, file: NotebookFile, *, machine: Machine, masker: Masker) -> None:
        self._file = file
        self._document = file.document
        self._machine = machine
        self._masker = masker
        self.reasons: list[UnverifiedReason] = []
        self.labels = {
            cell.id: label_of(cell, number, masker) for number, cell in enumerate(file.document.cells, start=1)
        }
        """Each cell, as a person would find it."""

    def lint(self, findings: Iterable[LintFinding], *, is_strict: bool) -> None:
        """What breaks a notebook always counts, what is only untidy when that was asked for."""
        for finding in findings:
            if finding.severity in ("breaking", "runtime") or (is_strict and finding.severity == "formatting"):
                said = f"line {finding.line}: {self._masker.mask(finding.message).text} ({finding.code})"
                self._refuse("LintError", said, "Repair what marimo's linter says; `marimo check` shows the place.")

    def code(self) -> None:
        """Leaks in what is written: header and cells."""
        self._leaks(self._document.header, "the notebook", "code")
        for cell in self._document.cells:
            self._leaks(cell.code, self.labels[cell.id], "code")

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
            self._changed_meanwhile("The notebook")
        digests = {data.path: data.sha256 for data in after}
        changed = [data.path for data in before if digests.get(data.path, data.sha256) != data.sha256]
        for path in dict.fromkeys(changed):
            self._changed_meanwhile(path)

    def _refuse(self, kind: ReasonKind, text: str, hint: Hint, cell: CellId | None = None) -> None:
        self.reasons.append(UnverifiedReason(kind=kind, text=text, hint=hint, cell=cell))

    def _changed_meanwhile(self, what: str) -> None:
        said = f"{what} changed while the notebook was verified"
        self._refuse("ChangedMeanwhile", said, "Verify it again when nobody writes to it.")

    def _failures(self, run: NotebookRun, seconds: float) -> None:
        failed = [outcome for outcome in run.outcomes if outcome.status in ("failed", "interrupted", "lost")]
        for outcome in failed:
            self._failure(outcome, seconds)
        if run.problem or (run.kernel_end is not None and not failed):
            message = run.problem or f"the kernel ended: {run.kernel_end.reason if run.kernel_end else ''}"
            hint = remedy("see_doctor", lead="Try again;", says="says whether this machine lacks something")
            self._refuse("KernelStopped", f"the notebook: {message}", hint)
        elif not failed:
            self._unheard(run)
        for result in run.checks:
            if result.outcome in ("failed", "needs pytest") and not (result.kind == "cell" and failed):
                message = self._masker.mask(result.message).text or "failed"
                hint = "Repair the notebook, or the check if it asks for the wrong thing."
                if result.outcome == "needs pytest":
                    hint = "Add pytest to the header's `dependencies`, or write a plain function without parameters."
                self._refuse("CheckFailed", f"check {result.name} ({self.labels[result.cell]}): {message}", hint)

    def _unheard(self, run: NotebookRun) -> None:
        """Cells without an outcome that counts, though nothing failed: silence proves nothing."""
        status = {outcome.id: outcome.status for outcome in run.outcomes}
        for cell in self._document.cells:
            if (said := status.get(cell.id, "nothing was heard of it")) not in ("ok", "stopped", "disabled"):
                self._refuse("CellFailed", f"{self.labels[cell.id]}: did not run: {said}", _REPAIR_CELL)

    def _failure(self, outcome: CellOutcome, seconds: float) -> None:
        label, error = self.labels[outcome.id], outcome.error
        kind = error.type if error is not None else outcome.status
        message = self._masker.mask(error.message).text if error is not None else ""
        if kind == "DeadlineReached":
            hint = remedy("allow_time", lead="Make it faster or smaller, or")
            self._refuse("DidNotEnd", f"{label}: did not end in {seconds:g} s", hint)
        elif outcome.status == "lost":
            hint = remedy("raise_limit", lead="Use less memory, or", limits="")
            self._refuse("KernelStopped", f"{label}: {message or 'the kernel ended'}", hint)
        else:
            line = f" in line {error.line}" if error is not None and error.line else ""
            hint = _ADD_PACKAGE if kind == "ModuleNotFoundError" else _REPAIR_CELL
            self._refuse("CellFailed", f"{label}: {kind}{line}: {message}".rstrip(": "), hint)

    def _differences(self, first: NotebookRun, second: NotebookRun) -> None:
        again = {outcome.id: outcome for outcome in second.outcomes}
        for outcome in first.outcomes:
            other = again.get(outcome.id)
            found = difference(comparable_output(outcome), comparable_output(other)) if other is not None else None
            if found is not None:
                text = f"{self.labels[outcome.id]}: its {found.what} differs between two runs\n"
                text = f"{text}{self._masker.mask(found.text).text}".rstrip()
                self._refuse("OutputDiffers", text, _FIX_SEED, outcome.id)

    def _shown(self, outcome: CellOutcome) -> None:
        label = self.labels[outcome.id]
        self._leaks(outcome.console, label, "console")
        if outcome.output is not None:
            self._leaks(f"{outcome.output.text}\n{outcome.output.data}", label, "output")

    def _leaks(self, text: str, at: str, where: Where) -> None:
        self.reasons += leaks_in(text, at=at, where=where, masker=self._masker, machine=self._machine)


def label_of(cell: Cell, number: int, masker: Masker) -> str:
    """A cell as a person would find it: its name, else its number and first line."""
    if cell_name(cell.name):
        return f"cell {cell.name}"
    line = masker.mask(next((line.strip() for line in cell.code.splitlines() if line.strip()), "")).text
    return f"cell {number} ({line[:_LABEL]}{'…' if len(line) > _LABEL else ''})" if line else f"cell {number}"
