"""Numbers out of text: points and commas, thousands, currencies, percent, units of measure, brackets for minus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cellwright_guest.profiling.records import Conversion
from cellwright_guest.profiling.typed_column import Codes, Floats, Mask, compute, spread

CURRENCY_SIGNS: Final = {
    "€": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₺": "TRY", "₩": "KRW",
    "zł": "PLN", "Kč": "CZK", "kr": "kr", "Fr.": "CHF", "SFr.": "CHF", "R$": "BRL", "C$": "CAD", "A$": "AUD",
}  # fmt: skip
CURRENCY_CODES: Final = frozenset({
    "EUR", "USD", "GBP", "JPY", "CHF", "INR", "CNY", "RUB", "TRY", "PLN", "CZK", "SEK", "NOK", "DKK", "HUF", "BRL",
    "CAD", "AUD", "NZD", "MXN", "ZAR", "KRW", "SGD", "HKD", "ILS",
})  # fmt: skip
_FACTORS: Final[dict[str, tuple[str, float]]] = {
    "mg": ("mass", 1e-6), "g": ("mass", 1e-3), "kg": ("mass", 1.0), "t": ("mass", 1e3),
    "lb": ("mass", 0.45359237), "lbs": ("mass", 0.45359237), "oz": ("mass", 0.028349523125),
    "mm": ("length", 1e-3), "cm": ("length", 1e-2), "m": ("length", 1.0), "km": ("length", 1e3),
    "in": ("length", 0.0254), "inch": ("length", 0.0254), "ft": ("length", 0.3048), "yd": ("length", 0.9144),
    "mi": ("length", 1609.344), "miles": ("length", 1609.344),
    "ml": ("volume", 1e-3), "cl": ("volume", 1e-2), "l": ("volume", 1.0), "gal": ("volume", 3.785411784),
    "ms": ("time", 1e-3), "s": ("time", 1.0), "sec": ("time", 1.0), "min": ("time", 60.0), "h": ("time", 3600.0),
    "hrs": ("time", 3600.0), "hours": ("time", 3600.0), "days": ("time", 86400.0),
    "m²": ("area", 1.0), "m2": ("area", 1.0), "sqm": ("area", 1.0), "km²": ("area", 1e6), "km2": ("area", 1e6),
    "ha": ("area", 1e4), "sqft": ("area", 0.09290304),
    "w": ("power", 1.0), "kw": ("power", 1e3), "mw": ("power", 1e6), "kwh": ("energy", 1.0), "mwh": ("energy", 1e3),
    "b": ("bytes", 1.0), "kb": ("bytes", 1e3), "mb": ("bytes", 1e6), "gb": ("bytes", 1e9),
}  # fmt: skip
_OTHERS: Final = frozenset({
    "°c", "°f", "°k", "°", "km/h", "mph", "m/s", "pa", "hpa", "kpa", "bar", "psi", "v", "a", "ma", "hz", "khz", "mhz",
    "ghz", "bpm", "kcal", "cal", "kj", "j", "ppm", "ppb", "db", "lux", "ph", "mmol/l", "mg/dl", "mg/l", "µg", "µg/m³",
    "ug/m3", "m³", "m3", "pcs", "stk", "stück", "%", "‰", "years", "yrs",
})  # fmt: skip
_IN_NAMES: Final = frozenset({"celsius", "fahrenheit", "percent", "pct", "degc", "degf", "usd", "eur", "gbp", "chf"})
_NAMED: Final = {"celsius": "°C", "fahrenheit": "°F", "percent": "%", "pct": "%", "degc": "°C", "degf": "°F"}
_NOT_BARE: Final = frozenset({"in", "a", "b", "v", "j", "w", "°", "ph", "cal", "bar", "t", "days", "years", "ma", "mi"})
_BRACKETS: Final = re.compile(r"[\[(]\s*(?:in\s+)?([^\])]{1,12}?)\s*[\])]\s*$")


def currency_of(affix: str) -> str:
    """`EUR` of `€` or `eur`; empty: no currency."""
    bare = affix.strip()
    if bare in CURRENCY_SIGNS:
        return CURRENCY_SIGNS[bare]
    return bare.upper() if bare.upper() in CURRENCY_CODES else ""


def is_unit(affix: str) -> bool:
    """Whether it is a unit, a currency or a percent sign."""
    bare = affix.strip()
    return bool(currency_of(bare)) or bare.lower() in _FACTORS or bare.lower() in _OTHERS


def factor_between(other: str, unit: str) -> float:
    """What turns a quantity of `other` into one of `unit`; 0: not known."""
    if currency_of(other) and currency_of(other) == currency_of(unit):
        return 1.0
    left, right = _FACTORS.get(other.strip().lower()), _FACTORS.get(unit.strip().lower())
    if left is None or right is None or left[0] != right[0]:
        return 0.0
    return left[1] / right[1]


def unit_in_name(name: str) -> str:
    """`kg` of `weight_kg`, `EUR` of `Price (EUR)`, `°C` of `temp °C`; empty: none."""
    bracketed = _BRACKETS.search(name)
    if bracketed:
        inside = bracketed[1].strip()
        return _spelled(inside) if is_unit(inside) or inside.lower() in _IN_NAMES else ""
    words = [word for word in re.split(r"[_\s.]+", name.strip()) if word]
    last = words[-1] if len(words) > 1 else ""
    if last.lower() in _NOT_BARE or not last:
        return ""
    return _spelled(last) if is_unit(last) or last.lower() in _IN_NAMES else ""


def _spelled(unit: str) -> str:
    return currency_of(unit) or _NAMED.get(unit.lower(), unit)


_PLAIN: Final = r"^[-+]?(?:(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?|(?i:inf|infinity))$"
_SPACES: Final = " \u00a0\u2009\u202f"
_APOSTROPHES: Final = "'’"
_BODY: Final = rf"[0-9][0-9.,{_APOSTROPHES}{_SPACES}]*|[.,][0-9]+"
_MOST_TRIED: Final = 600
_MOST_AFFIXES: Final = 4
_Matched = tuple[re.Match[str], int]
"""How a text is written, and in how many rows."""
_SIGNS: Final = "|".join(
    re.escape(sign) for sign in sorted({*CURRENCY_SIGNS, *CURRENCY_CODES}, key=lambda sign: (-len(sign), sign))
)
_SHAPE: Final = re.compile(
    rf"^(?P<open>\()?\s*[-+−]?\s*(?P<prefix>(?:{_SIGNS})\s*)?[-+−]?\s*(?P<body>{_BODY})(?:[eE][-+]?[0-9]{{1,3}})?"
    rf"(?P<suffix>\s*[^\s0-9.,()'+−-][^0-9()]{{0,15}}?)?\s*(?P<close>\))?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """How the digits of a number are written."""

    decimal: str
    thousands: str
    """Any of these characters; empty: none."""

    def pattern(self) -> str:
        """What a number without sign and unit looks like."""
        point = re.escape(self.decimal)
        plain = rf"[0-9]{{1,40}}(?:{point}[0-9]{{0,40}})?|{point}[0-9]{{1,40}}"
        if not self.thousands:
            return plain
        return rf"[1-9][0-9]{{0,2}}(?:[{self.thousands}][0-9]{{3}})+(?:{point}[0-9]{{0,40}})?|{plain}"


_DIALECTS: Final = tuple(
    NumberFormat(decimal=decimal, thousands=thousands)
    for decimal, thousands in (
        (".", ""), (".", ","), (",", ""), (",", "."),
        (".", _SPACES), (",", _SPACES), (".", _APOSTROPHES), (",", _APOSTROPHES),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberText:
    """Texts read as numbers."""

    values: Floats
    """Not-a-number where the text is none."""
    fits: Mask
    conversion: Conversion
    unit: str = ""
    has_decimals: bool = False
    is_ambiguous: bool = False
    """`1.234` may be a thousand or one: nothing in the column decides it."""
    is_plain: bool = False
    """Every one that fits is written as Python writes numbers."""
    units: tuple[tuple[str, int], ...] = ()
    """Units that stand behind or before the numbers, with how many rows have them; the commonest first."""


def read_numbers(texts: Any, counts: Codes, *, has_decimal_comma: bool = False) -> NumberText | None:
    """The texts (trimmed, a pyarrow array) as numbers; None where hardly any is one."""
    plain = as_mask(compute.match_substring_regex(texts, _PLAIN))
    tried = _tried(plain)
    sample = texts.take(pa.array(tried)).to_pylist()
    if not has_decimal_comma and plain.all():
        return _plain_numbers(texts, plain, sample)
    shapes = [_SHAPE.match(text) if len(text) < 80 else None for text in sample]
    matched = [(shape, int(counts[index])) for shape, index in zip(shapes, tried, strict=True) if shape]
    if len(matched) * 5 < len(sample) and not plain.any():
        return None
    if not matched:
        return _plain_numbers(texts, plain, sample)
    return _apply(texts, counts, matched, *_choose_dialect(matched, has_decimal_comma))


def as_mask(answers: Any) -> Mask:
    """A pyarrow array of booleans as numpy's."""
    return compute.fill_null(answers, False).to_numpy(zero_copy_only=False).astype(bool)


