"""Oddities of how values are written: as text, with commas and currencies, in several formats, with null words."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import numpy as np

from cellwright_guest.profiling.dates import DateText, families_of
from cellwright_guest.profiling.numbers import NumberText, currency_of
from cellwright_guest.profiling.records import Oddity, OddityKind, Severity
from cellwright_guest.profiling.typed_column import Codes, Mask, TypedColumn
from cellwright_guest.profiling.wording import counted, listed, named, percent, quoted

_EXAMPLES: Final = 5
_MOST_VALUES: Final = 40


def placeholders(typed: TypedColumn, counts: Codes, nothing: Mask) -> list[Oddity]:
    """Null words among the values; also puts them into the column's conversion."""
    codes = np.flatnonzero(nothing)
    if not len(codes):
        return []
    words = [typed.text(code) for code in codes[:_MOST_VALUES]]
    typed.conversion = msgspec.structs.replace(typed.conversion, null_words=tuple(words))
    count = int(counts[codes].sum())
    shown = [word for word in words if word.strip()]
    what = f"{listed(shown)} instead of an empty field" if shown else "nothing but spaces"
    says = f"{named(typed.name)} holds {what} in {counted(count, 'row')}."
    return [typed.oddity("placeholder-nulls", says, count, texts=words)]


def leading_zeros(typed: TypedColumn) -> list[Oddity]:
    """Digits that would lose their zeros as numbers."""
    counts = typed.counts()
    codes = [
        code for code in range(min(len(typed.texts), 10_000)) if counts[code] and typed.text(code).strip()[:1] == "0"
    ]
    shown = typed.some_texts(codes, _EXAMPLES)
    says = f"{named(typed.name)} has digits with leading zeros such as {listed(shown[:1])}: kept as text."
    return [typed.oddity("leading-zeros", says, int(counts[codes].sum()), examples=shown, severity="note")]


def mixed_types(typed: TypedColumn, wanted: Literal["numbers", "dates"]) -> list[Oddity]:
    """A few values that are of another kind than the rest."""
    if not len(typed.unfit):
        return []
    counts = typed.counts()[typed.unfit]
    order = typed.unfit[np.argsort(-counts, kind="stable")]
    texts = typed.some_texts(order, _MOST_VALUES)
    count = int(counts.sum())
    says = f"{named(typed.name)} holds {wanted}, but {counted(count, 'row')} hold something else: {listed(texts)}."
    if count == 1:
        says = f"{named(typed.name)} holds {wanted}, but one row holds {quoted(texts[0])}."
    return [typed.oddity("mixed-types", says, count, texts=texts, codes=typed.unfit)]


def partly(typed: TypedColumn, fitting: Codes, wanted: Literal["numbers", "dates"]) -> list[Oddity]:
    """A column of text that is mostly, but by far not always, numbers or dates."""
    counts = typed.counts()
    there, fit = int(counts.sum()), int(counts[fitting].sum())
    if there < 5 or not 0.5 * there <= fit < there:
        return []
    others = np.setdiff1d(np.flatnonzero(counts), fitting)
    order = others[np.argsort(-counts[others], kind="stable")]
    texts = typed.some_texts(order, _MOST_VALUES)
    says = (
        f"{named(typed.name)} mixes {wanted} ({percent(fit, there)}) with other text such as {listed(texts)}; "
        "it is read as text."
    )
    return [typed.oddity("mixed-types", says, there - fit, texts=texts, codes=others)]


# ── numbers ──


def of_numbers(typed: TypedColumn, read: NumberText) -> list[Oddity]:
    """What keeps the numbers from being read as they stand."""
    how, name = read.conversion, named(typed.name)
    found = _units(typed, read)
    if how.suffix == "%":
        found.insert(0, _about(typed, "percent-text", f"{name} holds percentages as text.", "note"))
    if signs := [sign for sign in (how.prefix, how.suffix) if currency_of(sign)]:
        says = f"{name} holds money as text, with {quoted(signs[0])} at the number."
        found.insert(0, _about(typed, "currency-text", says))
    if how.decimal == ",":
        says = f"{name} writes decimals with a comma."
        if read.is_ambiguous:
            says = f"{name} writes numbers as other columns do, with a decimal comma: points are thousands."
        found.append(_about(typed, "decimal-comma", says))
    if found:
        return found
    if how.thousands or how.has_parentheses:
        marks = [f"{quoted(how.thousands)} between thousands"] if how.thousands else []
        marks += ["brackets for minus"] if how.has_parentheses else []
        found.append(_about(typed, "numbers-as-text", f"{name} writes numbers with {' and '.join(marks)}."))
    elif not typed.is_text_format:
        found.append(_about(typed, "numbers-as-text", f"{name} holds numbers stored as text."))
    return found


def _about(
    typed: TypedColumn, kind: OddityKind, says: str, severity: Severity = "warning", examples: int = _EXAMPLES
) -> Oddity:
    """Of all values of the column."""
    counts = typed.counts()
    shown = typed.some_texts(np.flatnonzero(counts)[:examples], examples)
    return typed.oddity(kind, says, int(counts.sum()), examples=shown, severity=severity)


def _units(typed: TypedColumn, read: NumberText) -> list[Oddity]:
    units = [(unit, count) for unit, count in read.units if unit]
    if len(units) > 1:
        others = sum(count for _, count in units[1:])
        told = ", ".join(f"{count:,} × {quoted(unit)}" for unit, count in units[:4])
        says = f"{named(typed.name)} holds quantities in different units: {told}."
        names, examples = [unit for unit, _ in units], _other_unit_examples(typed, read)
        return [typed.oddity("mixed-units", says, others, texts=names, examples=examples, severity="problem")]
    if units and not currency_of(units[0][0]) and units[0][0] != "%":
        says = f"{named(typed.name)} holds numbers as text, with the unit {quoted(units[0][0])} behind them."
        return [_about(typed, "numbers-as-text", says)]
    return []


def _other_unit_examples(typed: TypedColumn, read: NumberText) -> list[str]:
    first = read.conversion.suffix or read.conversion.prefix
    texts = (typed.text(code) for code in np.flatnonzero(typed.counts())[:2_000])
    return [text for text in texts if first not in text and any(not letter.isdigit() for letter in text)]


# ── dates ──


def of_dates(typed: TypedColumn, read: DateText) -> list[Oddity]:
    """Several ways of writing, day and month that may be confused, days no calendar has, dates stored as text."""
    found: list[Oddity] = []
    name, formats = named(typed.name), [form for form, _ in read.formats]
    if len(formats) > 1:
        told = ", ".join(f"{form} ({count:,})" for form, count in read.formats[:5])
        says, others = f"{name} writes dates in {len(formats)} ways: {told}.", sum(n for _, n in read.formats[1:])
        severity = "warning" if len(families_of(formats)) > 1 else "note"
        found.append(typed.oddity("mixed-date-formats", says, others, texts=formats, severity=severity))
    if read.ambiguity:
        says = f"In {name} day and month may be confused: {read.ambiguity}."
        found.append(_about(typed, "ambiguous-dates", says, "problem" if read.is_contradictory else "warning", 3))
    if len(typed.impossible):
        count = int(typed.counts()[typed.impossible].sum())
        texts = typed.some_texts(typed.impossible, _MOST_VALUES)
        says = f"{name} holds days that no calendar has in {counted(count, 'row')}: {listed(texts)}."
        found.append(
            typed.oddity("impossible-dates", says, count, texts=texts, codes=typed.impossible, severity="problem")
        )
    if not typed.is_text_format:
        found.append(_about(typed, "dates-as-text", f"{name} holds dates stored as text.", "note", 3))
    return found
