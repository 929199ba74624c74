"""The columns of the notebook's tables as tests and findings speak of them: where they stand, what they mean. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.analyst.goal.request import AnalysisRequest, NamedColumn
from cellwright.analyst.names import NotebookNames
from cellwright.analyst.sections.selection import ColumnKey, RequestedColumns
from cellwright.profiles.profile import ColumnProfile, Profile

ColumnUse = Literal["measure", "group", "time"]
_USES: Final[dict[str, ColumnUse]] = {
    "measure": "measure", "currency": "measure", "category": "group", "flag": "group", "date": "time",
}  # fmt: skip
_MAX_LABEL_LENGTH: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDescription:
    """A column of a table in the notebook."""

    name: str
    """In that table."""
    label: str
    """For a reader: `revenue (EUR)`. Plain text, whatever the file calls it."""
    record: ColumnProfile
    table: str
    """The profile's table it comes from."""
    is_repeated: bool = False
    """It stands in a joined table once for every row that refers to it, so its values are not independent."""

    @property
    def use(self) -> ColumnUse | None:
        """What it can serve as in a test."""
        return _USES.get(self.record.meaning)


class Columns:
    """All of them, by the variable that holds their table."""

    def __init__(self, profile: Profile, names: NotebookNames) -> None:
        records = {table.name: table for table in profile.tables}
        own = {
            each.table: tuple(_described(column.name, column, each.name) for column in records[each.name].columns)
            for each in names.tables
        }
        joined = {
            joint.variable: tuple(
                _described(each.name, each.column, each.table, is_repeated=each.table != joint.left.name)
                for each in joint.columns
            )
            for joint in names.joined
        }
        replaced = {joint.left.table for joint in names.joined}
        self._of = {**joined, **own}
        self.own_tables: tuple[str, ...] = tuple(own)
        """Variables of tables as they are in files."""
        self.tables: tuple[str, ...] = (*joined, *(table for table in own if table not in replaced))
        """Variables of the tables that are tested: a joined one stands for its left one."""

    def of(self, table: str) -> tuple[ColumnDescription, ...]:
        """The columns of the table this variable holds."""
        return self._of.get(table, ())

    def find(self, table: str, column: str) -> ColumnDescription | None:
        """The column, if the table has it."""
        return next((each for each in self.of(table) if each.name == column), None)

    def label(self, table: str, column: str) -> str:
        """What a reader calls the column."""
        found = self.find(table, column)
        return found.label if found else label_of(column)

    def every(self, table: str, use: ColumnUse) -> tuple[ColumnDescription, ...]:
        """The columns that can serve so; of a joined table no measure that is repeated."""
        return tuple(each for each in self.of(table) if each.use == use and not (use == "measure" and each.is_repeated))

    def first(self, table: str, use: ColumnUse, but: Collection[str] = ()) -> ColumnDescription | None:
        """The first that can serve so and is not one of these."""
        return next((each for each in self.every(table, use) if each.name not in but), None)

    def requested(self, wanted: AnalysisRequest) -> RequestedColumns:
        """What the goal names, by where it stands in the notebook."""
        tested = [(table, each) for table in self.tables for each in self.of(table)]

        def places(named: Iterable[NamedColumn]) -> frozenset[ColumnKey]:
            wanted = {(one.table, one.column) for one in named}
            return frozenset((table, each.name) for table, each in tested if (each.table, each.record.name) in wanted)

        measures = places(wanted.measures)
        groups = places((*wanted.groups, *(named for named, _ in wanted.values)))
        return RequestedColumns(measures=measures, groups=groups - measures)


def _described(name: str, record: ColumnProfile, table: str, *, is_repeated: bool = False) -> ColumnDescription:
    label = label_of(name, record.unit)
    return ColumnDescription(name=name, label=label, record=record, table=table, is_repeated=is_repeated)


def label_of(name: str, unit: str = "") -> str:
    """A column's name as words with its unit: `bill_length_mm` is `bill length (mm)`. One printable line."""
    printable = "".join(sign if sign.isprintable() else " " for sign in name)
    words = printable.replace("_", " ").split()
    if unit and len(words) > 1 and words[-1].strip("()[]").casefold() == unit.casefold():
        words = words[:-1]
    text = " ".join(words) or "unnamed column"
    text = text if len(text) <= _MAX_LABEL_LENGTH else f"{text[: _MAX_LABEL_LENGTH - 1]}…"
    return f"{text} ({unit})" if unit and unit.isprintable() and f"({unit})" not in text else text
