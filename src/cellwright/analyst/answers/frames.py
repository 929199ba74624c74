"""The one table a question is about: read, repaired as far as that is certain, joined, with switches for the rest. Pure.

Only the columns that play a part are kept. What is certain is done in plain code; what is a matter of judgement is a
switch, off until a person turns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.methods.source import conversion_cells
from cellwright.analyst.names import JoinedNames, NotebookNames, TableNames
from cellwright.analyst.sections.quality import join_code
from cellwright.analyst.sections.readers import adds_file, columns_read, read_tables, reading_code
from cellwright.analyst.sections.repair_cells import (
    are_listed,
    label_changes,
    null_words,
    number_options,
    row_mask,
    values_of,
)
from cellwright.analyst.sections.repairs import Repair, needs_reading, repairs_for
from cellwright.analyst.sections.tables import step_of
from cellwright.analyst.sections.text import Plain, code_of, is_sampled, plain
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile, Profile, TableProfile

MAX_GROUPS: Final = 8
"""Limit of columns by which something is taken apart."""
_MAX_LABELS: Final = 60
_MOST_VALUES: Final = 10_000_000
"""Of long tables that are read whole: as text and as numbers they take about a gigabyte at most."""
_GROUPS: Final = ("category", "flag")
_NUMBERS: Final = ("integer", "number")
_DATES: Final = ("date", "datetime")
_TEXT_FORMATS: Final = ("csv",)
_JUDGED: Final = ("outliers", "negative values", "similar labels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The table a question is about, as the notebook has it."""

    table: TableProfile
    """Whose rows are its rows."""
    names: TableNames
    joint: JoinedNames | None = None
    """With the table that is joined to it."""
    other: TableProfile | None = None
    is_whole: bool = False
    """Every row is used, also of a table of which the profile saw a sample."""

    @property
    def variable(self) -> str:
        """Holds it."""
        return self.joint.variable if self.joint else self.names.table

    def find(self, column: NamedColumn) -> tuple[str, ColumnProfile] | None:
        """What the column is called in it, and what is known of it."""
        for name, table, record in self.columns:
            if (table, record.name) == (column.table, column.column):
                return name, record
        return None

    @property
    def columns(self) -> tuple[tuple[str, str, ColumnProfile], ...]:
        """Each column's name in it, the profile's table it comes from, and its record."""
        if self.joint:
            return tuple((each.name, each.table, each.column) for each in self.joint.columns)
        return tuple((column.name, self.table.name, column) for column in self.table.columns)

    @property
    def when(self) -> tuple[str, ColumnProfile] | None:
        """The column that says when."""
        own = [column for column in self.table.columns if column.kind in _DATES and column.times is not None]
        own.sort(key=lambda column: column.name != self.table.time_column)
        return (own[0].name, own[0]) if own else None

    def groups(self, but: Iterable[str] = ()) -> tuple[tuple[str, ColumnProfile], ...]:
        """Columns by which its rows fall into a few groups; of those that say the same, one."""
        out = set(but) | {repeat.second for table in self.tables for repeat in table.repeats}
        found = [
            (name, record)
            for name, _, record in self.columns
            if record.meaning in _GROUPS and 2 <= record.distinct <= _MAX_LABELS and record.name not in out
        ]
        found.sort(key=lambda pair: (pair[1].distinct > 12, pair[1].nulls > pair[1].count))
        return tuple(found[:MAX_GROUPS])

    def measures(self, but: Iterable[str] = ()) -> tuple[tuple[str, ColumnProfile], ...]:
        """Its own quantities: those of a joined table are repeated, and stand for other things."""
        out = set(but) | {repeat.second for repeat in self.table.repeats}
        return tuple(
            (column.name, column)
            for column in self.table.columns
            if column.meaning in ("measure", "currency") and column.kind in _NUMBERS and column.name not in out
        )

    @property
    def tables(self) -> tuple[TableProfile, ...]:
        """The profiles of what it is made of."""
        return (self.table, self.other) if self.other else (self.table,)

    @property
    def is_sampled(self) -> bool:
        """Whether only a part of the rows is used."""
        return any(self.step(table) > 1 for table in self.tables)

    def step(self, table: TableProfile) -> int:
        """Every how many-th row of the table is used."""
        return step_of(table) if is_sampled(table) and not self.is_whole else 1

    def seen_in_part(self) -> tuple[TableProfile, ...]:
        """The tables of which all rows are used, and the profile saw a sample."""
        return tuple(table for table in self.tables if self.is_whole and is_sampled(table))


