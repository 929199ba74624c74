"""Whether a converted notebook does what the original did: cell by cell, by values, printed text and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from cellwright.kernel.jupyter import ConvertedCell, NotebookConversion, OriginalCell, OriginalRun, ShownValue
from cellwright.kernel.observation import CellOutcome
from cellwright.runs.verify.comparison import normalised

ImportVerdict = Literal["proven", "text", "differs", "failed", "fails in both", "refused", "not run"]
"""proven: it showed, printed and left the same in both kernels. text: nothing runs in it. refused: something in it has
no equivalent. not run: the original was not run, or ended before this cell."""

_SILENT: Final = frozenset({"code", "opaque"})
"""Kinds of values of which only that they are there is compared."""
_TIMINGS: Final = re.compile(r"(?m)^(?:CPU times: .*|Wall time: .*|(?:Compiler|Parser)\s*: .*|.* ± .* per loop .*)\n?")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NOT_RUN: Final = "AncestorFailed: Not run: "
"""How our kernel begins the error of a cell that did not run because another one failed."""
_MOST_NAMES: Final = 6
_EXCERPT: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedOutcome:
    """What a converted cell did in our kernel."""

    status: str
    printed: str = ""
    error: str = ""
    shown: tuple[ShownValue, ...] = ()
    has_picture: bool = False

    @classmethod
    def of(
        cls, outcome: CellOutcome, printed: str, shown: tuple[ShownValue, ...], numbers: Mapping[str, str]
    ) -> ConvertedOutcome:
        """From what the kernel told; `numbers` are those of Jupyter's cells, by the ids of ours."""
        output, error = outcome.output, outcome.error
        told = f"{error.type}: {error.message}" if error is not None else ""
        if told.startswith(_NOT_RUN):
            told = re.sub(r"'([^']+)'", lambda found: numbers.get(found[1], found[0]), told)
        return cls(
            status=outcome.status,
            printed=printed,
            error=told,
            shown=shown,
            has_picture=output is not None and ("image/" in output.data or "image/" in output.text),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProof:
    """What is known of one converted cell."""

    cell: ConvertedCell
    verdict: ImportVerdict
    reasons: tuple[str, ...] = ()
    lacks_picture: bool = False
    """The original drew something here and this cell shows nothing of it."""
    prints_otherwise: bool = False
    """Its text is another one, and not because it is another one each time."""
    only_there: tuple[str, ...] = ()
    """Of what nothing but that it is there was compared: variables by their names, and what is shown, by its kind."""


def compare(
    conversion: NotebookConversion,
    original: OriginalRun | None,
    ours: Sequence[ConvertedOutcome],
    values: Mapping[str, ShownValue],
    *,
    again: OriginalRun | None = None,
) -> tuple[CellProof, ...]:
    """One for each converted cell; `ours` are in their order, `values` by the names in the new notebook.

    `again` is the original run a second time: what is not the same twice there proves nothing here.
    """
    by_number = {cell.number: cell for cell in original.cells} if original is not None else {}
    second = {cell.number: cell for cell in again.cells} if again is not None else {}
    unsteady = unsteady_cells(original, again) if original is not None and again is not None else frozenset[int]()
    last = {name: at for at, cell in enumerate(conversion.cells) for name, _ in cell.defines}
    proofs = list[CellProof]()
    for at, (cell, outcome) in enumerate(zip(conversion.cells, ours, strict=True)):
        parts = [by_number[number] for number in cell.sources if number in by_number]
        if cell.is_text or not cell.sources:
            reasons = (outcome.error,) if outcome.error else ()
            proofs.append(CellProof(cell=cell, verdict="failed" if reasons else "text", reasons=reasons))
            continue
        names = [(name, new) for name, new in cell.defines if new and last[name] == at]
        there = original.variables if original is not None else {}
        twice = [second[part.number] for part in parts if part.number in second]
        drifting = _drifting(names, there, again)
        variables = [(name, there.get(name), values.get(new)) for name, new in names if name not in drifting]
        seen = _differences(parts, outcome, variables, twice if len(twice) == len(parts) else [])
        reasons = seen.found
        if reasons and unsteady & set(cell.sources):
            reasons = (*reasons, "the original itself does not do the same twice")
        held = [(name, there.get(name)) for name, _ in names]
        only = (
            *_only_there(parts, held),
            *(f"`{name}`, which is another each time" for name in drifting),
            *seen.passed,
        )
        judged = _judged(cell, parts, outcome, reasons)
        proofs.append(replace(judged, only_there=only, prints_otherwise=seen.prints_otherwise))
    return tuple(proofs)


def _drifting(
    names: Sequence[tuple[str, str]], there: Mapping[str, ShownValue], again: OriginalRun | None
) -> tuple[str, ...]:
    """Variables that the original itself leaves otherwise each time."""
    if again is None:
        return ()
    both = [(name, there.get(name), again.variables.get(name)) for name, _ in names]
    return tuple(name for name, one, two in both if one and two and _told_variable(one) != _told_variable(two))


def _only_there(parts: Sequence[OriginalCell], variables: Sequence[tuple[str, ShownValue | None]]) -> tuple[str, ...]:
    shown = [value for part in parts for value in part.shown]
    pictures = any(part.pictures for part in parts) and not any(value.digest for value in shown if _is_picture(value))
    opaque = any(value.kind == "opaque" for value in shown)
    names = [f"`{name}`" for name, value in variables if value is not None and value.kind == "opaque"]
    return (*names, *(["what it shows"] if opaque else []), *(["its picture"] if pictures else []))


def _is_picture(value: ShownValue) -> bool:
    return value.kind == "picture"


def _drawings(values: Sequence[ShownValue]) -> set[str]:
    """What is drawn, where that can be compared: a figure and its axes are one."""
    return {value.digest for value in values if _is_picture(value) and value.digest}


def _judged(
    cell: ConvertedCell, parts: Sequence[OriginalCell], outcome: ConvertedOutcome, reasons: tuple[str, ...]
) -> CellProof:
    failed = next((part for part in parts if part.status == "failed"), None)
    lacks = (
        outcome.status == "ok"
        and any(part.pictures for part in parts)
        and not outcome.has_picture
        # What else it shows stands where the figure would have to stand.
        and all(value.kind == "picture" for part in parts for value in part.shown)
    )
    if cell.refused:
        return CellProof(cell=cell, verdict="refused", reasons=(*cell.refused, *reasons), lacks_picture=lacks)
    if not parts or any(part.status == "lost" for part in parts):
        told = (f"here it fails: {outcome.error}",) if outcome.error else ()
        return CellProof(cell=cell, verdict="not run", reasons=told)
    if failed is not None and outcome.status != "ok":
        what = f"the original fails from top to bottom: {failed.error}"
        is_same = failed.error.split(":")[0] == outcome.error.split(":")[0] or outcome.error.startswith(_NOT_RUN)
        told = () if is_same else (_failure(outcome),)
        return CellProof(cell=cell, verdict="fails in both", reasons=(what, *told))
    if outcome.status != "ok":
        return CellProof(cell=cell, verdict="failed", reasons=(_failure(outcome),))
    if failed is not None:
        text = f"the original fails from top to bottom, this does not: {failed.error}"
        return CellProof(cell=cell, verdict="differs", reasons=(text,))
    return CellProof(cell=cell, verdict="differs" if reasons else "proven", reasons=reasons, lacks_picture=lacks)


def _failure(outcome: ConvertedOutcome) -> str:
    if outcome.error.startswith(_NOT_RUN):
        return f"not run here: {outcome.error.removeprefix(_NOT_RUN).rstrip('.')}"
    if outcome.error:
        return f"it fails here: {outcome.error}"
    return f"it did not run here: {outcome.status}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What of a cell differs, and what was not held against it because the original does it otherwise each time."""

    found: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    prints_otherwise: bool = False


def _differences(
    parts: Sequence[OriginalCell],
    outcome: ConvertedOutcome,
    variables: Sequence[tuple[str, ShownValue | None, ShownValue | None]],
    again: Sequence[OriginalCell],
) -> _Seen:
    if outcome.status != "ok" or any(part.status != "ok" for part in parts):
        return _Seen()
    found, passed, prints_otherwise = list[str](), list[str](), False
    theirs, mine = _text_of(parts), _printed(outcome.printed)
    if theirs != mine:
        if again and _same_where_steady(theirs.split("\n"), _text_of(again).split("\n"), mine.split("\n")):
            passed.append("printed lines that are others each time")
        else:
            prints_otherwise = True
            found.append(f"it prints other text: {_excerpt(theirs, mine)}")
    shown, here = _values_of(parts), [value for value in outcome.shown if value.kind != "picture"]
    told, told_here = list(map(_told, shown)), list(map(_told, here))
    if told != told_here:
        if again and _same_where_steady(told, list(map(_told, _values_of(again))), told_here):
            passed.append("shown values that are others each time")
        else:
            found.append(_shown_words(shown, here))
    if any(part.pictures for part in parts) and not outcome.has_picture:
        found.append("the original draws a picture here, this cell shows none")
    drawn, drawn_here = _drawings([value for part in parts for value in part.shown]), _drawings(outcome.shown)
    if drawn and drawn_here and drawn != drawn_here:
        found.append("it draws another picture")
    off = [name for name, one, other in variables if one and other and _told_variable(one) != _told_variable(other)]
    if off:
        more = f" and {len(off) - _MOST_NAMES} more" if len(off) > _MOST_NAMES else ""
        found.append("another value in the end: " + ", ".join(f"`{name}`" for name in off[:_MOST_NAMES]) + more)
    gone = [name for name, one, other in variables if one and not other]
    if gone:
        found.append("not there in the end: " + ", ".join(f"`{name}`" for name in gone[:_MOST_NAMES]))
    return _Seen(tuple(found), tuple(passed), prints_otherwise)


def _text_of(parts: Sequence[OriginalCell]) -> str:
    return _printed("".join(part.printed for part in parts))


def _values_of(parts: Sequence[OriginalCell]) -> list[ShownValue]:
    return [value for part in parts for value in part.shown if value.kind != "picture"]


def _same_where_steady(one: Sequence[object], two: Sequence[object], mine: Sequence[object]) -> bool:
    """Whether whatever the original does the same twice is the same here, too."""
    if not len(one) == len(two) == len(mine):
        return False
    return all(first != second or first == here for first, second, here in zip(one, two, mine, strict=True))


def _told(value: ShownValue) -> tuple[str, str]:
    return (value.kind, "" if value.kind in _SILENT else value.digest)


def _told_variable(value: ShownValue) -> tuple[str, str]:
    # A figure is compared where it is shown: cells below may draw on it.
    return (value.kind, "") if _is_picture(value) else _told(value)


def _printed(text: str) -> str:
    lines = _COLOURS.sub("", _TIMINGS.sub("", text)).replace("\r\n", "\n")
    return normalised("\n".join(line.rstrip() for line in lines.split("\n"))).strip()


def _shown_words(theirs: Sequence[ShownValue], mine: Sequence[ShownValue]) -> str:
    if len(theirs) != len(mine):
        return f"the original shows {len(theirs)} values here, this cell {len(mine)}"
    kinds = [(one.kind, other.kind) for one, other in zip(theirs, mine, strict=True) if _told(one) != _told(other)]
    one, other = kinds[0]
    return f"it shows another {one}" if one == other else f"it shows a {other} in place of a {one}"


def _excerpt(theirs: str, mine: str) -> str:
    for one, other in zip(theirs.split("\n"), mine.split("\n"), strict=False):
        if one != other:
            return f"{one[:_EXCERPT]!r} there, {other[:_EXCERPT]!r} here"
    return f"{theirs.count(chr(10)) + bool(theirs)} lines there, {mine.count(chr(10)) + bool(mine)} here"


def unsteady_cells(first: OriginalRun, second: OriginalRun) -> frozenset[int]:
    """Cells of the original that did not do the same in two runs of it."""
    again = {cell.number: cell for cell in second.cells}
    return frozenset(
        cell.number
        for cell in first.cells
        if (other := again.get(cell.number)) is not None
        and (_printed(cell.printed), list(map(_told, cell.shown)), cell.status)
        != (_printed(other.printed), list(map(_told, other.shown)), other.status)
    )
