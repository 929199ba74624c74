"""Whether a value is what its quote says: of the right type, and in the quote itself. Pure."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, assert_never

from cellwright.runs.goal.extraction_order import FieldType

Value = str | int | float | bool | None
ValueMark = Literal["ok", "missing", "no-quote", "not-in-quote", "wrong-type", "no-choice", "several", "differs"]
"""missing: nothing was said. no-quote: the quote does not stand in the document. differs: two readings disagree.

several: it is borne out, and the document says others as well."""
BORNE_OUT: Final[frozenset[ValueMark]] = frozenset({"ok", "several"})
MARK_WORDS: Final[dict[ValueMark, str]] = {
    "ok": "",
    "missing": "not found",
    "no-quote": "refused: its quote does not stand in the document",
    "not-in-quote": "refused: its quote does not say it",
    "wrong-type": "refused: it is not of the field's type",
    "no-choice": "refused: it is none of the choices",
    "several": "one of several that the document says",
    "differs": "two readings differ",
}
_NUMBER: Final = re.compile(r"[-+−–]?\s?\d(?:[\d.,'’\u00a0\u202f ]*\d)?")
_ENGLISH: Final = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d+)(?:\.\d+)?")
_GERMAN: Final = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?")
"""Half the world groups by commas, the other half by points; India by two digits."""
_SCALES: Final[dict[str, int]] = {
    "k": 10**3, "thousand": 10**3, "tausend": 10**3, "mille": 10**3, "mil": 10**3, "tsd": 10**3, "million": 10**6,
    "millions": 10**6, "millionen": 10**6, "mio": 10**6, "mn": 10**6, "m": 10**6, "billion": 10**9, "billions": 10**9,
    "milliarden": 10**9, "milliards": 10**9, "mrd": 10**9, "bn": 10**9,
}  # fmt: skip
_MONTHS: Final = (
    ("jan", "jän", "ene", "gen", "janv"), ("feb", "fév", "fev"), ("mar", "mär", "mrz"), ("apr", "avr", "abr"),
    ("may", "mai", "mag"), ("jun", "juin", "giu"), ("jul", "juil", "lug"), ("aug", "aoû", "aou", "ago"),
    ("sep", "set"), ("oct", "okt", "ott"), ("nov",), ("dec", "dez", "déc", "dic"),
)  # fmt: skip


def typed_value(said: str, kind: FieldType) -> Value:
    """The value of a field that a model wrote as text; None if it is none of this type."""
    text = " ".join(said.split())
    match kind:
        case "text":
            return text or None
        case "number" | "integer":
            number = _decimal(text)
            if number is None or (kind == "integer" and number != number.to_integral_value()):
                return None
            return int(number) if kind == "integer" else float(number)
        case "date":
            try:
                return date.fromisoformat(text[:10]).isoformat()
            except ValueError:
                return None
        case "boolean":
            return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower())
        case other:
            assert_never(other)


def is_said(value: Value, kind: FieldType, quote: str) -> bool:
    """Whether a quote says the value: the same number, the same day, the same words."""
    match kind:
        case "text":
            return _words(str(value)) != [] and _holds(_words(quote), _words(str(value)))
        case "number" | "integer":
            wanted = Decimal(str(value))
            return any(abs(each) == abs(wanted) and _same_sign(each, wanted, quote) for each in numbers_in(quote))
        case "date":
            return _says_date(date.fromisoformat(str(value)), quote)
        case "boolean":
            # What makes it true is said in words that only a reader can judge.
            return True
        case other:
            assert_never(other)


def numbers_in(text: str) -> tuple[Decimal, ...]:
    """Every number a text may mean: `1.234,50` and `1,234.50` are both 1234.50, `1.234` is one of two."""
    found = list[Decimal]()
    for match in _NUMBER.finditer(text):
        word = re.match(r"\s*([A-Za-z]+)", text[match.end() :])
        scale = _SCALES.get(word[1].lower(), 1) if word else 1
        for each in _meanings(match[0]):
            found += [each] if scale == 1 else [each, each * scale]
    return tuple(dict.fromkeys(found))


def _meanings(text: str) -> list[Decimal]:
    plain = re.sub(r"[\s'’\u00a0\u202f]", "", text).replace("−", "-").replace("–", "-")
    candidates = set[str]()
    if _ENGLISH.fullmatch(plain):
        candidates.add(plain.replace(",", ""))
    if _GERMAN.fullmatch(plain):
        candidates.add(plain.replace(".", "").replace(",", "."))
    # `1 200` may be one number or two that stand side by side.
    candidates |= set(re.split(r"\s", text)) if re.search(r"\s", text) else set()
    found = (_decimal(each) for each in sorted(candidates))
    return [each for each in found if each is not None]


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text.replace("_", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < Decimal(10) ** 30 else None


def _same_sign(found: Decimal, wanted: Decimal, quote: str) -> bool:
    """A minus may be a dash before a price, and brackets or `CR` may be a minus: only what says none is refused."""
    if (found < 0) == (wanted < 0) or wanted == 0:
        return True
    return wanted > 0 or "(" in quote or "-" in quote or "−" in quote


def _says_date(day: date, quote: str) -> bool:
    digits = [int(each) for each in re.findall(r"\d+", quote)[:200] if len(each) <= 8]
    if int(day.strftime("%Y%m%d")) in digits:
        return True
    words = [word.lower() for word in re.findall(r"[^\W\d_]{3,}", quote)]
    has_month = day.month in digits or any(word.startswith(_MONTHS[day.month - 1]) for word in words)
    has_year = day.year in digits or day.year % 100 in digits
    return has_month and has_year and day.day in digits


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _holds(words: list[str], wanted: list[str]) -> bool:
    """Whether the wanted words stand in a row there."""
    size = len(wanted)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))
