"""A catalogue for a prompt: the tables that a question needs, within so many tokens. Pure but for its index.

Whoever puts it into a prompt fences it: names, comments and samples are a stranger's. Here they are on one line, short,
and without marks that could end a block of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable, ForeignKey
from cellwright.data.estimates import count_words
from cellwright.data.table_choice import TableChoice, TableIndex, choose_tables
from cellwright.notebook.prompt_summary import clip, estimate_tokens

_IN_FULL: Final = 8
_FULL_SHARE: Final = 0.7
_MOST_COLUMNS: Final = 40
_FEW_COLUMNS: Final = 12
_SAMPLES: Final = 3
_LONGEST_NAME: Final = 80
_LONGEST_SAMPLE: Final = 30
_LONGEST_COMMENT: Final = 120
_MANY: Final = 1.5
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MARKS: Final = str.maketrans({"`": "'", "<": "‹", ">": "›"})


def catalogue_text(
    catalogue: Catalogue,
    question: str,
    *,
    connection: str,
    most_tokens: int = 1600,
    index: TableIndex | None = None,
) -> str:
    """The best tables in full, more of them by name and columns, and how many there are besides.

    `index` is one of this catalogue, kept for many questions.
    """
    choice = index.choose(question) if index is not None else choose_tables(catalogue, question)
    head = _head(catalogue, choice, connection)
    more_tokens = 60
    room = most_tokens - estimate_tokens(head) - more_tokens
    joins = Joins(catalogue)
    full = _fitting((_in_full(table, choice, joins) for table in choice.tables[:_IN_FULL]), int(room * _FULL_SHARE))
    rest = choice.tables[len(full) :]
    left_tokens = room - sum(estimate_tokens(text) + 1 for text in full)
    short = _fitting((text for text, _ in _alike(rest)), left_tokens)
    told = len(full) + sum(count for _, count in _alike(rest)[: len(short)])
    left = len(catalogue.tables) - told
    return clip("\n".join([head, *full, *short, *_more(left, catalogue, connection)]), most_tokens)


def _head(catalogue: Catalogue, choice: TableChoice, connection: str) -> str:
    filled = [table for table in choice.tables if table.rows != 0] or choice.tables
    example = next((_name(table) for table in filled), "schema.table")
    server = f", {_one_line(catalogue.server, _LONGEST_NAME)}" if catalogue.server else ""
    lines = [
        f"Connection {connection}{server}: {count_words(len(catalogue.tables), 'table')}, likeliest first.",
        f"In SQL write names in full, as in FROM {example}: marimo takes a bare name for a Python variable.",
    ]
    found = [f"{_one_line(where, 2 * _LONGEST_NAME)} has {_quoted(value)}" for where, value in choice.values[:_SAMPLES]]
    return "\n".join([*lines, *([f"Named in the question: {'; '.join(found)}."] if found else [])])


def _more(left: int, catalogue: Catalogue, connection: str) -> Iterator[str]:
    if left > 0 or catalogue.is_cut:
        many = f"{count_words(left, 'more table')}{' and others that were not read' if catalogue.is_cut else ''}"
        yield f"And {many} in {connection}: the tool `schema` finds them by other words."


def _fitting(texts: Iterator[str], tokens: int) -> list[str]:
    """As many as there is room for, in their order."""
    kept: list[str] = []
    for text in texts:
        tokens -= estimate_tokens(text) + 1
        if tokens < 0:
            break
        kept.append(text)
    return kept


def _alike(tables: Sequence[CatalogueTable]) -> list[tuple[str, int]]:
    """Tables by name and columns, those with the same columns in one line; with how many each line tells."""
    groups: dict[tuple[str, ...], list[CatalogueTable]] = {}
    for table in tables:
        shape = tuple("…_id" if column.is_key else column.name for column in table.columns)
        groups.setdefault((table.schema, *shape), []).append(table)
    return [(_short(group[0]) if len(group) == 1 else _shorts(group), len(group)) for group in groups.values()]


def _shorts(group: Sequence[CatalogueTable]) -> str:
    shape = ", ".join(
        "its key" if column.is_key else _identifier(column.name) for column in group[0].columns[:_FEW_COLUMNS]
    )
    names = ", ".join(_name(table) for table in group[:_MOST_COLUMNS])
    rest = f" and {len(group) - _MOST_COLUMNS} more" if len(group) > _MOST_COLUMNS else ""
    return f"each with {shape}: {names}{rest}"


def _in_full(table: CatalogueTable, choice: TableChoice, joins: Joins) -> str:
    kind = "view, " if table.kind == "view" else ""
    rows = f"about {count_words(table.rows, 'row')}" if table.rows is not None else "rows not counted"
    comment = f"; {_one_line(table.comment, _LONGEST_COMMENT)}" if table.comment else ""
    keyed = {column for key in table.foreign_keys for column in key.columns}
    named = {where for where, _ in choice.values}
    first = sorted(
        range(len(table.columns)),
        key=lambda at: (not _matters(table, table.columns[at], keyed, named), at),
    )[:_MOST_COLUMNS]
    columns = [_column(table.columns[at]) for at in sorted(first)]
    rest = len(table.columns) - len(columns)
    lines = [f"{_name(table)}: {kind}{rows}{comment}", f"  {', '.join(columns)}{f', and {rest} more' if rest else ''}"]
    if found := [_join(table, key, joins.ratio(table, key)) for key in joins.of(table)[:_FEW_COLUMNS]]:
        lines.append(f"  joins: {', '.join(found)}")
    return "\n".join(lines)


def _matters(table: CatalogueTable, column: CatalogueColumn, keyed: set[str], named: set[str]) -> bool:
    return column.is_key or column.name in keyed or f"{table.qualified}.{column.name}" in named


def _column(column: CatalogueColumn) -> str:
    words = [_identifier(column.name), _one_line(column.type, _LONGEST_SAMPLE), *(["key"] if column.is_key else [])]
    if column.is_masked:
        words.append("(masked: its values cannot be seen)")
    elif column.samples:
        more = [] if len(column.samples) < _SAMPLES else ["…"]
        words.append(f"({', '.join([*map(_quoted, column.samples[:_SAMPLES]), *more])})")
    if column.comment:
        words.append(f"[{_one_line(column.comment, _LONGEST_COMMENT)}]")
    return " ".join(words)


def _join(table: CatalogueTable, key: ForeignKey, ratio: str) -> str:
    """`orders.customer_id → customers.id (about 5 rows for one)`; the schema only where it is another one."""
    schema, _, target = key.table.rpartition(".")
    there = _identifier(target) if schema == table.schema else f"{_identifier(schema)}.{_identifier(target)}"
    return f"{_side(_identifier(table.name), key.columns)} → {_side(there, key.target)}{ratio}"


class Joins:
    """What tables of a catalogue are joined by: keys that the server knows, and columns called like another's key."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._rows = {table.qualified: table.rows for table in catalogue.tables}
        self._keyed: dict[str, list[CatalogueTable]] = {}
        for table in catalogue.tables:
            keys = [column.name for column in table.columns if column.is_key]
            if len(keys) == 1 and keys[0].casefold() != "id":
                self._keyed.setdefault(keys[0], []).append(table)

    def of(self, table: CatalogueTable) -> list[ForeignKey]:
        """Those of this table, the server's own first."""
        known = {column for key in table.foreign_keys for column in key.columns}
        likely = [
            ForeignKey(columns=(column.name,), table=others[0].qualified, target=(column.name,))
            for column in table.columns
            if column.name not in known and not column.is_key
            for others in [self._keyed.get(column.name, [])]
            if len(others) == 1 and others[0].qualified != table.qualified
        ]
        return [*table.foreign_keys, *likely]

    def ratio(self, table: CatalogueTable, key: ForeignKey) -> str:
        """How many rows stand for one of the other table, where that is more than one: a join multiplies them."""
        here, there = self._rows.get(table.qualified), self._rows.get(key.table)
        if not here or not there or here < there * _MANY:
            return ""
        return f" (about {here / there:,.0f} rows for one)"


def _side(table: str, columns: Sequence[str]) -> str:
    names = ", ".join(_identifier(column) for column in columns[:_FEW_COLUMNS])
    return f"{table}.{names}" if len(columns) == 1 else f"{table}({names})"


def _short(table: CatalogueTable) -> str:
    names = [_identifier(column.name) for column in table.columns[:_FEW_COLUMNS]]
    return f"{_name(table)}({', '.join([*names, *(['…'] if len(table.columns) > _FEW_COLUMNS else [])])})"


# ── a stranger's words ──


def _name(table: CatalogueTable) -> str:
    parts = (table.schema, table.name) if table.schema else (table.name,)
    return ".".join(_identifier(part) for part in parts)


def _identifier(name: str) -> str:
    if _PLAIN.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return name
    return f'"{_one_line(name, _LONGEST_NAME).replace(chr(34), chr(34) * 2)}"'


def _quoted(sample: str) -> str:
    return f"'{_one_line(sample, _LONGEST_SAMPLE)}'"


def _one_line(text: str, longest: int) -> str:
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(sign if sign.isprintable() else " " for sign in cut).translate(_MARKS)
