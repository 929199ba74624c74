"""What a column is for: from its name, its kind, how often its values repeat and how they look."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from cellwright_guest.profiling.numbers import CURRENCY_CODES, CURRENCY_SIGNS, unit_in_name
from cellwright_guest.profiling.records import Meaning, Texts
from cellwright_guest.profiling.typed_column import Codes, TypedColumn, spread

_ID_WORDS: Final = frozenset({"id", "ids", "uuid", "guid", "key", "pk", "rowid", "uid", "oid"})
_NUMBER_WORDS: Final = frozenset(
    {"no", "nr", "num", "number", "nummer", "index", "idx", "row", "code", "ref", "reference"}
)
_CODE_WORDS: Final = frozenset({
    "zip", "zipcode", "plz", "postcode", "postal", "postleitzahl", "ean", "gtin", "isbn", "issn", "sku", "phone", "tel",
    "telefon", "mobile", "fax", "iban", "bic", "fips", "vat", "ssn", "barcode", "icd", "iso",
})  # fmt: skip
_MONEY_WORDS: Final = frozenset({
    "price", "prices", "amount", "revenue", "cost", "costs", "salary", "fee", "fees", "preis", "umsatz", "betrag",
    "kosten", "gehalt", "income", "spend", "spending", "budget", "wage", "wages", "rent", "profit", "payment",
    "balance", "fare", "turnover", "expense", "expenses", "prix", "montant", "precio", "importe", "msrp",
})  # fmt: skip
_GROUP_WORDS: Final = frozenset({
    "class", "klasse", "group", "gruppe", "type", "typ", "category", "kategorie", "level", "grade", "cluster", "month",
    "monat", "weekday", "wochentag", "hour", "quarter", "quartal", "status", "segment", "stage", "pclass", "zone",
    "ward", "district", "store", "shift", "batch", "cohort", "sex", "gender", "season", "day", "tier", "version",
})  # fmt: skip
_YEAR_WORDS: Final = frozenset({"year", "yr", "jahr", "annee", "año", "ano"})
_MOMENT_WORDS: Final = frozenset({
    "time", "timestamp", "ts", "epoch", "date", "datum", "created", "updated", "at", "on", "when", "modified", "zeit",
})  # fmt: skip
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMeaning:
    """What a column is for, and why we think so."""

    meaning: Meaning
    why: str = ""
    unit: str = ""


def words_of(name: str) -> list[str]:
    """`customerID_no` → customer, id, no."""
    spaced = re.sub(r"(?<=[a-zäöüß0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^0-9a-zA-ZÀ-ÿ€$£%°]+", spaced.lower()) if word]


def meaning_of(typed: TypedColumn, *, counts: Codes, texts: Texts | None, position: int) -> ColumnMeaning:
    """The meaning of one column."""
    count, distinct = int(counts.sum()), int((counts > 0).sum())
    unit = typed.unit or (unit_in_name(typed.name) if typed.kind in ("integer", "number") else "")
    words = words_of(typed.name)
    if count == 0 or typed.kind in ("empty", "nested"):
        return ColumnMeaning(meaning="unknown")
    if distinct == 1 and count > 1:
        return ColumnMeaning(meaning="constant", why="it has one value only", unit=unit)
    if typed.kind in ("date", "datetime"):
        return ColumnMeaning(meaning="date", why="its values are dates")
    if typed.kind == "boolean":
        return ColumnMeaning(meaning="flag", why="its values are yes or no")
    if typed.kind in ("integer", "number"):
        return _of_numbers(typed, counts, words, unit, position)
    if typed.kind == "time":
        return ColumnMeaning(meaning="measure", why="times of day")
    return _of_text(typed, counts, words, texts, position)


# ── numbers ──


def _of_numbers(typed: TypedColumn, counts: Codes, words: list[str], unit: str, position: int) -> ColumnMeaning:
    assert typed.values is not None
    there = np.flatnonzero(counts)
    values = typed.values[there]
    known = values[np.isfinite(values)]
    whole = typed.kind == "integer"
    if unit:
        money = unit in CURRENCY_CODES or unit in CURRENCY_SIGNS.values()
        return ColumnMeaning(meaning="currency" if money else "measure", why=f"its unit is {unit}", unit=unit)
    if len(known) == 2 and set(known) == {0.0, 1.0}:
        return ColumnMeaning(meaning="flag", why="its values are 0 and 1")
    if whole and set(words) & _ID_WORDS:
        return ColumnMeaning(meaning="id", why="its name says so")
    if whole and set(words) & _CODE_WORDS:
        return ColumnMeaning(meaning="code", why="its name says so")
    moment = _moment(known, words) if whole else None
    if moment is not None:
        return moment
    if set(words) & _MONEY_WORDS:
        return ColumnMeaning(meaning="currency", why="its name speaks of money")
    if whole:
        return _of_integers(known, int(counts.sum()), words, position)
    return ColumnMeaning(meaning="measure", why="numbers that vary")


def _moment(known: np.ndarray[tuple[int], np.dtype[np.float64]], words: list[str]) -> ColumnMeaning | None:
    """Whole numbers that stand for a time: years, seconds or milliseconds since 1970, days of a spreadsheet."""
    if not len(known):
        return None
    least, greatest = float(known.min()), float(known.max())
    if set(words) & _YEAR_WORDS and float(((known >= 1500) & (known <= 2200)).mean()) >= 0.9:
        of_rows = "category" if len(known) <= 12 else "date"
        return ColumnMeaning(meaning="measure" if set(words) - _YEAR_WORDS else of_rows, why="years", unit="year")
    if not set(words) & _MOMENT_WORDS:
        return None
    for scale, why in ((1.0, "seconds since 1970"), (1e3, "milliseconds since 1970"), (1e6, "microseconds since 1970")):
        if 3e8 * scale <= least and greatest <= 4.2e9 * scale:
            return ColumnMeaning(meaning="date", why=f"its values look like {why}", unit=why)
    if least >= 18_000 and greatest <= 80_000 and "date" in words:
        return ColumnMeaning(
            meaning="date", why="its values look like the days a spreadsheet counts", unit="days since 1899-12-30"
        )
    return None


def _of_integers(
    known: np.ndarray[tuple[int], np.dtype[np.float64]], count: int, words: list[str], position: int
) -> ColumnMeaning:
    distinct = len(known)
    span = float(known.max() - known.min()) if distinct else 0.0
    is_numbered = set(words) & _NUMBER_WORDS
    if distinct == count and count >= 5 and span == count - 1 and (position == 0 or is_numbered):
        return ColumnMeaning(meaning="id", why="it numbers the rows")
    if is_numbered and distinct >= 0.9 * count and count >= 5 and words[-1] in _NUMBER_WORDS:
        return ColumnMeaning(meaning="id", why="a number that hardly repeats")
    if set(words) & _GROUP_WORDS and distinct <= 60 and count >= 3 * distinct:
        return ColumnMeaning(meaning="category", why="few whole numbers that repeat")
    return ColumnMeaning(meaning="measure", why="numbers that vary")


# ── text ──


def _of_text(typed: TypedColumn, counts: Codes, words: list[str], texts: Texts | None, position: int) -> ColumnMeaning:
    count, distinct = int(counts.sum()), int((counts > 0).sum())
    mean_words = texts.mean_words if texts else 0.0
    mean_length = texts.mean_length if texts else 0.0
    if set(words) & _CODE_WORDS and mean_words <= 4 and mean_length <= 40:
        return ColumnMeaning(meaning="code", why="its name says so")
    if set(words) & _ID_WORDS and mean_words < 2:
        return ColumnMeaning(meaning="id", why="its name says so")
    if typed.has_leading_zeros:
        return ColumnMeaning(meaning="code", why="digits with leading zeros")
    if _has_pattern(typed, counts) and distinct >= 0.9 * count and count >= 5:
        return ColumnMeaning(meaning="id", why="one pattern of letters and digits, hardly ever repeated")
    repeats = count / distinct if distinct else 0.0
    is_few = (distinct <= 50 and repeats >= 1.5) or repeats >= 5
    if is_few and mean_words < 8:
        return ColumnMeaning(meaning="category", why=f"{distinct:,} values that repeat")
    if distinct == count and mean_words <= 3 and position == 0:
        return ColumnMeaning(meaning="id", why="a different short text in each row")
    if mean_words >= 3 or mean_length > 40:
        return ColumnMeaning(meaning="text", why="words of people")
    if repeats >= 2:
        return ColumnMeaning(meaning="category", why=f"{distinct:,} values that repeat")
    return ColumnMeaning(meaning="text", why="text that hardly repeats")


def _has_pattern(typed: TypedColumn, counts: Codes) -> bool:
    """UUIDs, `INV-00123`: no spaces, digits in it, nearly always the same shape."""
    there = np.flatnonzero(counts)
    some = [typed.text(code).strip() for code in there[spread(len(there), 200)]]
    if all(_UUID.fullmatch(text) for text in some):
        return True
    if any(" " in text or len(text) > 40 for text in some):
        return False
    with_digits = sum(any(letter.isdigit() for letter in text) for text in some)
    shapes = {re.sub(r"\d+", "9", re.sub("[A-Za-z]+", "a", text)) for text in some}
    return with_digits == len(some) and (len(shapes) <= 2 or len({len(text) for text in some}) == 1)