def frame_of(profile: Profile, names: NotebookNames, columns: Sequence[NamedColumn], main: str = "") -> Frame | None:
    """The table that has these columns; None where they cannot be brought together without counting rows twice.

    `main` names the table whose rows are meant, where the question says so.
    """
    tables = {table.name: (table, own) for table, own in read_tables(profile, names)}
    wanted = {column.table for column in columns}
    order = sorted(tables.values(), key=lambda pair: (pair[0].name not in wanted, -pair[0].rows))
    if main in tables:
        order = [tables[main]]
    for table, own in order:
        if wanted <= {table.name}:
            return Frame(table=table, names=own)
        for joint in names.joined:
            if joint.left.name == table.name and wanted <= {joint.left.name, joint.right.name}:
                return Frame(table=table, names=own, joint=joint, other=tables[joint.right.name][0])
    return None


def with_all_rows(frame: Frame, used: Iterable[str]) -> Frame:
    """The frame with every row, where all values of what is read of its long tables fit into memory well."""
    columns = set(used)
    long = [table for table in frame.tables if is_sampled(table)]
    values = sum(table.rows * columns_read(table, _asked(frame, table, columns)) for table in long)
    return replace(frame, is_whole=all(table.is_counted for table in long) and values <= _MOST_VALUES)


def whole_frame(profile: Profile, names: NotebookNames) -> Frame | None:
    """The table with most rows, joined where it can be."""
    tables = sorted(read_tables(profile, names), key=lambda pair: -pair[0].rows)
    if not tables:
        return None
    table, own = tables[0]
    joint = next((each for each in names.joined if each.left.name == table.name), None)
    other = next((one for one, _ in tables if joint and one.name == joint.right.name), None)
    return Frame(table=table, names=own, joint=joint, other=other)


# ── which repairs are a matter of judgement ──


def judged_repairs(frame: Frame, used: Iterable[str]) -> tuple[tuple[TableProfile, Repair], ...]:
    """Repairs that a person decides on and that may change the answer: of rows, and of columns in use."""
    columns = set(used)
    return tuple(
        (table, repair)
        for table in frame.tables
        for repair in repairs_for(table)
        if not repair.is_on and (repair.stage == "rows" or columns & _own_columns(frame, table, repair))
    )


def _own_columns(frame: Frame, table: TableProfile, repair: Repair) -> set[str]:
    """What the repair's columns are called in the frame."""
    return {name for name, owner, record in frame.columns if owner == table.name and record.name in repair.columns}


def switch_name(table: TableProfile, repair: Repair, frame: Frame) -> str:
    """What a switch is called."""
    return f"{repair.name} in {plain(table.name, 40)}" if len(frame.tables) > 1 else repair.name


def repairs_cell(frame: Frame, used: Iterable[str], variable: str) -> CellDraft | None:
    """The switches; None where nothing is left to decide."""
    found = judged_repairs(frame, used)
    if not found:
        return None
    lines = [
        f"        {literal(switch_name(table, repair, frame))}: mo.ui.switch(label={literal(repair.says)}),\n"
        for table, repair in found
    ]
    return CellDraft(
        name=variable,
        code=f"# Off until you decide: each changes the answer above.\n{variable} = mo.ui.dictionary(\n    {{\n"
        f"{''.join(lines)}    }}\n)",
    )


# ── cells ──


def frame_cells(
    frame: Frame, names: NotebookNames, used: Iterable[str], repairs: str, *, reads_all: bool
) -> Iterator[CellDraft]:
    """Read, repair, join: one cell each per table. `repairs` is the variable of the switches.

    `reads_all`: columns that are not in use are read as well, somebody looks at the rows as they were.
    """
    columns = set(used)
    for table in frame.tables:
        own = names.of(table.name)
        asked = [] if reads_all else _asked(frame, table, columns)
        code = reading_code(table, own, step=frame.step(table), columns=asked)
        yield CellDraft(name=f"read_{own.table}", code=code)
        yield CellDraft(name=own.table, code="\n".join(_table_code(frame, table, own, columns, repairs)))
    if frame.joint:
        yield CellDraft(name=frame.joint.variable, code="\n".join(join_code(_narrowed(frame, columns))))


def _narrowed(frame: Frame, used: set[str]) -> JoinedNames:
    """The join with the columns in use only."""
    assert frame.joint is not None
    keys = {frame.joint.left_key.name}
    kept = tuple(
        each
        for each in frame.joint.columns
        if each.name in used or (each.table == frame.joint.left.name and each.name in keys)
    )
    return replace(frame.joint, columns=kept)


