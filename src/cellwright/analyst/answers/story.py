"""What every answer has: a headline, one picture, a few findings with small pictures, and how far to trust it. Pure.

Sentences are code that gives text from the notebook's own figures: turn a switch, and they change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.question import NumberFilter, Quantity, Question, ValueFilter
from cellwright.analyst.sections.columns import label_of
from cellwright.analyst.sections.text import capital, code_of, plain
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile

_SIGNS: Final = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}
_HOW: Final = {"sum": "sum", "mean": "mean", "median": "median", "min": "lowest", "max": "highest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One supporting finding."""

    variable: str
    """Holds a dict: `says`, one sentence of plain text; `statistics`, the test behind it; `bars`, labels and numbers for
    those who see no picture. The last two may be absent."""
    chart: str
    """The code of a cell that draws it, small."""
    has_statistics: bool = False
    cell: CellDraft | None = None
    """What computes it, where no cell of the story does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """An answer as cells."""

    picture: str
    """The code of the cell that draws it."""
    findings: tuple[Finding, ...]
    cells: tuple[CellDraft, ...]
    """What computes, in the order one reads it. One of them defines `headline`, a sentence with the figure."""
    columns: tuple[str, ...]
    """Of the frame: those in use."""
    choices: tuple[CellDraft, ...] = ()
    """Widgets, such as periods."""
    trust: tuple[str, ...] = ()
    """Variables with sentences on how far to trust it."""
    checks: tuple[CellDraft, ...] = ()
    readings: tuple[str, ...] = ()
    """How words of the goal were read: plain sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A quantity of a question in its frame."""

    quantity: Quantity
    column: str
    """In the frame; empty: rows are counted."""
    record: ColumnProfile | None

    @property
    def words(self) -> str:
        """As the goal said it: `revenue`."""
        fallback = label_of(self.column) if self.column else plain(self.quantity.table) or "rows"
        return plain(self.quantity.words) or fallback

    @property
    def is_additive(self) -> bool:
        """Whether parts add up to the whole."""
        return self.quantity.how in ("sum", "count")

    @property
    def label(self) -> str:
        """For an axis: `revenue (EUR)`."""
        unit = self.record.unit if self.record and self.quantity.how not in ("count", "distinct") else ""
        how = f"{_HOW[self.quantity.how]} of " if self.quantity.how in ("mean", "median", "min", "max") else ""
        return f"{how}{self.words}{f' ({plain(unit)})' if unit and plain(unit) else ''}"

    @property
    def how_words(self) -> str:
        """How it is computed, in words, the column in them."""
        if self.quantity.how == "count":
            return f"the number of rows of {plain(self.quantity.table) or 'the table'}"
        if self.quantity.how == "distinct":
            return f"the number of different values of {plain(self.column)}"
        unit = self.record.unit if self.record else ""
        return f"the {_HOW[self.quantity.how]} of {label_of(self.column, unit)}"

    def of(self, rows: str) -> str:
        """Code of it over rows."""
        if not self.column:
            return f"len({rows})"
        call = "nunique" if self.quantity.how == "distinct" else self.quantity.how
        return f"{rows}[{literal(self.column)}].{call}()"

    def by(self, rows: str, key: str) -> str:
        """Code of it per group; `key` is code of what `groupby` takes."""
        if not self.column:
            return f"{rows}.groupby({key}).size()"
        call = "nunique" if self.quantity.how == "distinct" else self.quantity.how
        return f"{rows}.groupby({key})[{literal(self.column)}].{call}()"

    def over(self, rows: str, when: str, step: str) -> str:
        """Code of it per step of time."""
        if not self.column:
            # A step without any row is a gap, not a zero.
            return f"{rows}.set_index({literal(when)}).resample({literal(step)}).size().where(lambda _rows: _rows > 0)"
        call = {"distinct": "nunique()", "sum": "sum(min_count=1)"}.get(self.quantity.how, f"{self.quantity.how}()")
        return f"{rows}.set_index({literal(when)})[{literal(self.column)}].resample({literal(step)}).{call}"

    def figure(self, value: str) -> str:
        """Code of a figure in words: for the inside of an f-string."""
        if self.quantity.how in ("count", "distinct"):
            return f"{{{value}:,.0f}}"
        before, after = self.signs
        arguments = [value, *([literal(before)] if before or after else []), *([literal(after)] if after else [])]
        return f"{{short({', '.join(arguments)})}}".replace('"', "'")

    @property
    def signs(self) -> tuple[str, str]:
        """What stands before and behind its figures."""
        unit = plain(self.record.unit, 12) if self.record else ""
        if not unit or not unit.replace("/", "").replace("°", "").replace("%", "").replace("²", "").isalnum():
            return ("", " %") if unit == "%" else (_SIGNS.get(unit, ""), "")
        return (_SIGNS[unit], "") if unit in _SIGNS else ("", f" {unit}")

    @property
    def share_format(self) -> str:
        """How vega shows its figures."""
        return ",.0f" if self.quantity.how in ("count", "distinct") else ",.4~r"


def measure_of(question: Question, frame: Frame) -> Measure | None:
    """The question's quantity in its frame; None where it has none."""
    if question.quantity is None:
        return None
    if question.quantity.column is None:
        return Measure(quantity=question.quantity, column="", record=None)
    found = frame.find(question.quantity.column)
    return Measure(quantity=question.quantity, column=found[0], record=found[1]) if found else None


