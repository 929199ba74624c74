"""How variables differ between two states of a notebook: facts before and after → lines for a person, and JSON.

Pure. The facts were said by the notebooks' own processes: every text is cut to its bound and freed of control
characters once more here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from cellwright_guest.report_wire import MOST_COLUMNS, MOST_TEXT, MOST_VARIABLES, ColumnFacts, VariableFacts

Aspect = Literal["type", "shape", "column", "nulls", "range", "values", "value", "unknown"]
"""column: a column or key came or went. values: they differ although all that is told of them is the same.
unknown: one side could not be looked at."""

_MOST_FACTS: Final = 60
_UNCOUNTED: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDiff:
    """One thing about a variable that is another than before."""

    column: str = ""
    """Of which column or key; empty: of the variable."""
    aspect: Aspect
    before: str
    """Empty: there was none."""
    after: str
    """Empty: there is none."""
    is_exact: bool = True
    """False: from a sample of the values."""

    def line(self) -> str:
        """`price: nulls 12 → 0`."""
        where = f"{self.column}: " if self.column else ""
        match self.aspect:
            case "column":
                return f"{where}new, {self.after}" if self.after else f"{where}gone, was {self.before}"
            case "values":
                return f"{where}other values"
            case "unknown":
                return f"{where}not compared: {self.after or self.before}"
            case "nulls" | "range" | "type":
                about = "≈ " if not self.is_exact else ""
                return f"{where}{self.aspect} {about}{self.before or 'none'} → {self.after or 'none'}"
            case "shape" | "value":
                return f"{where}{self.before} → {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableDiff:
    """One variable that is another than before."""

    name: str
    change: Literal["added", "removed", "changed"]
    type: str
    """As it is now; as it was, if it is gone."""
    before: str
    """In a few words; empty: it was not there."""
    after: str
    """In a few words; empty: it is gone."""
    facts: tuple[FactDiff, ...] = ()
    """What differs of a changed one."""
    facts_left: int = 0
    """How many more differences there are."""

    def lines(self) -> tuple[str, ...]:
        """For a person: the variable, and below it what differs."""
        if self.change == "added":
            return (f"{self.name}: new, {self.after}",)
        if self.change == "removed":
            return (f"{self.name}: gone, was {self.before}",)
        more = (f"  … {self.facts_left:,} more differences",) if self.facts_left else ()
        return (f"{self.name}: {self.type}", *(f"  {fact.line()}" for fact in self.facts), *more)

    def sides(self) -> tuple[str, str]:
        """What it was and what it is, only what differs, line by line beside each other."""
        if self.change != "changed":
            return self.before, self.after
        pairs = [_side_lines(fact) for fact in self.facts]
        if self.facts_left:
            pairs.append((f"… {self.facts_left:,} more", f"… {self.facts_left:,} more"))
        return "\n".join(before for before, _ in pairs), "\n".join(after for _, after in pairs)

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def variable_differences(before: Sequence[VariableFacts], after: Sequence[VariableFacts]) -> tuple[VariableDiff, ...]:
    """What is another in `after`, in its order, then what is gone. What is the same is not named."""
    old = {facts.name: facts for facts in before[:MOST_VARIABLES]}
    new = {facts.name: facts for facts in after[:MOST_VARIABLES]}
    found = [_compared(old.get(name), new.get(name)) for name in new | old]
    return tuple(diff for diff in found if diff is not None)


def variable_summary(facts: VariableFacts) -> str:
    """A variable in a few words: `1,000 rows × 3 columns`, `[0 … 99], 500 values, 3 nulls`, `42`."""
    if facts.problem:
        return f"not known: {_clean(facts.problem)}"
    parts = [_shape(facts)] if facts.shape is not None and facts.kind != "text" else []
    if facts.values is not None and facts.kind != "text":
        parts += [_clean(facts.values.type), _nulls(facts.values) + " nulls" if facts.values.nulls else ""]
        parts.append(_range(facts.values))
    if facts.text:
        parts.append(_clean(facts.text))
    return ", ".join(part for part in parts if part) or _clean(facts.type)


def variable_digest(facts: VariableFacts) -> str:
    """The same for the same content; empty where only a sample of it was read, or nothing."""
    columns = [*facts.columns, *([facts.values] if facts.values is not None else [])]
    if facts.problem or facts.columns_left or not all(each.digest and each.is_exact for each in columns):
        return ""
    told = [facts.type, facts.text, *(f"{each.name} {each.type} {each.digest}" for each in columns)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16] if columns else ""


# ── what differs ──


def _compared(old: VariableFacts | None, new: VariableFacts | None) -> VariableDiff | None:
    facts = tuple(_facts(old, new)) if old is not None and new is not None else ()
    shown = new or old
    if shown is None or (old is not None and new is not None and not facts):
        return None
    return VariableDiff(
        name=_clean(shown.name),
        change="added" if old is None else "removed" if new is None else "changed",
        type=_clean(shown.type),
        before="" if old is None else variable_summary(old),
        after="" if new is None else variable_summary(new),
        facts=facts[:_MOST_FACTS],
        facts_left=max(len(facts) - _MOST_FACTS, 0),
    )


def _facts(old: VariableFacts, new: VariableFacts) -> Iterator[FactDiff]:
    if old.problem or new.problem:
        yield FactDiff(aspect="unknown", before=_clean(old.problem), after=_clean(new.problem))
        return
    if old.type != new.type:
        yield FactDiff(aspect="type", before=_clean(old.type), after=_clean(new.type))
    if old.shape != new.shape and old.kind != "text":
        yield FactDiff(aspect="shape", before=_shape(old) or "one value", after=_shape(new) or "one value")
    if old.text != new.text:
        yield FactDiff(aspect="value", before=_clean(old.text), after=_clean(new.text))
    is_same_size = old.shape == new.shape
    if old.values is not None and new.values is not None:
        is_said_by_text = old.kind == "text" and old.text != new.text
        yield from () if is_said_by_text else _column_facts("", old.values, new.values, is_same_size=is_same_size)
    yield from _columns(old, new, is_same_size=is_same_size)


def _columns(old: VariableFacts, new: VariableFacts, *, is_same_size: bool) -> Iterator[FactDiff]:
    had = {column.name: column for column in old.columns[:MOST_COLUMNS]}
    has = {column.name: column for column in new.columns[:MOST_COLUMNS]}
    # A row more or less changes the values of every column: that is said once, by the shape.
    is_same_length = is_same_size or _rows(old) == _rows(new)
    for name, column in has.items():
        if name in had:
            yield from _column_facts(_clean(name), had[name], column, is_same_size=is_same_length)
        elif not old.columns_left:
            yield FactDiff(column=_clean(name), aspect="column", before="", after=_column_summary(column))
    if not new.columns_left:
        for name, column in had.items():
            if name not in has:
                yield FactDiff(column=_clean(name), aspect="column", before=_column_summary(column), after="")


def _column_facts(name: str, old: ColumnFacts, new: ColumnFacts, *, is_same_size: bool) -> Iterator[FactDiff]:
    is_exact = old.is_exact and new.is_exact
    found: list[FactDiff] = []

    def compare(aspect: Aspect, before: str, after: str) -> None:
        if before != after:
            found.append(FactDiff(column=name, aspect=aspect, before=before, after=after, is_exact=is_exact))

    compare("type", _clean(old.type), _clean(new.type))
    compare("nulls", _nulls(old), _nulls(new))
    compare("range", _range(old), _range(new))
    compare("value", _clean(old.text), _clean(new.text))
    yield from found
    is_comparable = is_same_size and old.is_exact == new.is_exact and bool(old.digest) and bool(new.digest)
    if not found and is_comparable and old.digest != new.digest:
        yield FactDiff(column=name, aspect="values", before="", after="", is_exact=is_exact)


# ── in words ──


def _shape(facts: VariableFacts) -> str:
    shape = facts.shape
    if shape is None:
        return ""
    if facts.kind == "dataframe" and len(shape) == 2:
        columns = f"{shape[1]:,} column{'s' * (shape[1] != 1)}"
        return columns if shape[0] == _UNCOUNTED else f"{shape[0]:,} row{'s' * (shape[0] != 1)} × {columns}"
    if len(shape) == 1:
        unit = {"dict": "key", "text": "character", "series": "value", "array": "value"}.get(facts.kind, "item")
        return "" if shape[0] == _UNCOUNTED else f"{shape[0]:,} {unit}{'s' * (shape[0] != 1)}"
    return " × ".join(f"{size:,}" for size in shape[:8])


def _rows(facts: VariableFacts) -> int | None:
    """How many values a column has; entries of a dict are one each."""
    return 1 if facts.kind == "dict" else facts.shape[0] if facts.shape else None


def _nulls(column: ColumnFacts) -> str:
    return "" if column.nulls is None else f"{column.nulls:,}"


def _range(column: ColumnFacts) -> str:
    if not column.smallest and not column.largest:
        return ""
    return f"{_clean(column.smallest)} … {_clean(column.largest)}"


def _column_summary(column: ColumnFacts) -> str:
    nulls = f"{_nulls(column)} nulls" if column.nulls else ""
    about = "" if column.is_exact else "≈ "
    parts = (_clean(column.type), f"{about}{nulls}" if nulls else "", f"{about}{_range(column)}", _clean(column.text))
    return ", ".join(part for part in parts if part.strip("≈ "))


def _side_lines(fact: FactDiff) -> tuple[str, str]:
    where = f"{fact.column}: " if fact.column else ""
    what = f"{fact.aspect} " if fact.aspect in {"nulls", "range", "type"} else ""
    about = "" if fact.is_exact else "≈ "
    if fact.aspect in {"values", "unknown"}:
        return f"{where}{fact.before or 'as it was'}", fact.line()
    return f"{where}{what}{about}{fact.before or 'none'}", f"{where}{what}{about}{fact.after or 'none'}"


def _clean(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text[:MOST_TEXT])
