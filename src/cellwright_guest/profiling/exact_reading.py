"""What makes pandas read a column exactly as it is told: tried on every value that was looked at, not guessed."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.records import Proof
from cellwright_guest.profiling.typed_column import Codes, TypedColumn, compute

_ISO_DATES: Final = frozenset({"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactReading:
    """What pandas is told for the whole table, and what that does for each column."""

    decimal: str = "."
    thousands: str = ""
    proofs: tuple[Proof, ...] = ()

    @property
    def rank(self) -> tuple[int, int]:
        """Columns that are told exactly, and those of them that need nothing more."""
        reads = self.proofs.count("read")
        return reads + self.proofs.count("digits"), reads


def find_exact_reading(typed: Sequence[TypedColumn], *, is_text: bool, mixed: Collection[str] = ()) -> ExactReading:
    """The marks with which most columns are read as they are told.

    `is_text`: pandas makes out of text what values are, as in CSV and sheets. `mixed` columns hold more than text.
    """
    marks = [(".", "")]
    if is_text:
        marks += [(how.decimal, mark) for how in (one.conversion for one in typed) for mark in ("", how.thousands)]
    found = [
        ExactReading(
            decimal=decimal,
            thousands=thousands,
            proofs=tuple(
                "" if one.name in mixed else _proof(one, decimal, thousands, is_text=is_text) for one in typed
            ),
        )
        for decimal, thousands in dict.fromkeys(marks)
        if thousands.isascii() and thousands != decimal
    ]
    return max(found, key=lambda reading: reading.rank)


def _proof(typed: TypedColumn, decimal: str, thousands: str, *, is_text: bool) -> Proof:
    if typed.values is None:
        return "text" if _passes_for_numbers(typed, decimal, thousands) else ""
    codes = np.flatnonzero(typed.counts())
    match typed.kind:
        case "integer" | "number" if typed.is_stored_as_text and not np.isnan(typed.values[codes]).any():
            is_known = typed.is_plain and decimal == "."
            if is_text and (is_known or _is_read(typed, codes, decimal, thousands)):
                return "read"
            has_units = any(oddity.kind == "mixed-units" for oddity in typed.oddities)
            is_changed = is_text and _passes_for_numbers(typed, decimal, thousands)
            return "digits" if not (has_units or is_changed) and _is_of_digits(typed, codes) else ""
        case "date" | "datetime" if typed.is_stored_as_text:
            if is_text and typed.conversion.formats[1:] == () and _is_iso(typed, codes):
                return "read"
            return "text" if _passes_for_numbers(typed, decimal, thousands) else ""
        case _:
            return ""


def _is_iso(typed: TypedColumn, codes: Codes) -> bool:
    assert typed.values is not None
    is_whole = not np.isnan(typed.values[codes]).any()
    return is_whole and typed.conversion.formats[0] in _ISO_DATES and not typed.conversion.null_words


def _number_pattern(decimal: str, thousands: str) -> str:
    """What pandas takes for a number: marks between thousands count nowhere."""
    point = re.escape(decimal)
    digits = rf"[0-9](?:[0-9]|{re.escape(thousands)})*" if thousands else "[0-9]+"
    return rf"^\s*[-+]?(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?\s*$"


def _is_read(typed: TypedColumn, codes: Codes, decimal: str, thousands: str) -> bool:
    texts = typed.texts.take(pa.array(codes))
    if not as_mask(compute.match_substring_regex(texts, _number_pattern(decimal, thousands))).all():
        return False
    bare = compute.replace_substring(texts, thousands, "") if thousands else texts
    return _are_values(typed, codes, compute.replace_substring(bare, decimal, "."))


def _is_of_digits(typed: TypedColumn, codes: Codes) -> bool:
    """Whether taking off all but digits, the decimal mark and a minus leaves each value as it is."""
    decimal = typed.conversion.decimal
    bare = compute.replace_substring_regex(typed.texts.take(pa.array(codes)), rf"[^0-9{decimal}-]", "")
    return _are_values(typed, codes, compute.replace_substring(bare, decimal, "."))


def _are_values(typed: TypedColumn, codes: Codes, texts: Any) -> bool:
    assert typed.values is not None
    try:
        numbers = compute.cast(compute.utf8_trim_whitespace(texts), pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        return False
    return bool(np.allclose(numbers * typed.conversion.scale, typed.values[codes], rtol=1e-12, atol=0.0))


def _passes_for_numbers(typed: TypedColumn, decimal: str, thousands: str) -> bool:
    """Text that pandas would take for numbers, and so change."""
    codes, pattern = np.flatnonzero(typed.counts()), _number_pattern(decimal, thousands)
    # Nearly always the first value says no.
    if not typed.is_stored_as_text or not len(codes) or not re.match(pattern, typed.text(codes[0])):
        return False
    return bool(as_mask(compute.match_substring_regex(typed.texts.take(pa.array(codes)), pattern)).all())
