"""Where things stand in a TOML text that the standard reader has already accepted.

`tomllib` gives values without positions. This walk over the same text gives positions without values: of tables, keys,
values and the items of arrays. It decides nothing: what it does not find is said to stand where its table does.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<multi>\"{3}|'{3})|(?P<string>"(?:\\.|[^"\\\n])*"|'[^'\n]*')|(?P<newline>\n)
    |(?P<space>[ \t\r]+)|(?P<mark>[\[\]{}=,.])|(?P<bare>[^\s\#"'\[\]{}=,.]+)""",
    flags=re.VERBOSE,
)

Path = tuple[str | int, ...]
"""The keys that lead to a value, and the indexes."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """A position, both counted from one; columns count characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where a key, its value and the value's items stand."""

    key: Place
    value: Place
    items: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where a table and its keys stand. The first of a text has no name and holds what stands before any header."""

    path: Path
    place: Place
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The tables of a text in order, and the first string over several lines, if there is one."""

    tables: tuple[Table, ...]
    multiline_string: Place | None = None

    def place(self, path: Path, *, at_key: bool = False) -> Place:
        """Where the value of this path stands, or its key; the nearest thing around it that was found."""
        for table in self.tables:
            # A table without a header of its own stands where the first one inside it does.
            if path and table.path[: len(path)] == path:
                return table.place
        around = max(self.tables, key=lambda table: len(table.path) if path[: len(table.path)] == table.path else -1)
        name, *rest = path[len(around.path) :] or ("",)
        entry = around.entries.get(str(name))
        if entry is None:
            return around.place
        if rest and isinstance(rest[0], int) and rest[0] < len(entry.items):
            return entry.items[rest[0]]
        return entry.key if at_key else entry.value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str
    text: str
    place: Place


def outline(text: str) -> Outline:
    """The outline of a valid TOML text."""
    tables = [Table(path=(), place=Place(line=1, column=1))]
    arrays = dict[Path, int]()
    for statement in _statements(text):
        for token in statement:
            if token.kind == "multi":
                return Outline(tables=tuple(tables), multiline_string=token.place)
        if statement[0].text == "[":
            tables.append(Table(path=_header(statement, arrays), place=statement[0].place))
        else:
            name, entry = _entry(statement)
            tables[-1].entries.setdefault(name, entry)
    return Outline(tables=tuple(tables))


def place_of(text: str, offset: int) -> Place:
    """The position of a character."""
    start = text.rfind("\n", 0, offset) + 1
    return Place(line=text.count("\n", 0, offset) + 1, column=offset - start + 1)


def _statements(text: str) -> list[list[_Token]]:
    """Tokens by statement; a line break inside brackets ends none."""
    statements: list[list[_Token]] = [[]]
    line, line_start, depth = 1, 0, 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "newline":
            line, line_start = line + 1, match.end()
            if depth == 0:
                statements.append([])
        elif kind not in ("comment", "space"):
            place = Place(line=line, column=match.start() - line_start + 1)
            statements[-1].append(_Token(kind=kind, text=match.group(), place=place))
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match.group(), 0)
            if kind == "multi":
                break
    return [statement for statement in statements if statement]


def _header(statement: list[_Token], arrays: dict[Path, int]) -> Path:
    """The table's path; below an array of tables it goes through the last of them."""
    names = [_unquoted(token.text) for token in statement if token.kind in ("bare", "string")]
    path: Path = ()
    for name in names[:-1]:
        path = (*path, name)
        if path in arrays:
            path = (*path, arrays[path])
    path = (*path, names[-1])
    if len(statement) > 1 and statement[1].text == "[":
        arrays[path] = arrays.get(path, -1) + 1
        path = (*path, arrays[path])
    return path


def _entry(statement: list[_Token]) -> tuple[str, Entry]:
    equals = next(index for index, token in enumerate(statement) if token.text == "=" and token.kind == "mark")
    value = statement[equals + 1 :]
    depth, items = 0, list[Place]()
    for token in value:
        if depth == 1 and token.kind in ("bare", "string"):
            items.append(token.place)
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.text, 0)
    entry = Entry(key=statement[0].place, value=value[0].place, items=tuple(items))
    return _unquoted(statement[0].text), entry


def _unquoted(text: str) -> str:
    return str(tomllib.loads(f"key = {text}")["key"]) if text[0] in "\"'" else text