def conversion_functions(frame: Frame, used: Iterable[str]) -> tuple[CellDraft, ...]:
    """The functions that reading the columns takes, where plain calls do not do."""
    columns, needed = set(used), dict[str, None]()
    for table in frame.tables:
        for column in _kept(frame, table, columns):
            code = _read_code(column, table, "_rows")
            needed |= {name: None for name in ("as_number", "as_date") if f"{name}(" in code}
    return tuple(CellDraft(name=cell.name, code=cell.code, is_words=True) for cell in conversion_cells(sorted(needed)))


def _kept(frame: Frame, table: TableProfile, used: set[str]) -> list[ColumnProfile]:
    """The table's columns in use, with the key it is joined by."""
    names = {record.name for name, owner, record in frame.columns if owner == table.name and name in used}
    if frame.joint:
        names.add(frame.joint.left_key.name if table is frame.table else frame.joint.right_key.name)
    kept = [column for column in table.columns if column.name in names]
    return kept or list(table.columns[:1])


def _asked(frame: Frame, table: TableProfile, used: set[str]) -> list[str]:
    """The columns that are read where a file is asked for a few; none: all."""
    return [] if _row_repairs(frame, table, used) else [each.name for each in _kept(frame, table, used)]


def _row_repairs(frame: Frame, table: TableProfile, used: set[str]) -> list[Repair]:
    """What may take rows out: it may look at any column."""
    switched = {repair.name for one, repair in judged_repairs(frame, used) if one is table}
    return [each for each in repairs_for(table) if each.stage == "rows" and (each.is_on or each.name in switched)]


def _table_code(frame: Frame, table: TableProfile, own: TableNames, used: set[str], repairs: str) -> Iterator[str]:
    """From the text of the file to the columns in use."""
    switches: dict[str, str] = {
        repair.name: switch_name(table, repair, frame) for one, repair in judged_repairs(frame, used) if one is table
    }
    rows = _row_repairs(frame, table, used)
    yield from _row_lines(table, own, rows, switches, repairs)
    yield f"{own.table} = pd.DataFrame("
    yield "    {"
    for column in _kept(frame, table, used):
        yield f"        {literal(column.name)}: {_read_code(column, table, '_rows')},"
    if adds_file(table) and "file" in used:
        yield '        "file": _rows["file"],'
    yield "    }"
    yield ")"
    for repair in repairs_for(table):
        if repair.name in switches and repair.stage == "values":
            yield f"if {repairs}.value[{literal(switches[repair.name])}]:"
            yield from _value_lines(repair, table, own, used, frame)


def _row_lines(
    table: TableProfile, own: TableNames, rows: Sequence[Repair], switches: dict[str, str], repairs: str
) -> Iterator[str]:
    yield f"_rows = {own.as_read}"
    needs_text = [each for each in rows if each.name != "footnotes"]
    if needs_text:
        text = '.drop(columns="file")' if adds_file(table) else ""
        yield f"_texts = _rows{text if table.reading.format == 'csv' else '.astype(str)'}"
    if any(each.name == "near-duplicate rows" for each in rows):
        yield 'def _level(_column):\n    return _column.str.casefold().str.replace(r"\\s", "", regex=True)\n'
    if not rows:
        return
    certain = [each for each in rows if each.name not in switches]
    masks = [(each, row_mask(each, table, "_rows")) for each in rows]
    if certain:
        told = ", ".join(each.name for each in certain)
        yield f"# No data: {told}."
        joined = "\n    | ".join(f"({mask})" for each, mask in masks if each in certain)
        yield f"_dropped = (\n    {joined}\n)"
    else:
        yield "_dropped = pd.Series(False, index=_rows.index)"
    for each, mask in masks:
        if each.name in switches:
            yield f"if {repairs}.value[{literal(switches[each.name])}]:"
            yield f"    _dropped |= {mask}"
    yield "_rows = _rows[~_dropped]"


def _value_lines(repair: Repair, table: TableProfile, own: TableNames, used: set[str], frame: Frame) -> Iterator[str]:
    here = {record.name for name, owner, record in frame.columns if owner == table.name and name in used}
    if repair.name == "similar labels":
        for column, labels in label_changes(repair).items():
            if column in here:
                target = f"{own.table}[{literal(column)}]"
                yield f"    {target} = {target}.replace({code_of(labels)})"
        return
    if repair.name == "negative values":
        for column in repair.columns:
            if column in here:
                target = f"{own.table}[{literal(column)}]"
                yield f"    {target} = {target}.mask({target} < 0)"
        return
    values = values_of(repair, table)
    is_listed = are_listed(repair)
    for column in repair.columns:
        if column not in here:
            continue
        target = f"{own.table}[{literal(column)}]"
        if is_listed:
            yield f"    {target} = {target}.mask({target}.isin({code_of(values.get(column, []))}))"
        else:
            yield f"    _low, _high = {target}.quantile([0.25, 0.75])"
            yield f"    {target} = {target}.where({target}.between(4 * _low - 3 * _high, 4 * _high - 3 * _low))"


