"""How the lines of a text become fields: delimiter, quotes, and what a field looks like at a glance. Pure guesses."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

_NUMBER: Final = re.compile(
    r"[-+(]?\s?(?:[€$£¥]|[A-Z]{3}|US\$|CHF|Rs\.?)?\s?[-+]?(?:\d{1,3}(?:[ ,.'\u00a0\u202f]\d{3})+|\d+)?(?:[.,]\d+)?"
    r"(?:[eE][-+]?\d+)?\s?(?:[%€$£¥]|[A-Za-z°µ²³/]{1,4})?\)?"
)
_DATE: Final = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?(?:Z|[-+]\d{2}:?\d{2})?)?"
    r"|\d{4}-\d{2}|\d{4}[-/ ]?[QW]\d{1,2}|\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"|\d{1,2}[-. ]?\s?[A-Za-zäé]{3,9}\.?[-. ,]\s?\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
)
_WORD: Final = re.compile(r"[\w.@+#-]{1,40}")
_RULE: Final = re.compile(r"[-=+:_ ]*[-=]{2,}[-=+:_ ]*")
_NULL_WORDS: Final = frozenset(
    {"", "-", "--", "na", "n/a", "nan", "null", "none", "nil", "?", ".", "..", "missing", "#n/a"}
)
_WORDS_OF_BOOLEANS: Final = frozenset({"true", "false", "yes", "no"})


def is_null(cell: str) -> bool:
    """The field is empty, or holds a word for nothing."""
    return cell.strip().lower() in _NULL_WORDS


def is_typed(cell: str) -> bool:
    """The field looks like a number, a date, a time or a yes or no."""
    cell = cell.strip()
    if not cell or len(cell) > 48:
        return False
    if cell.lower() in _WORDS_OF_BOOLEANS:
        return True
    has_digit = any(character.isdigit() for character in cell)
    return has_digit and bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def is_plain(cell: str) -> bool:
    """The field is one value: typed, empty, or one word."""
    return is_null(cell) or is_typed(cell) or bool(_WORD.fullmatch(cell.strip()))


def is_rule(record: Sequence[str]) -> bool:
    """A line drawn with dashes under the names."""
    return any(record) and all(not cell.strip() or _RULE.fullmatch(cell.strip()) for cell in record)


def are_years(cells: Sequence[str]) -> bool:
    """Whole years (or other whole numbers) in even steps: they can be names of columns."""
    numbers = [
        int(cell) for cell in cells if cell.strip().isascii() and cell.strip().isdigit() and len(cell.strip()) <= 4
    ]
    if len(numbers) != len(cells) or len(numbers) < 3:
        return False
    step = numbers[1] - numbers[0]
    return step != 0 and all(after - before == step for before, after in pairwise(numbers))


SPACES: Final = r"\s+"
"""The delimiter of columns that are set apart with runs of spaces, as pandas wants it."""
LONGEST_FIELD: Final = 16 << 20
_DELIMITERS: Final = (",", ";", "\t", "|")
_UNLIKELY: Final = (",", ";", "\t", "|", "\x1f")
_MOST_RECORDS: Final = 300
_FIELD: Final = re.compile(r'"((?:[^"]|"")*)"([^ \t]*)|([^ \t]+)')
_RUN: Final = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How the lines become fields."""

    delimiter: str = ","
    quote: str = '"'
    skips_spaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectGuess:
    """A dialect and how well the text fits it."""

    dialect: Dialect
    records: list[list[str]]
    """The first records, blank ones (empty lists) among them."""
    width: int
    """Fields that most records have."""
    consistency: float
    """Which part of the records have so many."""
    score: float
    bare_returns: frozenset[int] = frozenset()
    """Which of the records are lines that hold a carriage return alone."""


def records(lines: Iterable[str], dialect: Dialect, *, is_strict: bool = False) -> Iterator[list[str]]:
    """The records of a text; a blank line is an empty one.

    Raises `csv.Error` for a field that is too long and, if strict, for text behind a closing quote.
    """
    csv.field_size_limit(LONGEST_FIELD)
    if dialect.delimiter == SPACES:
        return (_split_at_spaces(line, dialect.quote) for line in lines)
    return csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        skipinitialspace=dialect.skips_spaces,
        strict=is_strict,
    )


def is_blank(record: Sequence[str], *, skips_spaces: bool = False) -> bool:
    """Nothing stands on the line: pandas passes it over. An empty field in quotes is something."""
    if len(record) != 1:
        return not record
    return not record[0].strip(" \t") and (record[0] != "" or skips_spaces)


