"""What models said of a document, held against the document: rows whose every value has its evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cellwright.documents.document import Document
from cellwright.documents.quotes import find_quote
from cellwright.runs.extract.values import BORNE_OUT, MARK_WORDS, Value, ValueMark, is_said, typed_value
from cellwright.runs.goal.extraction_order import ExtractedField


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidValue:
    """What a model said of one field."""

    value: str
    quote: str
    page: int = 0
    several: bool = False
    """The document says others for this field as well."""


SaidRow = dict[str, SaidValue | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedValue:
    """A value with its evidence, or why there is none."""

    field: str
    value: Value
    """None unless it is borne out."""
    mark: ValueMark
    said: str = ""
    """What was said, in the model's words."""
    quote: str = ""
    page: int = 0
    start: int = 0
    """Where the quote stands, in characters of its page."""
    end: int = 0
    other: str = ""
    """What another reading said, where they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedRow:
    """One entry of a document."""

    values: tuple[ExtractedValue, ...]
    """One for each field, in the order of the fields."""

    @property
    def marks(self) -> str:
        """What is to be known about it, in words; empty: every value is borne out."""
        return "; ".join(f"{each.field}: {MARK_WORDS[each.mark]}" for each in self.values if each.mark != "ok")

    @property
    def borne_out(self) -> int:
        """How many of its values have their evidence."""
        return sum(each.mark in BORNE_OUT for each in self.values)


def checked_row(said: SaidRow, fields: Sequence[ExtractedField], document: Document) -> ExtractedRow:
    """A row as it is borne out by the document."""
    return ExtractedRow(values=tuple(_checked(said.get(field.name), field, document) for field in fields))


def _checked(said: SaidValue | None, field: ExtractedField, document: Document) -> ExtractedValue:
    if said is None or not said.value.strip():
        return ExtractedValue(field=field.name, value=None, mark="missing")
    found = ExtractedValue(
        field=field.name, value=None, mark="wrong-type", said=said.value[:500], quote=said.quote[:2_000]
    )
    value = typed_value(said.value, field.type)
    if field.choices:
        value = next((each for each in field.choices if each.casefold() == str(value).casefold()), None)
        found = replace(found, mark="no-choice")
    if value is None:
        return found
    place = find_quote(document, said.quote, said.page)
    if place is None:
        return replace(found, mark="no-quote")
    found = replace(found, page=place.page, start=place.start, end=place.end)
    page = document.page(place.page)
    stands = "" if page is None else page.text[place.start : place.end]
    # What makes it one of the choices is said in words that only a reader can judge.
    if not field.choices and not is_said(value, field.type, stands):
        return replace(found, mark="not-in-quote")
    return replace(found, value=value, mark="several" if said.several else "ok")


def is_empty(row: ExtractedRow) -> bool:
    """Whether nothing was said at all."""
    return all(each.mark == "missing" for each in row.values)


def joined_parts(parts: Sequence[ExtractedRow]) -> ExtractedRow | None:
    """One row of a document that was read in parts: what the first part that has a value says; others are told."""
    told = [row for row in parts if not is_empty(row)]
    if not told:
        return parts[0] if parts else None
    columns = zip(*(row.values for row in told), strict=True)
    return ExtractedRow(values=tuple(_best(column) for column in columns))


def _best(values: Sequence[ExtractedValue]) -> ExtractedValue:
    good = [each for each in values if each.mark in BORNE_OUT]
    if not good:
        return next((each for each in values if each.mark != "missing"), values[0])
    other = next((each for each in good if each.value != good[0].value), None)
    return good[0] if other is None else _differing(good[0], other)


def compared(first: Sequence[ExtractedRow], second: Sequence[ExtractedRow]) -> tuple[ExtractedRow, ...]:
    """The rows of two readings as one: what they disagree about is marked, and left empty."""
    left, rows = list(second), list[ExtractedRow]()
    for row in first:
        best = max(left, key=lambda candidate: _alike(row, candidate), default=None)
        if best is None or (not _alike(row, best) and len(first) != len(second)):
            rows.append(ExtractedRow(values=tuple(_alone(each) for each in row.values)))
            continue
        left.remove(best)
        pairs = zip(row.values, best.values, strict=True)
        rows.append(ExtractedRow(values=tuple(_agreed(one, other) for one, other in pairs)))
    return (*rows, *(ExtractedRow(values=tuple(_alone(each) for each in row.values)) for row in left))


def _alike(one: ExtractedRow, other: ExtractedRow) -> int:
    pairs = zip(one.values, other.values, strict=True)
    return sum({a.mark, b.mark} <= BORNE_OUT and a.value == b.value for a, b in pairs)


def _agreed(one: ExtractedValue, other: ExtractedValue) -> ExtractedValue:
    if {one.mark, other.mark} <= BORNE_OUT:
        marked = one if one.mark == "several" else other
        return replace(one, mark=marked.mark) if _same(one.value, other.value) else _differing(one, other)
    if one.mark == other.mark:
        return one
    # One reading has it and the other does not: a disagreement too.
    return _differing(*((one, other) if one.mark in BORNE_OUT or other.mark == "missing" else (other, one)))


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().strip(" .") == other.casefold().strip(" .")
    return one == other


def _differing(one: ExtractedValue, other: ExtractedValue) -> ExtractedValue:
    return replace(one, value=None, mark="differs", other=other.said or "nothing")


def _alone(value: ExtractedValue) -> ExtractedValue:
    """Of a row that only one of two readings has."""
    return value if value.mark == "missing" else replace(value, value=None, mark="differs", other="no such row")
