"""Why a notebook is not verified: a closed set of values, each with its words and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from cellwright.ids import CellId
from cellwright.kernel.environments.lookup import PackageSource
from cellwright.remedies import Hint, remedy

_LESS_MEMORY: Final = remedy("raise_limit", lead="Use less memory, or", limits="")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLocation:
    """A cell, as a person would find it."""

    cell: CellId
    label: str
    """Its name, else its number and first line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintError:
    """marimo's linter finds something that breaks the notebook, or lets it behave otherwise than it reads."""

    code: str
    message: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEnvironment:
    """The packages its header asks for are not to be had."""

    message: str
    hint: Hint
    is_unavailable: bool = False
    """Something outside was missing: no change to the notebook would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFailed:
    """A cell raised, or could not run."""

    place: CellLocation
    type: str
    message: str
    line: int | None
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DidNotEnd:
    """A run took longer than it may."""

    place: CellLocation | None
    """The cell that ran when the time was over."""
    seconds: float
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStopped:
    """The process that ran the notebook ended under it."""

    place: CellLocation | None
    message: str
    run: int
    hint: Hint = _LESS_MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDiffers:
    """Two runs showed different things."""

    place: CellLocation
    what: Literal["output", "console", "status"]
    difference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFailed:
    """An acceptance check of the notebook did not pass."""

    place: CellLocation
    name: str
    message: str
    needs_pytest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFound:
    """Something that looks like a secret, or is one we know. It is not repeated here."""

    place: CellLocation | None
    """None: above the cells."""
    where: Literal["code", "output", "console"]
    looks_like: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePathFound:
    """A path that means something on this machine only."""

    place: CellLocation | None
    where: Literal["code", "output", "console"]
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMeanwhile:
    """The notebook or its data changed while it was verified, so nothing is proven of either."""

    what: str


UnverifiedReason = (
    LintError
    | NoEnvironment
    | CellFailed
    | DidNotEnd
    | KernelStopped
    | OutputDiffers
    | CheckFailed
    | SecretFound
    | MachinePathFound
    | ChangedMeanwhile
)


SOURCE_NOTES: Final[Mapping[PackageSource | None, str]] = {
    "cache": "No package index was reached: the environment was made anew from uv's cache, with the versions it had.",
    "installed": "No package index was reached: the environment was made anew from packages installed with Cellwright "
    "(each file as its wheel brought it) and uv's cache, in versions that the header allows.",
}
"""What to know of an environment that did not come from an index."""


def text_of(reason: UnverifiedReason) -> str:
    """What is wrong, beginning with where."""
    match reason:
        case LintError(code=code, message=message, line=line):
            return f"line {line}: {message} ({code})"
        case NoEnvironment(message=message):
            return f"environment: {message}"
        case CellFailed(place=place, type=kind, message=message, line=line):
            at = f" in line {line}" if line else ""
            return f"{_at(place)}: {kind}{at}: {message}".rstrip(": ")
        case DidNotEnd(place=place, seconds=seconds):
            return f"{_at(place)}: did not end in {seconds:g} s"
        case KernelStopped(place=place, message=message):
            return f"{_at(place)}: {message}"
        case OutputDiffers(place=place, what=what, difference=difference):
            return f"{_at(place)}: its {what} differs between two runs\n{difference}".rstrip()
        case CheckFailed(place=place, name=name, message=message):
            return f"check {name} ({place.label}): {message or 'failed'}"
        case SecretFound(place=place, where=where, looks_like=looks_like):
            return f"{_at(place)}: a secret in its {where} ({looks_like})"
        case MachinePathFound(place=place, where=where, path=path):
            return f"{_at(place)}: a path of this machine in its {where}: {path}"
        case ChangedMeanwhile(what=what):
            return f"{what} changed while the notebook was verified"
        case _:
            assert_never(reason)


def hint_of(reason: UnverifiedReason) -> Hint:
    """What to do about it."""
    match reason:
        case LintError():
            return "Mend what marimo's linter says; `marimo check` shows the place."
        case NoEnvironment(hint=hint) | KernelStopped(hint=hint):
            return hint
        case CellFailed(type="ModuleNotFoundError"):
            return "Add the package to `dependencies` in the notebook's header: nothing else is there."
        case CellFailed(type="cancelled"):
            return "Mend the cell it depends on."
        case CellFailed():
            return "Mend the cell: it must run from top to bottom in a fresh kernel."
        case DidNotEnd():
            return remedy("allow_time", lead="Make it faster or smaller, or")
        case OutputDiffers():
            return "Fix the seed, sort what has no order, and show no clock times, random ids or progress bars."
        case CheckFailed(needs_pytest=True):
            return "Add pytest to the header's `dependencies`, or write a plain function without parameters."
        case CheckFailed():
            return "Mend the notebook, or the check if it asks for the wrong thing."
        case SecretFound(where="code"):
            return "Take it out of the notebook, and change it where it is used: it has been written down."
        case SecretFound():
            return "Do not show it; change it where it is used if the notebook was shared."
        case MachinePathFound(where="code"):
            lead = "Name files relative to the notebook, for example `data/sales.csv`;"
            return remedy("add_data", lead=lead, what="others")
        case MachinePathFound():
            return "Show a name relative to the notebook instead; of a warning, mend its cause."
        case ChangedMeanwhile():
            return "Verify it again when nobody writes to it."
        case _:
            assert_never(reason)


def _at(place: CellLocation | None) -> str:
    return place.label if place is not None else "the notebook"
