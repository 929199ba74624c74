"""Units of measure and of money: which there are, how they are written, how one becomes another."""

from __future__ import annotations

import re
from typing import Final

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
