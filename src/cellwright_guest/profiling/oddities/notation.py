"""Oddities of how values are written: as text, with commas and currencies, in several formats, with null words."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import numpy as np

from cellwright_guest.profiling.dates import DateText, families_of
from cellwright_guest.profiling.numbers import NumberText, currency_of
from cellwright_guest.profiling.records import Conversion, Oddity
from cellwright_guest.profiling.typed_column import Codes, Mask, TypedColumn, rows_of
from cellwright_guest.profiling.wording import counted, cut, listed, named, percent, quoted, sentence

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
    return [
        Oddity(
            kind="placeholder-nulls",
            column=typed.name,
            says=sentence(f"{named(typed.name)} holds {what} in {counted(count, 'row')}."),
            count=count,
            examples=tuple(cut(word) for word in words[:_EXAMPLES]),
            values=tuple(words),
            severity="warning",
        )
    ]


def leading_zeros(typed: TypedColumn) -> list[Oddity]:
    """Digits that would lose their zeros as numbers."""
    counts = typed.counts()
    codes = [
        code for code in range(min(len(typed.texts), 10_000)) if counts[code] and typed.text(code).strip()[:1] == "0"
    ]
    says = (
        f"{named(typed.name)} has digits with leading zeros such as {listed(typed.some_texts(codes, 1))}: kept as text."
    )
    examples = tuple(cut(text) for text in typed.some_texts(codes, _EXAMPLES))
    count = int(counts[codes].sum())
    return [
        Oddity(
            kind="leading-zeros",
            column=typed.name,
            says=sentence(says),
            count=count,
            examples=examples,
            severity="note",
        )
    ]


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
    return [
        Oddity(
            kind="mixed-types",
            column=typed.name,
            says=sentence(says),
            count=count,
            examples=tuple(cut(text) for text in texts[:_EXAMPLES]),
            values=tuple(text for text in texts if len(text) <= 200),
            rows=rows_of(typed.codes, typed.unfit),
        )
    ]


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
    return [
        Oddity(
            kind="mixed-types",
            column=typed.name,
            says=sentence(says),
            count=there - fit,
            examples=tuple(cut(text) for text in texts[:_EXAMPLES]),
            values=tuple(text for text in texts if len(text) <= 200),
            rows=rows_of(typed.codes, others),
        )
    ]


# ── numbers ──


def of_numbers(typed: TypedColumn, read: NumberText) -> list[Oddity]:
    """What keeps the numbers from being read as they stand."""
    how = read.conversion
    found = _currency(typed, read) + _percent(typed, how) + _units(typed, read)
    if how.decimal == ",":
        says = f"{named(typed.name)} writes decimals with a comma."
        if read.is_ambiguous:
            says = (
                f"{named(typed.name)} writes numbers as other columns do, with a decimal comma: points are thousands."
            )
        found.append(_about(typed, "decimal-comma", says, "warning"))
    if found:
        return found
    if how.thousands or how.has_parentheses:
        marks = [f"{quoted(how.thousands)} between thousands"] if how.thousands else []
        marks += ["brackets for minus"] if how.has_parentheses else []
        found.append(
            _about(
                typed, "numbers-as-text", f"{named(typed.name)} writes numbers with {' and '.join(marks)}.", "warning"
            )
        )
    elif not typed.is_text_format:
        found.append(_about(typed, "numbers-as-text", f"{named(typed.name)} holds numbers stored as text.", "warning"))
    return found


def _about(
    typed: TypedColumn,
    kind: Literal["decimal-comma", "numbers-as-text", "currency-text", "percent-text"],
    says: str,
    severity: Literal["note", "warning"],
) -> Oddity:
    counts = typed.counts()
    codes = np.flatnonzero(counts)[:_EXAMPLES]
    examples = tuple(cut(text) for text in typed.some_texts(codes, _EXAMPLES))
    return Oddity(
        kind=kind, column=typed.name, says=sentence(says), count=int(counts.sum()), examples=examples, severity=severity
    )


def _currency(typed: TypedColumn, read: NumberText) -> list[Oddity]:
    signs = [sign for sign in (read.conversion.prefix, read.conversion.suffix) if currency_of(sign)]
    if not signs:
        return []
    says = f"{named(typed.name)} holds money as text, with {quoted(signs[0])} at the number."
    return [_about(typed, "currency-text", says, "warning")]


def _percent(typed: TypedColumn, how: Conversion) -> list[Oddity]:
    if how.suffix != "%":
        return []
    return [_about(typed, "percent-text", f"{named(typed.name)} holds percentages as text.", "note")]


def _units(typed: TypedColumn, read: NumberText) -> list[Oddity]:
    units = [(unit, count) for unit, count in read.units if unit]
    if len(units) > 1:
        others = sum(count for _, count in units[1:])
        told = ", ".join(f"{count:,} × {quoted(unit)}" for unit, count in units[:4])
        return [
            Oddity(
                kind="mixed-units",
                column=typed.name,
                says=sentence(f"{named(typed.name)} holds quantities in different units: {told}."),
                count=others,
                examples=_other_unit_examples(typed, read),
                values=tuple(unit for unit, _ in units),
                severity="problem",
            )
        ]
    if units and not currency_of(units[0][0]) and units[0][0] != "%":
        says = f"{named(typed.name)} holds numbers as text, with the unit {quoted(units[0][0])} behind them."
        return [_about(typed, "numbers-as-text", says, "warning")]
    return []


def _other_unit_examples(typed: TypedColumn, read: NumberText) -> tuple[str, ...]:
    first = read.conversion.suffix or read.conversion.prefix
    counts = typed.counts()
    texts = (typed.text(code) for code in np.flatnonzero(counts)[:2_000])
    others = [text for text in texts if first not in text and any(not letter.isdigit() for letter in text)]
    return tuple(cut(text) for text in others[:_EXAMPLES])


# ── dates ──


def of_dates(typed: TypedColumn, read: DateText) -> list[Oddity]:
    """Several ways of writing, day and month that may be confused, days no calendar has, dates stored as text."""
    return _formats(typed, read) + _ambiguity(typed, read) + _impossible(typed) + _stored_as_text(typed)


def _formats(typed: TypedColumn, read: DateText) -> list[Oddity]:
    formats = [form for form, _ in read.formats]
    if len(formats) < 2:
        return []
    families = families_of(formats)
    told = ", ".join(f"{form} ({count:,})" for form, count in read.formats[:5])
    return [
        Oddity(
            kind="mixed-date-formats",
            column=typed.name,
            says=sentence(f"{named(typed.name)} writes dates in {len(formats)} ways: {told}."),
            count=sum(count for _, count in read.formats[1:]),
            examples=tuple(formats[:_EXAMPLES]),
            values=tuple(formats),
            severity="warning" if len(families) > 1 else "note",
        )
    ]


def _ambiguity(typed: TypedColumn, read: DateText) -> list[Oddity]:
    if not read.ambiguity:
        return []
    counts = typed.counts()
    return [
        Oddity(
            kind="ambiguous-dates",
            column=typed.name,
            says=sentence(f"In {named(typed.name)} day and month may be confused: {read.ambiguity}."),
            count=int(counts.sum()),
            examples=tuple(cut(text) for text in typed.some_texts(np.flatnonzero(counts), 3)),
            severity="problem" if read.is_contradictory else "warning",
        )
    ]


def _impossible(typed: TypedColumn) -> list[Oddity]:
    if not len(typed.impossible):
        return []
    count = int(typed.counts()[typed.impossible].sum())
    texts = typed.some_texts(typed.impossible, _MOST_VALUES)
    return [
        Oddity(
            kind="impossible-dates",
            column=typed.name,
            says=sentence(
                f"{named(typed.name)} holds days that no calendar has in {counted(count, 'row')}: {listed(texts)}."
            ),
            count=count,
            examples=tuple(cut(text) for text in texts[:_EXAMPLES]),
            values=tuple(texts),
            rows=rows_of(typed.codes, typed.impossible),
            severity="problem",
        )
    ]


def _stored_as_text(typed: TypedColumn) -> list[Oddity]:
    if typed.is_text_format:
        return []
    counts = typed.counts()
    return [
        Oddity(
            kind="dates-as-text",
            column=typed.name,
            says=sentence(f"{named(typed.name)} holds dates stored as text."),
            count=int(counts.sum()),
            examples=tuple(cut(text) for text in typed.some_texts(np.flatnonzero(counts), 3)),
            severity="note",
        )
    ]
