"""Where a figure comes from: an aggregate of raw rows that is what was answered only with a known trap still in it.

No goal need be understood for it: whoever answers the mean with the -999 in it has not left them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace as with_fields

from cellwright.analyst.answers.frames import Frame, conversion_functions, frame_cells
from cellwright.analyst.names import NotebookNames, name_tables
from cellwright.analyst.profile import ColumnProfile, Conversion, Oddity, OddityKind, Profile, TableProfile
from cellwright.analyst.sections.readers import imports_of
from cellwright.analyst.sections.text import is_sampled
from cellwright.data.files import DataFile
from cellwright.kernel.profiler import Profiler
from cellwright.notebook.source_text import literal, variable_name
from cellwright.runs.review import aggregate_search
from cellwright.runs.review.answer_figures import MEANINGFUL_DIGITS, AnswerFigure, AnswerText, comparing_code
from cellwright.runs.review.findings import Finding
from cellwright.runs.review.fresh_computation import compute_fresh
from cellwright.runs.review.spoken_names import aggregates_in, is_spoken, moments_in, spoken_labels, units_in
from cellwright.runs.review.units import energy_of, factor, unit_in_name, unit_of

_MAX_TABLES: Final = 6
_MAX_COLUMNS: Final = 60
_MAX_LABELS: Final = 400
_MAX_SHARES: Final = 6
_NUMBERS: Final = ("integer", "number")
_DATES: Final = ("date", "datetime")
_WRITTEN: Final = ("numbers-as-text", "currency-text", "decimal-comma", "percent-text", "mixed-types")
_HOWS: Final = ("sum", "mean", "median", "min", "max", "count")
_SHAPES: Final = ("%Y-%m-%d", "%Y-%m", "%Y")
_LEFT_IN: Final[dict[OddityKind, str]] = {
    "total-rows": "with the total rows ({values}) counted among the others",
    "sentinel": "with {values}, which stands for nothing, taken for a value",
    "duplicate-rows": "with rows counted that stand there twice",
    "near-duplicate-rows": "with rows counted that stand there twice, written a little differently",
    "repeated-header": "with lines counted that repeat the header",
    "mixed-units": "with {values} added up as if they were one unit",
    "near-duplicate-labels": "with {values} taken for different labels",
    "mixed-date-formats": "with only those dates read that are written in the commonest way",
}
_STEP_SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0}
_LINE: Final = re.compile(r"\b(?:slope|line|regress\w*|fit)\b", re.IGNORECASE)
_PROGRAM: Final = """
import warnings as _warnings
from collections import defaultdict as _defaultdict
from types import SimpleNamespace as _Namespace

_warnings.simplefilter("ignore")


def _table(cells, variable, as_read, is_on, scaled, dates, others=()):
    names = {"mo": mo, "folder": folder, "repairs": _Namespace(value=_defaultdict(lambda: is_on))}
    for cell in cells:
        exec(cell, names)
    rows = names[variable]
    if others:
        rows = names["pd"].concat([rows, *(names[other] for other in others)], ignore_index=True)
    for column in dates:
        pandas, read = names["pd"], names[as_read]
        moments = pandas.to_datetime(read[column].str.strip(), format="mixed", dayfirst=False, errors="coerce")
        rows = rows.assign(**{column: moments.reindex(rows.index)})
    for column, unit_column, by_unit in scaled:
        rows = rows.assign(**{column: rows[column] * rows[unit_column].astype(str).str.strip().map(by_unit)})
    return rows


computed = []
for _number, _naive, _clean, _names, _wanted in [
CASES]:
    try:
        _first = aggregates(_table(_naive[0], *_names, False, [], _naive[1]), _wanted, {}, "")
        _second = aggregates(_table(_clean[0], *_names, _clean[1], _clean[2], [], _clean[5]), _wanted, _clean[3], _clean[4])
        computed += [{"trap": _number, **_each} for _each in find_origins(_first, _second, _wanted["figures"])]
    except Exception as _error:
        computed.append({"trap": _number, "failed": repr(_error)[:200]})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trap:
    """A table with something in it, and the same without."""

    kind: str
    says: str
    table: TableProfile
    naive: TableProfile
    clean: TableProfile
    is_on: bool = False
    """Whether repairs that are a matter of judgement are made in the clean one."""
    scaled: tuple[tuple[str, str, dict[str, float]], ...] = ()
    """Columns whose unit stands in another one: the column, that one, and the factor of each of its values."""
    factors: dict[str, float] = field(default_factory=dict[str, float])
    """What columns are multiplied with, to be in the unit that was asked for."""
    weight: str = ""
    dates: tuple[str, ...] = ()
    """Columns of dates that the naive one reads as pandas would by itself."""
    others: tuple[TableProfile, ...] = ()
    """Tables that belong to the clean one, too."""


