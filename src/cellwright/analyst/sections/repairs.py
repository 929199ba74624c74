"""Which repairs a table's problems suggest, and whether each is certain enough to be on by itself. Pure.

A repair is a switch in the notebook: nothing is dropped or changed without one, and none is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.analyst.sections.text import counted, listed, shown
from cellwright.profiles.profile import ColumnProfile, Oddity, OddityKind, TableProfile

RepairName = Literal[
    "footnotes", "repeated headers", "total rows", "duplicate rows", "near-duplicate rows",
    "spaces around text", "words for nothing", "numbers as text", "dates in several formats",
    "sentinels", "infinities", "negative values", "outliers", "similar labels",
]  # fmt: skip
"""As the switch is called."""
Stage = Literal["rows", "texts", "reading", "values"]
"""rows: are dropped. texts: are cleaned. reading: text becomes values. values: become missing or one label."""
_READ: Final[tuple[OddityKind, ...]] = (
    "numbers-as-text", "decimal-comma", "currency-text", "percent-text", "mixed-units", "mixed-date-formats",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RepairRule:
    """What a repair is."""

    stage: Stage
    does: str
    """After the name of what it is about."""
    kind: OddityKind | None = None
    """The problem that suggests it; None: the way columns are written does."""
    is_on: bool = True
    """Whether it is certain enough to be on from the start; else a matter of judgement."""


_RULES: Final[dict[RepairName, _RepairRule]] = {
    "footnotes": _RepairRule("rows", "below the table are dropped", "footnotes"),
    "repeated headers": _RepairRule("rows", "among the rows are dropped", "repeated-header"),
    "total rows": _RepairRule("rows", "are dropped: they would be counted twice", "total-rows"),
    "duplicate rows": _RepairRule("rows", "are dropped but for the first of each", "duplicate-rows", is_on=False),
    "near-duplicate rows": _RepairRule(
        "rows",
        "that differ in case, spaces or a number of their own only are dropped but for the first",
        "near-duplicate-rows",
        is_on=False,
    ),
    "spaces around text": _RepairRule("texts", "are taken off", "spaces-around"),
    "words for nothing": _RepairRule("texts", "become missing", "placeholder-nulls"),
    "numbers as text": _RepairRule("reading", "are read with their signs taken off; off: such values are missing"),
    "dates in several formats": _RepairRule("reading", "are all read; off: only those in the commonest format"),
    "sentinels": _RepairRule("values", "that stand for nothing become missing", "sentinel"),
    "infinities": _RepairRule("values", "become missing", "infinities"),
    "negative values": _RepairRule(
        "values", "where only positive ones make sense become missing", "negative-where-positive", is_on=False
    ),
    "outliers": _RepairRule("values", "far from all other values become missing", "outliers", is_on=False),
    "similar labels": _RepairRule(
        "values", "are written as the commonest of them", "near-duplicate-labels", is_on=False
    ),
}
"""In the order they are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One switch."""

    name: RepairName
    is_on: bool
    """From the start."""
    says: str
    """What it does and to how much, as markdown that is safe to show."""
    oddities: tuple[Oddity, ...] = ()
    """The problems it repairs."""
    columns: tuple[str, ...] = ()

    @property
    def stage(self) -> Stage:
        """Where in the order of steps it stands."""
        return _RULES[self.name].stage


def repairs_for(table: TableProfile) -> tuple[Repair, ...]:
    """The repairs that this table needs, in the order they are made."""
    found = {repair.name: repair for repair in _found(table)}
    return tuple(found[name] for name in _RULES if name in found)


def repair_of(oddity: Oddity, table: TableProfile) -> RepairName | None:
    """The repair that a problem suggests; None: there is nothing to be done but to know of it."""
    repairs = {repair.name: repair for repair in repairs_for(table)}
    name = next((name for name, rule in _RULES.items() if rule.kind == oddity.kind), None)
    if name is None and oddity.kind in _READ:
        conversion = next((column.conversion for column in table.columns if column.name == oddity.column), None)
        name = "dates in several formats" if conversion and conversion.kind == "date" else "numbers as text"
    return name if name in repairs else None


def _found(table: TableProfile) -> Iterator[Repair]:
    columns = {column.name: column for column in table.columns}
    for name, rule in _RULES.items():
        about = [oddity for oddity in table.oddities if oddity.kind == rule.kind and _is_repairable(oddity, columns)]
        if about and not (name == "footnotes" and leaves_out_footnotes(table)):
            yield _repair(name, about)
    words = [column for column in table.columns if column.conversion.null_words]
    if words and not any(oddity.kind == "placeholder-nulls" for oddity in table.oddities):
        yield _named("words for nothing", [column.name for column in words])
    numbers = [column.name for column in table.columns if needs_reading(column)]
    if numbers:
        yield _named("numbers as text", numbers)
    dates = [column.name for column in table.columns if len(column.conversion.formats) > 1]
    if dates:
        yield _named("dates in several formats", dates)


def leaves_out_footnotes(table: TableProfile) -> bool:
    """Whether they are left out while reading: of sheets and of several files, where no switch could tell them."""
    return bool(table.reading.skip_last) and (table.reading.format != "csv" or len(table.files) > 1)


def needs_reading(column: ColumnProfile) -> bool:
    """Whether its numbers are written in a way that a plain reading would miss."""
    conversion = column.conversion
    is_plain = (conversion.decimal, conversion.thousands, conversion.scale) == (".", "", 1.0)
    return conversion.kind == "number" and not (is_plain and not conversion.prefix and not conversion.suffix)


def _is_repairable(oddity: Oddity, columns: dict[str, ColumnProfile]) -> bool:
    match oddity.kind:
        case "sentinel" | "near-duplicate-labels" | "spaces-around" | "placeholder-nulls":
            return oddity.column in columns and bool(oddity.values)
        case "infinities" | "negative-where-positive" | "outliers":
            return oddity.column in columns and columns[oddity.column].kind in ("integer", "number")
        case "total-rows":
            return bool(oddity.values or oddity.rows) and (not oddity.column or oddity.column in columns)
        case "footnotes":
            # Lines above the table are told as notes: they never were among the rows.
            return oddity.severity != "note"
        case _:
            return True


def _repair(name: RepairName, oddities: Sequence[Oddity]) -> Repair:
    rule = _RULES[name]
    count = sum(oddity.count for oddity in oddities)
    columns = tuple(dict.fromkeys(oddity.column for oddity in oddities if oddity.column))
    shows_columns = columns if name != "near-duplicate rows" else ()
    values = list(dict.fromkeys(value for oddity in oddities for value in oddity.values))
    said = f"**{name}** {rule.does}"
    if values and name not in ("repeated headers", "footnotes"):
        said += f" ({listed([shown(value, 24) for value in values], 4)})"
    if shows_columns:
        said += f" in {listed([shown(column, 40) for column in columns], 3)}"
    if count:
        said += f": {counted(count, 'row' if rule.stage == 'rows' else 'value')}"
    return Repair(name=name, is_on=rule.is_on, says=said, oddities=tuple(oddities), columns=columns)


def _named(name: RepairName, columns: Sequence[str]) -> Repair:
    said = f"**{name}** {_RULES[name].does}: {listed([shown(column, 40) for column in columns], 3)}"
    return Repair(name=name, is_on=True, says=said, columns=tuple(columns))