# ── rows ──


def filter_lines(filters: Sequence[ValueFilter | NumberFilter], frame: Frame, variable: str) -> list[str]:
    """Code that leaves the rows in which all of these hold."""
    lines: list[str] = []
    for each in filters:
        found = frame.find(each.column)
        if found is None:
            continue
        column = f"{variable}[{literal(found[0])}]"
        match each:
            case ValueFilter(values=values, is_excluded=is_excluded):
                mask = f"{'~' if is_excluded else ''}{column}.isin({code_of(list(values))})"
            case NumberFilter(comparison=comparison, number=number):
                mask = f"{column} {'==' if comparison == '=' else comparison} {_number(number)}"
        words = f"  # {plain(each.words)}" if plain(each.words) else ""
        lines.append(f"{variable} = {variable}[{mask}]{words}")
    return lines


def _number(number: float) -> str:
    return repr(int(number)) if float(number).is_integer() else repr(number)


def filter_words(filters: Sequence[ValueFilter | NumberFilter]) -> str:
    """`in the South, without returns`: as the goal has them."""
    said = [plain(each.words) or _described(each) for each in filters]
    return ", ".join(said)


def _described(each: ValueFilter | NumberFilter) -> str:
    name = label_of(each.column.column)
    if isinstance(each, NumberFilter):
        return f"with {name} {each.comparison} {_number(each.number)}"
    kind = "without" if each.is_excluded else "in"
    return f"{kind} {', '.join(plain(value.strip(), 30) for value in each.values[:2])}"


def filter_columns(filters: Sequence[ValueFilter | NumberFilter], frame: Frame) -> list[str]:
    """Their columns in the frame."""
    return [found[0] for each in filters if (found := frame.find(each.column))]


# ── text of code ──

_HOLE: Final = re.compile(r"<<(\w+)>>")
_FIGURE: Final = re.compile(r"\{FIGURE\(((?:[^()]|\([^()]*\))*)\)\}")


def code_from(template: str, measure: Measure | None = None, /, **holes: str) -> str:
    """The code of a cell: `<<name>>` is filled in, `{FIGURE(x)}` in an f-string becomes a figure of the measure."""
    # Figures first, then every hole in one pass: what comes from a file may look like either.
    code = template.strip()
    code = _FIGURE.sub(lambda found: measure.figure(found[1]), code) if measure else code
    return _HOLE.sub(lambda found: holes.get(found[1], found[0]), code)


def said(words: str, longest: int = 80) -> str:
    """Words of a file or of a goal inside an f-string in double quotes."""
    printable = plain(words, longest).replace("\\", "/").replace('"', "”")
    return printable.replace("{", "{{").replace("}", "}}")


def start(words: str) -> str:
    """The same at the beginning of a sentence."""
    return capital(said(words))