async def find_figure_origins(
    goal: str, answer: AnswerText, profile: Profile, data: Sequence[DataFile], profiler: Profiler
) -> tuple[Finding, ...]:
    """Findings on figures of the answer. `profile` names files by their targets."""
    figures = [figure for figure in answer.figures if figure.digits >= MEANINGFUL_DIGITS or _is_exact(figure)]
    traps = list(_traps(goal, figures, profile))
    if not figures or not traps:
        return ()
    came = await compute_fresh(profiler, data, _program(goal, answer, profile, data, figures, traps))
    if not isinstance(came, list):
        return ()
    findings: dict[str, Finding] = {}
    for found in came:
        if "failed" not in found:
            trap, figure = traps[found["trap"]], figures[found["figure"]]
            findings.setdefault(figure.text, _finding(trap, figure, found, answer))
    return tuple(findings.values())


def _is_exact(figure: AnswerFigure) -> bool:
    """Whether so much of it is known that no other aggregate meets it by chance."""
    return figure.exact is not None and abs(figure.exact - round(figure.exact, 3)) > 1e-7


def _value(figure: AnswerFigure) -> float:
    return figure.value if figure.exact is None else figure.exact


def _reach(figure: AnswerFigure) -> float:
    """How far an aggregate may lie off and still be what the notebook has."""
    return figure.half_unit if figure.exact is None else max(1e-9 * abs(figure.exact), 1e-12)


def _finding(trap: _Trap, figure: AnswerFigure, found: Any, answer: AnswerText) -> Finding:
    clean = float(found["clean"])
    instead = f"{clean:,.10g}"
    says = (
        f"{figure.text} is the {found['name']} in {trap.table.reading.path} {trap.says}; without that it is {instead}."
    )
    return Finding(
        claim=f"The answer says: {answer.text.strip()}",
        found=says,
        shows=comparing_code([figure], clean, says, answer),
        by="code",
        kind=trap.kind,
    )


# ── traps ──


def _traps(goal: str, figures: Sequence[AnswerFigure], profile: Profile) -> Iterator[_Trap]:
    tables = [each for each in profile.tables if _is_readable(each)][:_MAX_TABLES]
    yield from _parts(tables)
    for table in tables:
        yield from _oddities(table)
        yield from _unit_columns(table, units_in(goal) or [figure.unit for figure in figures if figure.unit])
        units = list(dict.fromkeys([*(figure.unit for figure in figures if figure.unit), *units_in(goal)]))[:1]
        yield from _other_unit(table, units)
        yield from _weights(goal, table)


def _parts(tables: Sequence[TableProfile]) -> Iterator[_Trap]:
    """One table in several files, of which some are written otherwise: each part alone is not the whole."""
    for table in tables:
        others = [each for each in tables if each is not table and _names_of(each) == _names_of(table)]
        if others:
            missing = ", ".join(path for each in others for path in (each.files or (each.reading.path,))[:3])
            says = f"with {missing} left out"
            yield _Trap(kind="lost-rows", says=says, table=table, naive=table, clean=table, others=tuple(others))


def _names_of(table: TableProfile) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _is_readable(table: TableProfile) -> bool:
    return bool(table.columns) and len(table.columns) <= _MAX_COLUMNS and not is_sampled(table)


def _oddities(table: TableProfile) -> Iterator[_Trap]:
    for kind, says in _LEFT_IN.items():
        found = [each for each in table.oddities if each.kind == kind and _is_sure(each, table)]
        if not found:
            continue
        values = ", ".join(dict.fromkeys(value for each in found for value in each.values[:3]))
        naive = with_fields(table, oddities=tuple(each for each in table.oddities if each.kind != kind))
        if kind == "mixed-units":
            naive = with_fields(naive, columns=tuple(map(_without_factors, table.columns)))
        if kind == "mixed-date-formats":
            naive = with_fields(naive, columns=tuple(map(_with_first_format, table.columns)))
        is_judged = kind in ("duplicate-rows", "near-duplicate-rows", "near-duplicate-labels")
        yield _Trap(
            kind=kind,
            says=says.format(values=values or "them"),
            table=table,
            naive=naive,
            clean=_only(kind, table) if is_judged else table,
            is_on=is_judged,
        )
    if written := [each.column for each in table.oddities if each.kind in _WRITTEN]:
        named = ", ".join(dict.fromkeys(written))
        for misread, how in (
            (_as_written, "left out"),
            (_without_thousands, "left out"),
            (_with_marks_swapped, "misread"),
        ):
            columns = tuple(misread(each) if each.name in written else each for each in table.columns)
            if columns != table.columns:
                says = f"with the values of {named} {how} that are written otherwise than most"
                naive = with_fields(table, columns=columns)
                yield _Trap(kind="lost-rows", says=says, table=table, naive=naive, clean=table)
    dates = [each.name for each in table.columns if len(each.conversion.formats) > 1]
    if dates and table.reading.format == "csv":
        says = f"with {', '.join(dates)} read as if all were written month first"
        yield _Trap(kind="mixed-date-formats", says=says, table=table, naive=table, clean=table, dates=tuple(dates))