def _tried(plain: Mask) -> Codes:
    """Places to look at closely: of those that are no plain numbers more than of those that are."""
    odd, even = np.flatnonzero(~plain), np.flatnonzero(plain)
    return np.sort(np.concatenate([odd[spread(len(odd), _MOST_TRIED)], even[spread(len(even), 200)]])).astype(np.int64)


def _plain_numbers(texts: Any, plain: Mask, sample: Sequence[str]) -> NumberText | None:
    if not plain.any():
        return None
    values = np.full(len(texts), np.nan)
    kept = texts if plain.all() else texts.filter(pa.array(plain))
    values[plain] = compute.cast(kept, pa.float64()).to_numpy(zero_copy_only=False)
    has_decimals = bool(as_mask(compute.match_substring(kept, ".")).any())
    return NumberText(
        values=values,
        fits=plain,
        conversion=Conversion(kind="number"),
        has_decimals=has_decimals,
        is_plain=True,
        is_ambiguous=has_decimals and all(re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})*", text) for text in sample),
    )


def _affixes(matched: Sequence[_Matched]) -> tuple[list[str], list[str]]:
    """What stands before the numbers and what behind them, the commonest first, a few of each.

    Behind them: units that are known, or few words that follow nearly every number with a space between.
    """
    prefixes, suffixes = Counter[str](), Counter[str]()
    for shape, count in matched:
        prefixes[(shape["prefix"] or "").strip()] += count
        spaces = " " if shape["body"][-1].isspace() else ""
        suffixes[(spaces + shape["suffix"]).rstrip() if shape["suffix"] else ""] += count
    ranked = _ranked(suffixes)
    sound = [suffix for suffix in ranked if is_unit(suffix)]
    words = [suffix for suffix in ranked if not is_unit(suffix) and suffix[0].isspace()]
    if not sound and 0 < len(words) <= 2 and sum(suffixes[word] for word in words) >= 0.9 * suffixes.total():
        sound = words
    behind = dict.fromkeys(suffix.strip() for suffix in sound[:_MOST_AFFIXES])
    return _ranked(prefixes)[:_MOST_AFFIXES], list(behind)