def guess_dialect(head: str, *, is_whole: bool, is_surely_a_table: bool) -> DialectGuess | None:
    """The dialect that fits the beginning of a text best; None: it is no table."""
    guesses = [judge(head, dialect, is_whole) for dialect in _likely(head)]
    best = max(guesses, key=lambda guess: guess.score)
    if best.score < 0.5:
        spaced = judge(head, Dialect(delimiter=SPACES, quote='"' if _has_whole_quotes(head) else ""), is_whole)
        # Words alone, set apart with spaces, are what people write to each other.
        is_prose = not is_surely_a_table and not any(is_typed(cell) for record in spaced.records for cell in record)
        is_even = spaced.consistency > 0.9 and len(_filled(spaced.records)) >= 2
        if is_even and spaced.score > best.score and not is_prose:
            best = best if _is_text_between_delimiters(best, spaced) else spaced
    if best.width > 1 and (best.consistency > 0.6 or (is_surely_a_table and best.score > 0.15)):
        return best if is_surely_a_table or len(_filled(best.records)) >= 2 else None
    return _one_column(head, is_whole) if is_surely_a_table else None


def _is_text_between_delimiters(delimited: DialectGuess, spaced: DialectGuess) -> bool:
    """Spaces stand inside the fields: the names, which the delimiter sets apart too, do not fit them."""
    fits = delimited.width > 1 and delimited.consistency > 0.9 and _fits_from_the_start(delimited)
    return fits and not _fits_from_the_start(spaced)


def _fits_from_the_start(guess: DialectGuess) -> bool:
    return len(_filled(guess.records)[0]) == guess.width


def _likely(head: str) -> Iterator[Dialect]:
    beginning = head[: 1 << 16]
    for mark in _DELIMITERS:
        has_spaces = re.search(rf'{re.escape(mark)} +"', beginning) is not None
        yield Dialect(delimiter=mark, quote='"' if has_spaces else _quote(beginning, mark), skips_spaces=has_spaces)


def _one_column(head: str, is_whole: bool) -> DialectGuess:
    unused = next((mark for mark in _UNLIKELY if mark not in head), ",")
    guess = judge(head, Dialect(delimiter=unused, quote='"'), is_whole)
    return replace(guess, width=1, consistency=1.0, score=0.0)


def judge(head: str, dialect: Dialect, is_whole: bool) -> DialectGuess:
    """How well the beginning of a text fits a dialect."""
    found, returns, lines = list[list[str]](), set[int](), _Lines(head)
    try:
        for record in records(lines, dialect):
            if lines.last == "\r":
                returns.add(len(found))
            found.append([] if is_blank(record, skips_spaces=dialect.skips_spaces) else record)
            if len(found) > _MOST_RECORDS:
                break
    except csv.Error:
        return DialectGuess(dialect=dialect, records=[], width=1, consistency=0.0, score=0.0)
    if len(found) > 1 and (not is_whole or len(found) > _MOST_RECORDS):
        found.pop()
    filled = _filled(found)
    if not filled:
        return DialectGuess(dialect=dialect, records=found, width=1, consistency=0.0, score=0.0)
    # What comes before a table is short: of two widths that are as common, the later one is the table's.
    widths = Counter(len(record) for record in filled)
    last = {len(record): position for position, record in enumerate(filled)}
    width = max(widths, key=lambda width: (widths[width] * (1.5 if width > 1 else 1.0), last[width]))
    body = filled[next(at for at, record in enumerate(filled) if len(record) == width) :]
    consistency = sum(1 for record in body if len(record) == width) / len(body) * min(1.0, 4 * len(body) / len(filled))
    cells = [cell for record in body[:100] for cell in record[:60]]
    plain = sum(1 for cell in cells if is_plain(cell)) / max(1, len(cells))
    score = consistency**2 * (1 - 1 / width) ** 0.5 * (0.4 + 0.6 * plain)
    return DialectGuess(
        dialect=dialect,
        records=found,
        width=width,
        consistency=consistency,
        score=score,
        bare_returns=frozenset(returns),
    )


class _Lines:
    """The lines of a text, of which the last one given can be looked at."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="")
        self.last = ""

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.last = line
            yield line


def _filled(found: Sequence[list[str]]) -> list[list[str]]:
    return [record for record in found if record]


def _quote(head: str, mark: str) -> str:
    """A single quote where fields stand in single quotes and none in double ones."""
    edge = re.escape(mark)
    single = len(re.findall(rf"(?:^|{edge})'[^'\n]*'(?={edge}|\r?$)", head, re.MULTILINE))
    return '"' if single < 3 or re.search(rf'(?:^|{edge})"', head, re.MULTILINE) else "'"


def _has_whole_quotes(head: str) -> bool:
    lines = head.splitlines()[:-1] or [head]
    return '"' in head and all(line.count('"') % 2 == 0 for line in lines)


def _split_at_spaces(line: str, quote: str) -> list[str]:
    line = line.strip(" \t\r\n")
    if not line:
        return []
    if not quote or quote not in line:
        return _RUN.split(line)
    if line.count(quote) % 2:
        raise csv.Error("a quote is not closed on its line")
    return [
        field.group(1).replace('""', '"') + field.group(2) if field.group(1) is not None else field.group(3)
        for field in _FIELD.finditer(line)
    ]
