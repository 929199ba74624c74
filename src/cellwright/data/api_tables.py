"""Rows that an API answered as a table: its columns with kinds, ranges and gaps. Pure, whatever the answer holds."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cellwright.data.api_answers import Row, flat

MOST_COLUMNS: Final = 200
"""More are counted, and not looked at."""
_MOST_DIFFERENT: Final = 50
_LONGEST: Final = 60
_LONGEST_NAME: Final = 120
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}[0-9:.,+Z -]{0,24})?")
_FEW: Final = 5
_LISTED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerColumn:
    """What is known of one column."""

    name: str
    kind: str
    """integer, number, date, text, truth, list, object; `integer or text` where they are several; nothing."""
    missing: int
    """Rows without a value."""
    says: str
    """Its range, or its commonest values; empty where neither tells anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """What rows are together."""

    rows: int
    columns: tuple[AnswerColumn, ...]
    more_columns: int
    first: tuple[Row, ...]
    """The first rows, flat, with these columns only."""


def answer_table(rows: Sequence[Mapping[str, Any]], *, most_rows: int) -> AnswerTable:
    """The table of these rows, and as many of them as are wanted."""
    tallies, others, first = dict[str, _ColumnTally](), set[str](), list[Row]()
    for row in rows:
        plain = flat(row)
        for name, value in plain.items():
            if name in tallies or len(tallies) < MOST_COLUMNS:
                tallies.setdefault(name, _ColumnTally()).take(value)
            else:
                others.add(name)
        if len(first) < most_rows:
            first.append({name[:_LONGEST_NAME]: value for name, value in plain.items() if name in tallies})
    columns = tuple(tally.column(name, len(rows)) for name, tally in tallies.items())
    return AnswerTable(rows=len(rows), columns=columns, more_columns=len(others), first=tuple(first))


@dataclass(slots=True)
class _ColumnTally:
    """What is counted of a column, row by row; bounded, however many there are."""

    kinds: Counter[str] = field(default_factory=Counter[str])
    values: Counter[str] = field(default_factory=Counter[str])
    """Texts and truths, up to a number of different ones."""
    is_varied: bool = False
    least: float = math.inf
    most: float = -math.inf
    first_date: str = ""
    last_date: str = ""

    def take(self, value: Any) -> None:
        kind = _kind(value)
        if kind == "nothing":
            return
        self.kinds[kind] += 1
        if kind == "integer" or (kind == "number" and math.isfinite(value)):
            self.least, self.most = min(self.least, value), max(self.most, value)
        elif kind == "date":
            self.first_date = min(self.first_date or value, value)
            self.last_date = max(self.last_date, value)
        elif kind in ("text", "truth"):
            shown = str(value)[:_LONGEST]
            if shown in self.values or len(self.values) < _MOST_DIFFERENT:
                self.values[shown] += 1
            else:
                self.is_varied = True

    def column(self, name: str, rows: int) -> AnswerColumn:
        kinds = [kind for kind, _ in self.kinds.most_common()]
        if set(kinds) == {"integer", "number"}:
            kinds = ["number"]
        return AnswerColumn(
            name=name[:_LONGEST_NAME],
            kind=" or ".join(kinds) or "nothing",
            missing=rows - self.kinds.total(),
            says=self._says(set(kinds)),
        )

    def _says(self, kinds: set[str]) -> str:
        if kinds <= {"integer", "number"} and self.least <= self.most:
            return _span(_number(self.least), _number(self.most))
        if kinds == {"date"}:
            return _span(self.first_date[:_LONGEST], self.last_date[:_LONGEST])
        if not self.values:
            return ""
        common = [value for value, _ in self.values.most_common(_FEW)]
        if self.is_varied:
            return f"more than {_MOST_DIFFERENT} different, such as {', '.join(common[:_LISTED])}"
        if len(self.values) == 1:
            return f"always {common[0]}"
        such = "" if len(self.values) <= _FEW else ", such as"
        return f"{len(self.values)} different{such or ':'} {', '.join(common if not such else common[:_LISTED])}"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "truth"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "date" if _DATE.fullmatch(value[:_LONGEST]) else "text"
        case dict():
            return "object"
        case _:
            return "list"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _span(least: str, most: str) -> str:
    return f"always {least}" if least == most else f"{least} … {most}"