def _ranked(counter: Counter[str]) -> list[str]:
    return [text for text in sorted(counter, key=lambda text: (-counter[text], text)) if text]


def _choose_dialect(matched: Sequence[_Matched], has_decimal_comma: bool) -> tuple[NumberFormat, bool]:
    """The way of writing that fits most bodies; of equals the plainest."""
    bodies = Counter[str]()
    for shape, count in matched:
        bodies[shape["body"].strip(_SPACES)] += count
    patterns = [dialect.pattern() for dialect in _DIALECTS]
    fitting = [sum(count for body, count in bodies.items() if re.fullmatch(pattern, body)) for pattern in patterns]
    best = max(fitting)
    equals = [dialect for dialect, count in zip(_DIALECTS, fitting, strict=True) if count == best]
    chosen = equals[0]
    has_marks = any(not body.isdigit() for body in bodies)
    grouped = [dialect for dialect in equals if dialect.thousands == "."]
    if has_marks and chosen.decimal == "." and not chosen.thousands and grouped and has_decimal_comma:
        return grouped[0], True
    is_ambiguous = has_marks and len({dialect.decimal for dialect in equals}) > 1
    return chosen, is_ambiguous


def _apply(
    texts: Any, counts: Codes, matched: Sequence[_Matched], dialect: NumberFormat, is_ambiguous: bool
) -> NumberText | None:
    prefixes, suffixes = _affixes(matched)
    parts = compute.extract_regex(texts, _extraction(prefixes, suffixes, dialect))
    fits = as_mask(compute.is_valid(parts))
    if not fits.any():
        return None
    bodies = compute.struct_field(parts, "body")
    for mark in dialect.thousands:
        bodies = compute.replace_substring(bodies, mark, "")
    if dialect.decimal != ".":
        bodies = compute.replace_substring(bodies, dialect.decimal, ".")
    numbers = compute.binary_join_element_wise(bodies, compute.struct_field(parts, "exponent"), "")
    values = compute.cast(numbers, pa.float64()).to_numpy(zero_copy_only=False).astype(float)
    signs = [compute.struct_field(parts, part) for part in ("sign", "inner", "open")]
    minus = np.logical_or.reduce([as_mask(compute.is_in(sign, value_set=pa.array(["-", "−", "("]))) for sign in signs])
    prefix, suffix = next(iter(prefixes), ""), next(iter(suffixes), "")
    unit = currency_of(prefix) or currency_of(suffix) or suffix
    conversion = Conversion(
        kind="number",
        decimal=dialect.decimal,
        thousands=_commonest_mark(texts, dialect.thousands),
        prefix=prefix,
        suffix=suffix,
        scale=0.01 if suffix == "%" else 1.0,
        has_parentheses=any(shape["open"] and shape["close"] for shape, _ in matched),
        other_suffixes=tuple((other, factor_between(other, suffix)) for other in suffixes[1:]),
    )
    return NumberText(
        values=_in_one_unit(np.where(minus, -values, values), parts, conversion, prefixes) * conversion.scale,
        fits=fits,
        conversion=conversion,
        unit="" if unit == "%" else unit,
        has_decimals=bool(as_mask(compute.match_substring(bodies, ".")).any()),
        is_ambiguous=is_ambiguous,
        units=_units(parts, counts, fits),
    )


