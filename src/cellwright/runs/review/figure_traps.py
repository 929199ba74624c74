"""What a figure may have fallen for: a table with a trap in it, and the same table without. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace as with_fields

from cellwright.analyst.sections.text import is_sampled
from cellwright.profiles.profile import ColumnProfile, Conversion, Oddity, OddityKind, Profile, TableProfile
from cellwright.runs.review.answer_figures import AnswerFigure
from cellwright.runs.review.spoken_names import units_in
from cellwright.runs.review.units import energy_of, factor, unit_in_name, unit_of

_MAX_TABLES: Final = 6
_MAX_COLUMNS: Final = 60
_WRITTEN: Final = ("numbers-as-text", "currency-text", "decimal-comma", "percent-text", "mixed-types")
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
_NUMBERS: Final = ("integer", "number")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTrap:
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


def figure_traps(goal: str, figures: Sequence[AnswerFigure], profile: Profile) -> Iterator[FigureTrap]:
    """Everything in these tables that a figure may have fallen for."""
    tables = [each for each in profile.tables if _is_readable(each)][:_MAX_TABLES]
    yield from _parts(tables)
    for table in tables:
        yield from _oddities(table)
        yield from _unit_columns(table, units_in(goal) or [figure.unit for figure in figures if figure.unit])
        units = list(dict.fromkeys([*(figure.unit for figure in figures if figure.unit), *units_in(goal)]))[:1]
        yield from _other_unit(table, units)
        yield from _weights(goal, table)


def _parts(tables: Sequence[TableProfile]) -> Iterator[FigureTrap]:
    """One table in several files, of which some are written otherwise: each part alone is not the whole."""
    for table in tables:
        others = [each for each in tables if each is not table and _names_of(each) == _names_of(table)]
        if others:
            missing = ", ".join(path for each in others for path in (each.files or (each.reading.path,))[:3])
            says = f"with {missing} left out"
            yield FigureTrap(kind="lost-rows", says=says, table=table, naive=table, clean=table, others=tuple(others))


def _names_of(table: TableProfile) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _is_readable(table: TableProfile) -> bool:
    return bool(table.columns) and len(table.columns) <= _MAX_COLUMNS and not is_sampled(table)


def _oddities(table: TableProfile) -> Iterator[FigureTrap]:
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
        yield FigureTrap(
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
                yield FigureTrap(kind="lost-rows", says=says, table=table, naive=naive, clean=table)
    dates = [each.name for each in table.columns if len(each.conversion.formats) > 1]
    if dates and table.reading.format == "csv":
        says = f"with {', '.join(dates)} read as if all were written month first"
        yield FigureTrap(
            kind="mixed-date-formats", says=says, table=table, naive=table, clean=table, dates=tuple(dates)
        )


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


def _unit_columns(table: TableProfile, asked: Sequence[str]) -> Iterator[FigureTrap]:
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
            yield FigureTrap(
                kind="mixed-units",
                says=f"with {' and '.join(labels)} taken for one unit ({column.name} says which is which)",
                table=table,
                naive=table,
                clean=table,
                scaled=tuple((name, column.name, known) for name in beside),
            )


def _other_unit(table: TableProfile, asked: Sequence[str]) -> Iterator[FigureTrap]:
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
            yield FigureTrap(kind="other-unit", says=says, table=table, naive=table, clean=table, factors=factors)


def _interval(table: TableProfile) -> float:
    times = next((column.times for column in table.columns if column.name == table.time_column), None)
    if times is None:
        return 0.0
    return times.interval_seconds or _STEP_SECONDS.get(times.step, 0.0)


def _weights(goal: str, table: TableProfile) -> Iterator[FigureTrap]:
    """Rows that count differently, as the goal says."""
    if not re.search(r"\bweight(?:s|ed|ing)?\b", goal, re.IGNORECASE):
        return
    for column in table.columns:
        if column.kind in _NUMBERS and re.fullmatch(r"(?:\w+_)?weights?", column.name.casefold()):
            says = f"with every row counted alike, although {column.name} says what each counts"
            yield FigureTrap(kind="weights", says=says, table=table, naive=table, clean=table, weight=column.name)
