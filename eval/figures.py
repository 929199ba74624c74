"""Numbers in a text of a person or a model: `1,234.5`, `1.234,5`, `12 %`, `−3`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_NUMBER: Final = re.compile(
    r"(?<![\w.,])[-+−]?\d{1,3}(?:[   ]\d{3})+(?:[.,]\d+)?(?![\w])|(?<![\w])[-+−]?\d[\d.,'’]*(?:[eE][-+]?\d+)?"
)
_SEPARATORS: Final = re.compile(r"[ '’\u00a0\u2009\u202f]")
_THOUSANDS: Final = re.compile(r"[-+]?\d{1,3}([.,]\d{3})+")


def numbers_in(text: str) -> list[float]:
    """Every number in a text; one that can be read in two ways (`1.234`) is there twice."""
    return [value for found in _NUMBER.finditer(text) for value in _readings(found.group())]


def _readings(written: str) -> Iterator[float]:
    plain = _SEPARATORS.sub("", written.replace("−", "-")).rstrip(".,")
    seen: set[float] = set()
    for candidate in _candidates(plain):
        try:
            value = float(candidate)
        except ValueError:
            continue
        if value not in seen:
            seen.add(value)
            yield value


def _candidates(plain: str) -> Iterator[str]:
    if "," in plain and "." in plain:
        decimal = max(",.", key=plain.rfind)
        other = "," if decimal == "." else "."
        yield plain.replace(other, "").replace(decimal, ".")
        return
    if _THOUSANDS.fullmatch(plain):
        yield plain.replace(",", "").replace(".", "")
    yield plain.replace(",", ".")
