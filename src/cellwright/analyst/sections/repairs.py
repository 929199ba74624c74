"""Which repairs a table's problems suggest, and whether each is certain enough to be on by itself. Pure.

A repair is a switch in the notebook: nothing is dropped or changed without one, and none is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.analyst.profile import ColumnProfile, Oddity, OddityKind, TableProfile
from cellwright.analyst.sections.text import counted, listed, shown

RepairName = Literal[
    "footnotes", "repeated headers", "total rows", "duplicate rows", "near-duplicate rows",
    "spaces around text", "words for nothing", "numbers as text", "dates in several formats",
    "sentinels", "infinities", "negative values", "outliers", "similar labels",
]  # fmt: skip
"""As the switch is called."""
Stage = Literal["rows", "texts", "reading", "values"]
"""rows: are dropped. texts: are cleaned. reading: text becomes values. values: become missing or one label."""
STAGES: Final[dict[RepairName, Stage]] = {
    "footnotes": "rows", "repeated headers": "rows", "total rows": "rows",
    "duplicate rows": "rows", "near-duplicate rows": "rows",
    "spaces around text": "texts", "words for nothing": "texts",
    "numbers as text": "reading", "dates in several formats": "reading",
    "sentinels": "values", "infinities": "values", "negative values": "values", "outliers": "values",
    "similar labels": "values",
}  # fmt: skip
_OF_JUDGEMENT: Final = frozenset({
    "duplicate rows", "near-duplicate rows", "negative values", "outliers", "similar labels",
})  # fmt: skip
_FROM: Final[dict[OddityKind, RepairName]] = {
    "footnotes": "footnotes", "repeated-header": "repeated headers", "total-rows": "total rows",
    "duplicate-rows": "duplicate rows", "near-duplicate-rows": "near-duplicate rows",
    "spaces-around": "spaces around text", "placeholder-nulls": "words for nothing", "sentinel": "sentinels",
    "infinities": "infinities", "negative-where-positive": "negative values", "outliers": "outliers",
    "near-duplicate-labels": "similar labels",
}  # fmt: skip
_READ: Final[tuple[OddityKind, ...]] = (
    "numbers-as-text", "decimal-comma", "currency-text", "percent-text", "mixed-units", "mixed-date-formats",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One switch."""

    name: RepairName
    is_on: bool
    """From the start."""
    says: str
    """What it does and to how much, as markdown that is safe to show."""
    oddities: tuple[Oddity, ...] = ()
    """The problems it mends."""
    columns: tuple[str, ...] = ()

    @property
    def stage(self) -> Stage:
        """Where in the order of steps it stands."""
        return STAGES[self.name]


def repairs_for(table: TableProfile) -> tuple[Repair, ...]:
    """The repairs that this table needs, in the order they are made."""
    found = {repair.name: repair for repair in _found(table)}
    return tuple(found[name] for name in STAGES if name in found)


def repair_of(oddity: Oddity, table: TableProfile) -> RepairName | None:
    """The repair that a problem suggests; None: there is nothing to be done but to know of it."""
    repairs = {repair.name: repair for repair in repairs_for(table)}
    name = _FROM.get(oddity.kind)
    if name is None and oddity.kind in _READ:
        conversion = next((column.conversion for column in table.columns if column.name == oddity.column), None)
        name = "dates in several formats" if conversion and conversion.kind == "date" else "numbers as text"
    return name if name in repairs else None


def _found(table: TableProfile) -> Iterator[Repair]:
    columns = {column.name: column for column in table.columns}
    for kind, name in _FROM.items():
        about = tuple(oddity for oddity in table.oddities if oddity.kind == kind and _is_mendable(oddity, columns))
        if about and not (kind == "footnotes" and leaves_out_footnotes(table)):
            yield _repair(name, about)
    words = [column for column in table.columns if column.conversion.null_words]
    if words and not any(oddity.kind == "placeholder-nulls" for oddity in table.oddities):
        yield _named("words for nothing", [column.name for column in words], "become missing")
    numbers = [column.name for column in table.columns if needs_reading(column)]
    if numbers:
        yield _named("numbers as text", numbers, "are read with their signs taken off; off: such values are missing")
    dates = [column.name for column in table.columns if len(column.conversion.formats) > 1]
    if dates:
        yield _named("dates in several formats", dates, "are all read; off: only those in the commonest format")


def leaves_out_footnotes(table: TableProfile) -> bool:
    """Whether they are left out while reading: of sheets and of several files, where no switch could tell them."""
    return bool(table.reading.skip_last) and (table.reading.format != "csv" or len(table.files) > 1)


def needs_reading(column: ColumnProfile) -> bool:
    """Whether its numbers are written in a way that a plain reading would miss."""
    conversion = column.conversion
    is_plain = (conversion.decimal, conversion.thousands, conversion.scale) == (".", "", 1.0)
    return conversion.kind == "number" and not (is_plain and not conversion.prefix and not conversion.suffix)


def _is_mendable(oddity: Oddity, columns: dict[str, ColumnProfile]) -> bool:
    match oddity.kind:
        case "sentinel" | "near-duplicate-labels":
            return oddity.column in columns and bool(oddity.values)
        case "infinities" | "negative-where-positive" | "outliers":
            return oddity.column in columns and columns[oddity.column].kind in ("integer", "number")
        case "total-rows":
            return bool(oddity.values or oddity.rows) and (not oddity.column or oddity.column in columns)
        case "spaces-around" | "placeholder-nulls":
            return oddity.column in columns and bool(oddity.values)
        case "footnotes":
            # Lines above the table are told as notes: they never were among the rows.
            return oddity.severity != "note"
        case _:
            return True


_DOES: Final[dict[RepairName, str]] = {
    "footnotes": "below the table are dropped",
    "repeated headers": "among the rows are dropped",
    "total rows": "are dropped: they would be counted twice",
    "duplicate rows": "are dropped but for the first of each",
    "near-duplicate rows": "that differ in case, spaces or a number of their own only are dropped but for the first",
    "spaces around text": "are taken off",
    "words for nothing": "become missing",
    "sentinels": "that stand for nothing become missing",
    "infinities": "become missing",
    "negative values": "where only positive ones make sense become missing",
    "outliers": "far from all other values become missing",
    "similar labels": "are written as the commonest of them",
}


def _repair(name: RepairName, oddities: Sequence[Oddity]) -> Repair:
    thing = "row" if STAGES[name] == "rows" else "value"
    count = sum(oddity.count for oddity in oddities)
    columns = tuple(dict.fromkeys(oddity.column for oddity in oddities if oddity.column))
    shows_columns = columns if name != "near-duplicate rows" else ()
    values = list(dict.fromkeys(value for oddity in oddities for value in oddity.values))
    said = f"**{name}** {_DOES.get(name, '')}"
    if values and name not in ("repeated headers", "footnotes"):
        said += f" ({listed([shown(value, 24) for value in values], 4)})"
    if shows_columns:
        said += f" in {listed([shown(column, 40) for column in columns], 3)}"
    if count:
        said += f": {counted(count, thing)}"
    return Repair(name=name, is_on=name not in _OF_JUDGEMENT, says=said, oddities=tuple(oddities), columns=columns)


def _named(name: RepairName, columns: Sequence[str], does: str) -> Repair:
    said = f"**{name}** {does}: {listed([shown(column, 40) for column in columns], 3)}"
    return Repair(name=name, is_on=True, says=said, columns=tuple(columns))