def _extraction(prefixes: Sequence[str], suffixes: Sequence[str], dialect: NumberFormat) -> str:
    """One expression that takes a number of this way of writing apart."""
    before, behind = "|".join(map(re.escape, prefixes)), "|".join(map(re.escape, suffixes))
    return (
        rf"^(?P<open>\(?)\s*(?P<sign>[-+−]?)\s*(?P<prefix>(?:{before})?)\s*(?P<inner>[-+−]?)\s*"
        rf"(?P<body>{dialect.pattern()})(?P<exponent>(?:[eE][-+]?[0-9]{{1,3}})?)"
        rf"[{_SPACES}]*(?P<suffix>(?:{behind})?)\s*\)?$"
    )


def _in_one_unit(values: Floats, parts: Any, conversion: Conversion, prefixes: Sequence[str]) -> Floats:
    """Other units turned into the commonest; not-a-number where nothing turns them, as with other currencies."""
    suffixes = compute.utf8_trim_whitespace(compute.struct_field(parts, "suffix"))
    for suffix, factor in conversion.other_suffixes:
        of_unit = as_mask(compute.equal(suffixes, suffix))
        values = np.where(of_unit, values * factor if factor else np.nan, values)
    found = compute.struct_field(parts, "prefix")
    for prefix in prefixes[1:]:
        if currency_of(prefix) != currency_of(conversion.prefix):
            values = np.where(as_mask(compute.equal(found, prefix)), np.nan, values)
    return values


def _commonest_mark(texts: Any, marks: str) -> str:
    """Which of several marks for thousands is in use."""
    if len(marks) < 2:
        return marks
    seen = {mark: int(as_mask(compute.match_substring(texts, mark)).sum()) for mark in marks}
    return max(marks, key=lambda mark: seen[mark]) if any(seen.values()) else ""


def _units(parts: Any, counts: Codes, fits: Mask) -> tuple[tuple[str, int], ...]:
    found = Counter[str]()
    for side in ("prefix", "suffix"):
        encoded = compute.utf8_trim_whitespace(compute.struct_field(parts, side)).dictionary_encode()
        codes = compute.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        for code, text in enumerate(encoded.dictionary.to_pylist()):
            if text:
                found[currency_of(text) or text] += int(counts[fits & (codes == code)].sum())
    return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
