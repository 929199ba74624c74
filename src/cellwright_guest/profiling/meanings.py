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
    if distinct == 1 and count > 1 and typed.kind not in ("empty", "nested"):
        return ColumnMeaning(meaning="constant", why="it has one value only", unit=unit)
    if count and typed.kind in ("integer", "number"):
        return _of_numbers(typed, counts, words, unit, position)
    if count and typed.kind == "text":
        return _of_text(typed, counts, words, texts, position)
    return _first(
        (count == 0 or typed.kind in ("empty", "nested"), "unknown", ""),
        (typed.kind in ("date", "datetime"), "date", "its values are dates"),
        (typed.kind == "boolean", "flag", "its values are yes or no"),
        (True, "measure", "times of day"),
    )


def _first(*rules: tuple[object, Meaning, str]) -> ColumnMeaning:
    """What the first rule that holds says."""
    return next(ColumnMeaning(meaning=meaning, why=why) for holds, meaning, why in rules if holds)


# ── numbers ──


def _of_numbers(typed: TypedColumn, counts: Codes, words: list[str], unit: str, position: int) -> ColumnMeaning:
    assert typed.values is not None
    values = typed.values[np.flatnonzero(counts)]
    known = values[np.isfinite(values)]
    whole = typed.kind == "integer"
    if unit:
        money = unit in CURRENCY_CODES or unit in CURRENCY_SIGNS.values()
        return ColumnMeaning(meaning="currency" if money else "measure", why=f"its unit is {unit}", unit=unit)
    if moment := _moment(known, words) if whole and not set(words) & (_ID_WORDS | _CODE_WORDS) else None:
        return moment
    count, distinct, span = int(counts.sum()), len(known), float(np.ptp(known)) if len(known) else 0.0
    is_numbered, is_many = bool(set(words) & _NUMBER_WORDS), count >= 5 and distinct >= 0.9 * count
    is_group = set(words) & _GROUP_WORDS and distinct <= 60 and count >= 3 * distinct
    numbers_rows = is_many and distinct == count == span + 1 and (position == 0 or is_numbered)
    return _first(
        (distinct == 2 and set(known) == {0.0, 1.0}, "flag", "its values are 0 and 1"),
        (whole and set(words) & _ID_WORDS, "id", "its name says so"),
        (whole and set(words) & _CODE_WORDS, "code", "its name says so"),
        (set(words) & _MONEY_WORDS, "currency", "its name speaks of money"),
        (whole and numbers_rows, "id", "it numbers the rows"),
        (whole and is_many and is_numbered and words[-1] in _NUMBER_WORDS, "id", "a number that hardly repeats"),
        (whole and is_group, "category", "few whole numbers that repeat"),
        (True, "measure", "numbers that vary"),
    )


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


# ── text ──


def _of_text(typed: TypedColumn, counts: Codes, words: list[str], texts: Texts | None, position: int) -> ColumnMeaning:
    count, distinct = int(counts.sum()), int((counts > 0).sum())
    mean_words = texts.mean_words if texts else 0.0
    mean_length = texts.mean_length if texts else 0.0
    repeats = count / distinct if distinct else 0.0
    is_few = (distinct <= 50 and repeats >= 1.5) or repeats >= 5
    is_id = distinct >= 0.9 * count and count >= 5 and _has_pattern(typed, counts)
    return _first(
        (set(words) & _CODE_WORDS and mean_words <= 4 and mean_length <= 40, "code", "its name says so"),
        (set(words) & _ID_WORDS and mean_words < 2, "id", "its name says so"),
        (typed.has_leading_zeros, "code", "digits with leading zeros"),
        (is_id, "id", "one pattern of letters and digits, hardly ever repeated"),
        (is_few and mean_words < 8, "category", f"{distinct:,} values that repeat"),
        (distinct == count and mean_words <= 3 and position == 0, "id", "a different short text in each row"),
        (mean_words >= 3 or mean_length > 40, "text", "words of people"),
        (repeats >= 2, "category", f"{distinct:,} values that repeat"),
        (True, "text", "text that hardly repeats"),
    )


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