def _is_sure(oddity: Oddity, table: TableProfile) -> bool:
    """Whether nobody in their right mind would leave it so."""
    match oddity.kind:
        case "duplicate-rows" | "near-duplicate-rows":
            return _has_id(table) or bool(table.shared)
        case "near-duplicate-labels":
            return len({re.sub(r"[\W_]", "", value.casefold()) for value in oddity.values}) == 1
        case "mixed-date-formats":
            return oddity.severity != "note"
        case _:
            return oddity.severity == "problem"


def _has_id(table: TableProfile) -> bool:
    """Whether a column names each row: then two rows with one name are one row, twice."""
    doubled = sum(each.count for each in table.oddities if each.kind == "duplicate-rows")
    return any(
        column.meaning == "id" and not column.nulls and column.distinct >= table.looked_at - doubled
        for column in table.columns
    )


def _only(kind: OddityKind, table: TableProfile) -> TableProfile:
    """Without the other things that are a matter of judgement."""
    judged = {"duplicate-rows", "near-duplicate-rows", "negative-where-positive", "outliers", "near-duplicate-labels"}
    return with_fields(table, oddities=tuple(each for each in table.oddities if each.kind not in judged - {kind}))


def _with_first_format(column: ColumnProfile) -> ColumnProfile:
    return with_fields(column, conversion=with_fields(column.conversion, formats=column.conversion.formats[:1]))


def _as_written(column: ColumnProfile) -> ColumnProfile:
    """As a plain reading takes it: whatever is no plain number is missing."""
    return with_fields(column, conversion=Conversion())


def _without_factors(column: ColumnProfile) -> ColumnProfile:
    """The same with every unit taken for the first."""
    others = tuple((unit, 1.0) for unit, _ in column.conversion.other_suffixes)
    return with_fields(column, conversion=with_fields(column.conversion, other_suffixes=others))


def _without_thousands(column: ColumnProfile) -> ColumnProfile:
    """As somebody reads it who thinks of the decimal mark only."""
    return with_fields(column, conversion=with_fields(column.conversion, thousands=""))


def _with_marks_swapped(column: ColumnProfile) -> ColumnProfile:
    """With the decimal mark taken for that of thousands, and the other way round."""
    known = column.conversion
    if not known.thousands:
        return column
    return with_fields(column, conversion=with_fields(known, decimal=known.thousands, thousands=known.decimal))


def _unit_columns(table: TableProfile, asked: Sequence[str]) -> Iterator[_Trap]:
    """A column of numbers whose unit stands in the column beside it, and is not always the same."""
    for column in table.columns:
        labels = [each.value.strip() for each in column.common]
        units = {label: unit_of(label) for label in labels}
        if not 2 <= len(labels) <= 6 or not all(units.values()) or column.distinct != len(labels):
            continue
        target = next((unit for unit in asked if factor(units[labels[0]], unit) is not None), units[labels[0]])
        factors = {label: factor(unit, target) for label, unit in units.items()}
        stem = re.sub(r"_?units?$", "", column.name.casefold()).rstrip("._ ")
        beside = [
            each.name
            for each in table.columns
            if each.kind in _NUMBERS and each.meaning in ("measure", "currency")
            and (each.name.casefold().startswith(stem) if stem else True)
        ]  # fmt: skip
        if beside and all(each is not None for each in factors.values()):
            known = {label: each for label, each in factors.items() if each is not None}
            yield _Trap(
                kind="mixed-units",
                says=f"with {' and '.join(labels)} taken for one unit ({column.name} says which is which)",
                table=table,
                naive=table,
                clean=table,
                scaled=tuple((name, column.name, known) for name in beside),
            )


def _other_unit(table: TableProfile, asked: Sequence[str]) -> Iterator[_Trap]:
    """Columns in another unit than the one that is asked for."""
    for unit in asked:
        factors: dict[str, float] = {}
        for column in table.columns:
            own = unit_of(column.unit) or unit_in_name(column.name)
            by = factor(own, unit) if own else None
            if by is None and own and (energy := energy_of(own, _interval(table))) is not None:
                step = factor(energy[0], unit)
                by = step * energy[1] if step is not None else None
            if column.kind in _NUMBERS and by is not None and by != 1.0:
                factors[column.name] = by
        if factors:
            named = ", ".join(factors)
            says = f"as {named} has it, told as {unit}"
            yield _Trap(kind="other-unit", says=says, table=table, naive=table, clean=table, factors=factors)


