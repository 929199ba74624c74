"""The repairs of one table as cells: each a visible step that counts what it touches. Pure.

A step is counted whether it is on or off, and done only where its switch is on. The types of the columns do not depend
on any switch, so that everything below goes on working whatever a reader chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.names import TableNames
from cellwright.analyst.sections.readers import adds_file
from cellwright.analyst.sections.repairs import Repair, RepairName, Stage, needs_reading, repairs_for
from cellwright.analyst.sections.text import Plain, code_of, columns_code, pairs_code, wrapped
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile, Oddity, TableProfile

_NUMBERS: Final = ("integer", "number")
_DATES: Final = ("date", "datetime")
_WriteStage = Callable[[TableProfile, TableNames, Sequence[Repair], str, str], Iterator[str]]
_MAX_LISTED: Final = 40
"""Limit of values an oddity lists; one with this many has more."""


def repair_cells(table: TableProfile, names: TableNames) -> tuple[CellDraft, ...]:
    """The cells from the table as it was read to the one that is used; each takes what the one before made."""
    repairs = repairs_for(table)
    made: list[tuple[str, str]] = []
    before = names.as_read
    stages: list[tuple[Stage, _WriteStage, str]] = [
        ("rows", _rows, names.kept),
        ("texts", _texts, names.cleaned),
        ("reading", _reading, names.typed),
        ("values", _values, names.table),
    ]
    for stage, write, after in stages:
        chosen = [each for each in repairs if each.stage == stage]
        if chosen or (stage == "reading" and has_reading(table)):
            made.append((after, "\n".join(write(table, names, chosen, before, after))))
            before = after
    if not made:
        code = f"# Nothing needs repair: the table is used as it was read.\n{names.table} = {names.as_read}"
        return (CellDraft(name=names.table, code=code),)
    if made[-1][0] != names.table:
        made.append((names.table, f"{names.table} = {made[-1][0]}"))
    return tuple(CellDraft(name=after, code=code) for after, code in made)


def counts_of(table: TableProfile, names: TableNames) -> tuple[str, ...]:
    """Code of every dict of counts that the cells make: repair → how much it touches."""
    stages = {repair.stage for repair in repairs_for(table)}
    counts = ["{_name: int(_mask.sum()) for _name, _mask in " + names.dropped + ".items()}"] if "rows" in stages else []
    counts += [names.text_counts] if "texts" in stages else []
    counts += [names.read_counts] if has_reading(table) else []
    return (*counts, *([names.value_counts] if "values" in stages else []))


# ── rows ──


def _rows(table: TableProfile, names: TableNames, repairs: Sequence[Repair], before: str, after: str) -> Iterator[str]:
    chosen = {repair.name for repair in repairs}
    if chosen - {"footnotes"}:
        # The columns of the file as text; where a row comes from is none of them.
        own = '.drop(columns="file")' if adds_file(table) else ""
        yield f"_texts = {before}{own if table.reading.format == 'csv' else '.astype(str)'}"
    if "near-duplicate rows" in chosen:
        yield "# Without case and spaces, to see which rows are nearly the same."
        yield 'def _level(_column):\n    return _column.str.casefold().str.replace(r"\\s", "", regex=True)\n'
    yield "# Which rows each repair is about; those whose switch is on are dropped."
    yield f"{names.dropped} = {{"
    for repair in repairs:
        yield f"    {literal(repair.name)}: {row_mask(repair, table, before)},"
    yield "}"
    yield f"{after} = {before}"
    yield f"for _name, _mask in {names.dropped}.items():"
    yield f"    if {names.repairs}.value[_name]:"
    yield f"        {after} = {after}[~_mask.reindex({after}.index)]"


def row_mask(repair: Repair, table: TableProfile, frame: str) -> str:
    """Code of a boolean series over the table as it was read."""
    match repair.name:
        case "footnotes":
            last = str(table.rows) if table.is_counted else f"{frame}.index.max() + 1 - {table.reading.skip_last}"
            return f"pd.Series({frame}.index >= {last}, index={frame}.index)"
        case "repeated headers":
            return "(_texts == list(_texts.columns)).sum(axis=1) * 2 > _texts.notna().sum(axis=1)"
        case "total rows":
            return " | ".join(dict.fromkeys(map(_total_mask, repair.oddities)))
        case "duplicate rows":
            return "_texts.duplicated()"
        case _:
            return " | ".join(dict.fromkeys(map(_near_duplicate_mask, repair.oddities)))


def _near_duplicate_mask(oddity: Oddity) -> str:
    compared = f"_texts.drop(columns=[{literal(oddity.column)}])" if oddity.column else "_texts"
    return f"({compared}.apply(_level).duplicated() & ~_texts.duplicated())"


def _total_mask(oddity: Oddity) -> str:
    if not oddity.values:
        return f"pd.Series(_texts.index.isin({code_of(oddity.rows)}), index=_texts.index)"
    values = code_of(sorted({value.strip() for value in oddity.values}))
    if oddity.column:
        return f"_texts[{literal(oddity.column)}].str.strip().isin({values})"
    return f"_texts.apply(lambda _column: _column.str.strip()).isin({values}).any(axis=1)"


# ── texts ──


def _texts(table: TableProfile, names: TableNames, repairs: Sequence[Repair], before: str, after: str) -> Iterator[str]:
    chosen: dict[RepairName, Repair] = {repair.name: repair for repair in repairs}
    yield f"{after} = {before}.copy()"
    yield f"{names.text_counts} = dict.fromkeys({code_of([repair.name for repair in repairs])}, 0)"
    if "spaces around text" in chosen:
        texts = [each.name for each in table.columns if each.kind == "text"]
        columns = list(chosen["spaces around text"].columns) or texts
        yield f"for _column in {columns_code(table, columns, before)}:"
        yield f"    _texts = {before}[_column].astype(str).str.strip()"
        yield _count(names.text_counts, "spaces around text", f"(_texts != {before}[_column]) & _texts.notna()")
        yield _switched(names, "spaces around text", after, "_texts")
    if "words for nothing" in chosen:
        words = {each.name: null_words(each, table) for each in table.columns if null_words(each, table)}
        yield f"for _column, _words in {pairs_code(table, words, before)}:"
        yield f"    _found = {before}[_column].astype(str).str.strip().isin(_words)"
        yield _count(names.text_counts, "words for nothing", "_found")
        yield _switched(names, "words for nothing", after, f"{after}[_column].mask(_found)")


def _count(counts: str, name: RepairName, mask: str) -> str:
    return f"    {counts}[{literal(name)}] += int({f'({mask})' if ' ' in mask else mask}.sum())"


def _switched(names: TableNames, name: RepairName, after: str, value: str) -> str:
    return f"    if {names.repairs}.value[{literal(name)}]:\n        {after}[_column] = {value}"


def null_words(column: ColumnProfile, table: TableProfile) -> list[str]:
    """Text that stands for nothing in the column."""
    found = [
        value
        for oddity in table.oddities
        if oddity.kind == "placeholder-nulls" and oddity.column == column.name
        for value in oddity.values
    ]
    return sorted({word.strip() for word in (*column.conversion.null_words, *found)})


# ── reading ──


def has_reading(table: TableProfile) -> bool:
    """Whether any column of it is to be read as something else than it stands in the file."""
    return any(column.kind not in ("text", "empty", "time") for column in table.columns)


def functions_of(table: TableProfile) -> tuple[str, ...]:
    """The functions of `conversions` that its cells call."""
    kinds = {column.kind for column in table.columns}
    wanted = (("as_number", _NUMBERS), ("as_date", _DATES), ("as_flag", ("boolean",)))
    return tuple(function for function, those in wanted if kinds & set(those))


def _reading(
    table: TableProfile, names: TableNames, repairs: Sequence[Repair], before: str, after: str
) -> Iterator[str]:
    yield "# Text becomes numbers, dates and flags. What cannot be read is missing, and counted."
    yield f"{after} = {before}.copy()"
    named = [*(repair.name for repair in repairs), "could not be read"]
    yield f"{names.read_counts} = dict.fromkeys({code_of(named)}, 0)"
    yield from _special_numbers(table, names, before, after)
    plain = [each.name for each in table.columns if each.kind in _NUMBERS and not needs_reading(each)]
    if plain:
        yield f"for _column in {columns_code(table, plain, before)}:"
        yield f"    {after}[_column] = as_number({before}[_column])"
    yield from _dates(table, names, before, after)
    for column in table.columns:
        if column.kind == "boolean":
            true = code_of(column.conversion.true_words or ["true", "1"])
            false = code_of(column.conversion.false_words or ["false", "0"])
            name = literal(column.name)
            yield f"{after}[{name}] = as_flag({before}[{name}], {true}, {false})"
    nested = [each.name for each in table.columns if each.kind == "nested"]
    if nested:
        yield f"for _column in {columns_code(table, nested, before)}:"
        yield f'    {after}[_column] = {before}[_column].map(str, na_action="ignore").astype("str")'
    yield f"_lost = {before}.notna() & {after}.isna()"
    yield f'{names.read_counts}["could not be read"] = int(_lost.to_numpy().sum())'


def _special_numbers(table: TableProfile, names: TableNames, before: str, after: str) -> Iterator[str]:
    how = {each.name: number_options(each) for each in table.columns if needs_reading(each)}
    if not how:
        return
    yield f"for _column, _how in {pairs_code(table, how, before)}:"
    yield f"    _plain, _read = as_number({before}[_column]), as_number({before}[_column], **_how)"
    yield _count(names.read_counts, "numbers as text", "_read.notna() & (_read != _plain)")
    yield f'    {after}[_column] = _read if {names.repairs}.value["numbers as text"] else _plain'


def number_options(column: ColumnProfile) -> Mapping[str, Plain]:
    """How `as_number` reads it."""
    conversion = column.conversion
    how: dict[str, Plain] = {}
    for name, value, usual in (
        ("decimal", conversion.decimal, "."), ("thousands", conversion.thousands, ""),
        ("prefix", conversion.prefix, ""), ("suffix", conversion.suffix, ""), ("scale", conversion.scale, 1.0),
        ("brackets", conversion.has_parentheses, False),
    ):  # fmt: skip
        if value != usual:
            how[name] = value
    if conversion.other_suffixes:
        how["units"] = {unit: factor * conversion.scale for unit, factor in conversion.other_suffixes}
    return how


def _dates(table: TableProfile, names: TableNames, before: str, after: str) -> Iterator[str]:
    formats = {each.name: list(each.conversion.formats) for each in table.columns if each.kind in _DATES}
    several = {name: each for name, each in formats.items() if len(each) > 1}
    if several:
        yield f"for _column, _formats in {pairs_code(table, several, before)}:"
        yield f"    _plain, _read = as_date({before}[_column], _formats[:1]), as_date({before}[_column], _formats)"
        yield _count(names.read_counts, "dates in several formats", "_read.notna() & _plain.isna()")
        yield f'    {after}[_column] = _read if {names.repairs}.value["dates in several formats"] else _plain'
    one = {name: each for name, each in formats.items() if len(each) <= 1}
    if one:
        yield f"for _column, _formats in {pairs_code(table, one, before)}:"
        yield f"    {after}[_column] = as_date({before}[_column], _formats)"


# ── values ──


def _values(
    table: TableProfile, names: TableNames, repairs: Sequence[Repair], before: str, after: str
) -> Iterator[str]:
    yield f"{after} = {before}.copy()"
    yield f"{names.value_counts} = dict.fromkeys({code_of([repair.name for repair in repairs])}, 0)"
    for repair in repairs:
        if repair.name == "similar labels":
            yield from _labels(repair, before)
            value = f"{after}[_column].replace(_labels)"
        else:
            yield from _mask_loop(repair, table, before)
            value = f"{after}[_column].mask(_found)"
        yield _count(names.value_counts, repair.name, "_found")
        yield _switched(names, repair.name, after, value)


def _mask_loop(repair: Repair, table: TableProfile, before: str) -> Iterator[str]:
    match repair.name:
        case "sentinels":
            yield f"for _column, _values in {pairs_code(table, values_of(repair, table), before)}:"
            if any(column.kind in _DATES and column.name in repair.columns for column in table.columns):
                yield f'    if {before}[_column].dtype.kind == "M":'
                yield "        _values = pd.to_datetime(_values)"
            yield f"    _found = {before}[_column].isin(_values)"
        case "infinities" | "negative values":
            yield f"for _column in {columns_code(table, list(repair.columns), before)}:"
            is_so = ".isin([np.inf, -np.inf])" if repair.name == "infinities" else " < 0"
            yield f"    _found = {before}[_column]{is_so}"
        case _:
            yield from _outlier_masks(repair, table, before)


def _outlier_masks(repair: Repair, table: TableProfile, before: str) -> Iterator[str]:
    """The values that were found to lie far outside; where they were too many to be listed, by a rule."""
    if are_listed(repair):
        yield f"for _column, _values in {pairs_code(table, values_of(repair, table), before)}:"
        yield f"    _found = {before}[_column].isin(_values)"
        return
    yield "# Far outside: beyond three widths of the middle half."
    yield f"for _column in {columns_code(table, list(repair.columns), before)}:"
    yield f"    _low, _high = {before}[_column].quantile([0.25, 0.75])"
    yield f"    _found = ~{before}[_column].between(4 * _low - 3 * _high, 4 * _high - 3 * _low)"
    yield f"    _found &= {before}[_column].notna()"


def are_listed(repair: Repair) -> bool:
    """Whether every value concerned is known one by one."""
    return all(len(oddity.values) < _MAX_LISTED for oddity in repair.oddities)


def values_of(repair: Repair, table: TableProfile) -> dict[str, Plain]:
    """Column → the values concerned, as they are once the column is read."""
    columns = {column.name: column for column in table.columns}
    values: dict[str, list[str | float]] = {}
    for oddity in repair.oddities:
        column = columns[oddity.column]
        reading = _number if column.kind in _NUMBERS else _moment if column.kind in _DATES else None
        read = [reading(value, column) if reading else value.strip() for value in oddity.values]
        values.setdefault(oddity.column, []).extend(each for each in read if each is not None)
    return {name: list(dict.fromkeys(each)) for name, each in values.items()}


def _number(text: str, column: ColumnProfile) -> float | None:
    conversion = column.conversion
    for mark in (conversion.prefix, conversion.suffix, conversion.thousands):
        text = text.replace(mark, "") if mark.strip() else text
    digits = "".join(text.split()).replace(conversion.decimal, ".").replace("\N{MINUS SIGN}", "-")
    try:
        number = float(digits) * conversion.scale
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _moment(text: str, column: ColumnProfile) -> str | None:
    for form in (*column.conversion.formats, "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"):
        with suppress(ValueError):
            return datetime.strptime(text.strip(), form).replace(tzinfo=None).isoformat(" ")
    return None


def label_changes(repair: Repair) -> dict[str, dict[str, str]]:
    """Column → each spelling, and the one it is written as."""
    alike: dict[str, dict[str, str]] = {}
    for oddity in repair.oddities:
        common, *others = oddity.values
        alike.setdefault(oddity.column, {}).update(dict.fromkeys(others, common))
    return alike


def _labels(repair: Repair, before: str) -> Iterator[str]:
    yield f"for _column, _labels in {wrapped(label_changes(repair))}.items():"
    yield f"    _found = {before}[_column].isin(list(_labels))"
