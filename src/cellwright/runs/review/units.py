"""Units as goals, answers and columns name them, and the factor from one into another of the same kind. Pure."""

from __future__ import annotations

import re
from typing import Final

_FACTORS: Final[dict[str, tuple[str, float, str]]] = {
    "ms": ("time", 0.001, "millisecond"), "s": ("time", 1, "second sec"), "min": ("time", 60, "minute mins"),
    "h": ("time", 3600, "hour hrs"), "d": ("time", 86_400, "day"), "mg": ("mass", 1e-6, "milligram"),
    "g": ("mass", 1e-3, "gram"), "kg": ("mass", 1, "kilogram kilo"), "t": ("mass", 1e3, "tonne ton"),
    "lb": ("mass", 0.45359237, "pound lbs"), "mm": ("length", 1e-3, "millimetre millimeter"),
    "cm": ("length", 1e-2, "centimetre centimeter"), "m": ("length", 1, "metre meter"),
    "km": ("length", 1e3, "kilometre kilometer"), "mi": ("length", 1609.344, "mile"),
    "W": ("power", 1, "watt"), "kW": ("power", 1e3, "kilowatt"), "MW": ("power", 1e6, "megawatt"),
    "Wh": ("energy", 1, ""), "kWh": ("energy", 1e3, ""), "MWh": ("energy", 1e6, ""),
    "ml": ("volume", 1e-3, "millilitre milliliter"), "l": ("volume", 1, "litre liter"),
    "B": ("size", 1, "byte"), "kB": ("size", 1e3, "KB kilobyte"),
    "MB": ("size", 1e6, "megabyte"), "GB": ("size", 1e9, "gigabyte"),
}  # fmt: skip
"""Each unit's kind, its size in that kind's own measure, and its words."""
_WORDS: Final = {
    spelt: unit
    for unit, (_, _, words) in _FACTORS.items()
    for word in words.split()
    for spelt in (word, word.casefold(), f"{word.casefold()}s")
} | {unit: unit for unit in _FACTORS}
_LOWERED: Final = {unit.casefold(): unit for unit in _FACTORS if len(unit) > 1}
"""As columns' names have them: `power_kw`."""
_SUFFIX: Final = re.compile(r"(?:^|[_ .(])([A-Za-z]+)\)?$")


def unit_of(word: str) -> str:
    """The unit that a word names: `minutes` is `min`; empty: none that is known."""
    plain = word.strip().rstrip(".,;:!?")
    return _WORDS.get(plain) or _WORDS.get(plain.casefold()) or _LOWERED.get(plain.casefold(), "")


def unit_in_name(column: str) -> str:
    """The unit at the end of a column's name: `waited_seconds`; empty: none."""
    found = _SUFFIX.search(column)
    return unit_of(found[1]) if found and found[1] != column else ""


def factor(source: str, target: str) -> float | None:
    """By what a figure in `source` is multiplied to be one in `target`; None where that is not known."""
    one, other = _FACTORS.get(source), _FACTORS.get(target)
    if one is None or other is None or one[0] != other[0]:
        return None
    return one[1] / other[1]


def energy_of(power: str, interval_seconds: float) -> tuple[str, float] | None:
    """What a sum of readings of power becomes as energy: its unit, and the factor; None for what is no power."""
    if _FACTORS.get(power, ("",))[0] != "power" or interval_seconds <= 0:
        return None
    return f"{power}h", interval_seconds / 3600