def _interval(table: TableProfile) -> float:
    times = next((column.times for column in table.columns if column.name == table.time_column), None)
    if times is None:
        return 0.0
    return times.interval_seconds or _STEP_SECONDS.get(times.step, 0.0)


def _weights(goal: str, table: TableProfile) -> Iterator[_Trap]:
    """Rows that count differently, as the goal says."""
    if not re.search(r"\bweight(?:s|ed|ing)?\b", goal, re.IGNORECASE):
        return
    for column in table.columns:
        if column.kind in _NUMBERS and re.fullmatch(r"(?:\w+_)?weights?", column.name.casefold()):
            says = f"with every row counted alike, although {column.name} says what each counts"
            yield _Trap(kind="weights", says=says, table=table, naive=table, clean=table, weight=column.name)


# ── the program ──


def _program(
    goal: str,
    answer: AnswerText,
    profile: Profile,
    data: Sequence[DataFile],
    figures: Sequence[AnswerFigure],
    traps: Sequence[_Trap],
) -> str:
    taken, paths = set[str](), dict[str, str]()
    for file in data:
        paths[file.target] = variable_name(file.name, is_folder=file.is_folder, taken=taken)
        taken.add(paths[file.target])
    names = name_tables(profile, paths)
    places = "\n".join(f"{variable} = folder / {literal(target)}" for target, variable in paths.items())
    lines: list[str] = []
    for number, trap in enumerate(traps):
        if not names.is_read(trap.table.name):
            continue
        wanted = _wanted(f"{goal} {answer.text}", goal, trap, is_wide=all(map(_is_exact, figures)))
        wanted["figures"] = [[_value(each), _reach(each), each.half_unit] for each in figures]
        naive = ([places, *_cells(trap.naive, names)], list(trap.dates))
        others = [each for each in trap.others if names.is_read(each.name)]
        cells = [places, *_cells(trap.clean, names), *(code for each in others for code in _cells(each, names))]
        more = [names.of(each.name).table for each in others]
        clean = (cells, trap.is_on, list(trap.scaled), trap.factors, trap.weight, more)
        own = names.of(trap.table.name)
        lines.append(f"    ({number}, {naive!r}, {clean!r}, {(own.table, own.as_read)!r}, {wanted!r}),\n")
    source = Path(aggregate_search.__file__).read_text(encoding="utf-8")
    functions = source.partition("from typing import Any\n")[2]
    return f"from typing import Any\n{functions}\n{_PROGRAM.replace('CASES', ''.join(lines), 1)}"


def _cells(table: TableProfile, names: NotebookNames) -> list[str]:
    frame = Frame(table=table, names=names.of(table.name))
    used = [column.name for column in table.columns]
    libraries = ["import numpy as np", "import pandas as pd", *imports_of(table).values()]
    functions = [cell.code for cell in conversion_functions(frame, used)]
    return ["\n".join(libraries), *functions, *(cell.code for cell in frame_cells(frame, names, used, "repairs"))]


def _wanted(words: str, goal: str, trap: _Trap, *, is_wide: bool) -> dict[str, Any]:
    """Which aggregates the goal could mean: columns, labels and groups it speaks of, and how it wants them told.

    Where the notebook has the figure to its last digit, every column, group and way will do.
    """
    table = trap.table
    numbers = [each for each in table.columns if each.kind in _NUMBERS]
    measures = [each.name for each in numbers if each.meaning in ("measure", "currency")]
    measures = measures or [each.name for each in numbers if each.meaning != "id"]
    spoken = [name for name in measures if is_spoken(name, goal)]
    groups = [each for each in table.columns if each.kind not in _DATES and each.name not in measures]
    groups = [each for each in groups if each.distinct <= _MAX_LABELS]
    dates = [each.name for each in table.columns if each.kind in _DATES]
    shapes = _SHAPES if is_wide else moments_in(goal)
    return {
        "columns": measures if is_wide else spoken or measures,
        "hows": list(_HOWS) if is_wide else aggregates_in(goal),
        "labels": [(each.name, label) for each in groups for label in spoken_labels(each, words)],
        "keys": [each.name for each in groups if is_wide or is_spoken(each.name, goal)],
        "moments": [(name, shape) for name in dates for shape in shapes],
        "pairs": measures[:6] if is_wide or _LINE.search(goal) else [],
        "shares": [
            (each.name, label.value.strip())
            for each in groups
            if each.distinct <= _MAX_SHARES
            for label in each.common
            if trap.weight
        ],
    }