# ── one column ──


def _read_code(column: ColumnProfile, table: TableProfile, rows: str) -> str:
    """Code of a column as it is used: text becomes numbers and dates, what stands for nothing is missing."""
    source = f"{rows}[{literal(column.name)}]"
    words = null_words(column, table)
    is_text = table.reading.format in _TEXT_FORMATS
    if column.kind in _NUMBERS:
        code = _number_code(column, source) if is_text else _function_code("as_number", column, source)
        return f"{code}{_sentinels(column, table)}"
    if column.kind in _DATES:
        code = _date_code(column, source) if is_text else _function_code("as_date", column, source)
        return f"{code}{_sentinels(column, table)}"
    code = source if is_text else f'{source}.astype(object).map(str, na_action="ignore")'
    if is_text and _is_spaced(column, table):
        code += ".str.strip()"
    if words:
        code += f".mask(lambda _text: _text.isin({code_of(words)}))"
    return f"{code}{_sentinels(column, table)}"


def _is_spaced(column: ColumnProfile, table: TableProfile) -> bool:
    return any(each.kind == "spaces-around" and each.column == column.name for each in table.oddities)


def _number_code(column: ColumnProfile, source: str) -> str:
    conversion = column.conversion
    if not needs_reading(column):
        return f'pd.to_numeric({source}.str.strip(), errors="coerce")'
    is_simple = conversion.scale == 1.0 and not conversion.has_parentheses and not conversion.other_suffixes
    if not is_simple or conversion.decimal not in (".", ","):
        return _function_code("as_number", column, source)
    marks = [mark.strip() for mark in (conversion.prefix, conversion.suffix, conversion.thousands) if mark.strip()]
    signs = "".join(re.escape(mark) for mark in marks if len(mark) == 1)
    longer = [re.escape(mark) for mark in marks if len(mark) > 1]
    pattern = "|".join([*longer, rf"[{signs}\s]"])
    code = f'{source}.str.replace({_raw(pattern)}, "", regex=True)'
    if conversion.decimal == ",":
        code += '.str.replace(",", ".", regex=False)'
    return f'pd.to_numeric({code}, errors="coerce")'


def _raw(pattern: str) -> str:
    return f'r"{pattern}"' if '"' not in pattern and pattern.isprintable() else literal(pattern)


def _date_code(column: ColumnProfile, source: str) -> str:
    formats = column.conversion.formats
    if not formats or any("%z" in each or "%Z" in each for each in formats):
        return _function_code("as_date", column, source)
    read = [f'pd.to_datetime({source}.str.strip(), format={literal(each)}, errors="coerce")' for each in formats]
    return read[0] + "".join(f".fillna({each})" for each in read[1:])


def _function_code(function: str, column: ColumnProfile, source: str) -> str:
    if function == "as_date":
        return f"as_date({source}, {code_of(column.conversion.formats)})"
    options = number_options(column) if needs_reading(column) else {}
    return f"as_number({source}{''.join(f', {name}={code_of(value)}' for name, value in options.items())})"


def _sentinels(column: ColumnProfile, table: TableProfile) -> str:
    """Values that stand for nothing become missing."""
    found = [
        each for each in repairs_for(table) if each.name in ("sentinels", "infinities") and column.name in each.columns
    ]
    code = ""
    for repair in found:
        if repair.name == "infinities":
            code += ".replace([np.inf, -np.inf], np.nan)"
        elif values := values_of(repair, table).get(column.name):
            listed = f"pd.to_datetime({code_of(values)})" if column.kind in _DATES else code_of(values)
            code += f".mask(lambda _value: _value.isin({listed}))"
    return code


def far_values(frame: Frame, column: str) -> list[Plain]:
    """The values of a column that lie far off all others, where they are known one by one."""
    for table, repair in judged_repairs(frame, [column]):
        if repair.name == "outliers" and are_listed(repair):
            own = {name: record.name for name, owner, record in frame.columns if owner == table.name}
            found = values_of(repair, table).get(own.get(column, ""), [])
            return list(found) if isinstance(found, list) else []
    return []


def doubts(frame: Frame, used: Iterable[str]) -> dict[str, str]:
    """What is left to decide, by its switch, in a few words each: `24 duplicate rows`."""
    said: dict[str, str] = {}
    for table, repair in judged_repairs(frame, used):
        count = sum(oddity.count for oddity in repair.oddities)
        word = {"similar labels": "labels in other spellings", "outliers": "values far off all others"}.get(
            repair.name, repair.name
        )
        said[switch_name(table, repair, frame)] = f"{count:,} {word}" if count else word
    return said
