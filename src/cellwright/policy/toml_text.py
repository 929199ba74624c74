"""TOML texts read into models, or one clear error with file, line and column.

`tomllib` reads values without positions; a walk over the same text gives positions without values; pydantic checks.
Nothing is skipped or converted: an unknown key or word and a value of another type are errors.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from cellwright.errors import UserError
from cellwright.remedies import Hint

_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<multi>\"{3}|'{3})|(?P<string>"(?:\\.|[^"\\\n])*"|'[^'\n]*')|(?P<newline>\n)
    |(?P<space>[ \t\r]+)|(?P<mark>[\[\]{}=,.])|(?P<bare>[^\s\#"'\[\]{}=,.]+)""",
    flags=re.VERBOSE,
)

Path = tuple[str | int, ...]
"""The keys that lead to a value, and the indexes."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TextPosition:
    """A position, both counted from one; columns count characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlEntry:
    """Where a key, its value and the value's items stand."""

    key: TextPosition
    value: TextPosition
    items: tuple[TextPosition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlTable:
    """Where a table and its keys stand. The first of a text has no name and holds what stands before any header."""

    path: Path
    position: TextPosition
    entries: dict[str, TomlEntry] = field(default_factory=dict[str, TomlEntry])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The tables of a text in order, and the first string over several lines, if there is one."""

    tables: tuple[TomlTable, ...]
    multiline_string: TextPosition | None = None

    def position(self, path: Path, *, at_key: bool = False) -> TextPosition:
        """Where the value of this path stands, or its key; the nearest thing around it that was found."""
        for table in self.tables:
            # A table without a header of its own stands where the first one inside it does.
            if path and table.path[: len(path)] == path:
                return table.position
        around = max(self.tables, key=lambda table: len(table.path) if path[: len(table.path)] == table.path else -1)
        name, *rest = path[len(around.path) :] or ("",)
        entry = around.entries.get(str(name))
        if entry is None:
            return around.position
        if rest and isinstance(rest[0], int) and rest[0] < len(entry.items):
            return entry.items[rest[0]]
        return entry.key if at_key else entry.value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str
    text: str
    position: TextPosition


def outline_of(text: str) -> Outline:
    """The outline of a valid TOML text."""
    tables = [TomlTable(path=(), position=TextPosition(line=1, column=1))]
    arrays = dict[Path, int]()
    for statement in _statements(text):
        for token in statement:
            if token.kind == "multi":
                return Outline(tables=tuple(tables), multiline_string=token.position)
        if statement[0].text == "[":
            tables.append(TomlTable(path=_header(statement, arrays), position=statement[0].position))
        else:
            name, entry = _entry(statement)
            tables[-1].entries.setdefault(name, entry)
    return Outline(tables=tuple(tables))


def position_of(text: str, offset: int) -> TextPosition:
    """The position of a character."""
    start = text.rfind("\n", 0, offset) + 1
    return TextPosition(line=text.count("\n", 0, offset) + 1, column=offset - start + 1)


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
            position = TextPosition(line=line, column=match.start() - line_start + 1)
            statements[-1].append(_Token(kind=kind, text=match.group(), position=position))
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


def _entry(statement: list[_Token]) -> tuple[str, TomlEntry]:
    equals = next(index for index, token in enumerate(statement) if token.text == "=" and token.kind == "mark")
    value = statement[equals + 1 :]
    depth, items = 0, list[TextPosition]()
    for token in value:
        if depth == 1 and token.kind in ("bare", "string"):
            items.append(token.position)
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.text, 0)
    entry = TomlEntry(key=statement[0].position, value=value[0].position, items=tuple(items))
    return _unquoted(statement[0].text), entry


def _unquoted(text: str) -> str:
    return str(tomllib.loads(f"key = {text}")["key"]) if text[0] in "\"'" else text


MAX_FILE_CHARACTERS: Final = 1_000_000
_AT: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")
_WORD: Final = re.compile(r"'([^']+)'")


class StrictTable(BaseModel):
    """A table of a file: every key known, every value of its own type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


_Table = TypeVar("_Table", bound=StrictTable)


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlText:
    """A TOML text that was read."""

    origin: str
    """How messages name the file."""
    data: Mapping[str, Any]
    outline: Outline

    def into(self, table: type[_Table]) -> _Table:
        """All of it as a checked table. Raises `UserError` for the mistake that stands first."""
        try:
            return table.model_validate(self.data)
        except ValidationError as error:
            # Not chained: what stands in a file may be a secret, and pydantic's error holds it.
            mistakes = [_mistake(one, table) for one in error.errors(include_url=False)]
        path, message, hint, is_key = min(mistakes, key=lambda one: self.outline.position(one[0], at_key=one[3]))
        self.refuse(path, message, hint, at_key=is_key)

    def refuse(self, path: Path, message: str, hint: Hint, *, at_key: bool = False) -> NoReturn:
        """Ends reading at the value of this path, or at its key."""
        refuse_text(self.origin, self.outline.position(path, at_key=at_key), message, hint)


def read_toml(text: str, origin: str, *, see: str) -> TomlText:
    """A text taken apart. Raises `UserError`; `see` names the page that explains the file."""
    hint = f"See {see}."
    if len(text) > MAX_FILE_CHARACTERS:
        refuse_text(
            origin, TextPosition(line=1, column=1), f"the file has more than {MAX_FILE_CHARACTERS} characters.", hint
        )
    try:
        return TomlText(origin=origin, data=tomllib.loads(text), outline=outline_of(text))
    except ValueError as error:
        # Not only TOMLDecodeError: an integer of thousands of digits is a plain ValueError.
        found = _AT.search(str(error))
        position = (
            TextPosition(line=int(found[1]), column=int(found[2]))
            if found and found[1]
            else position_of(text, len(text))
        )
        refuse_text(origin, position, f"this is not TOML: {_AT.sub('', str(error))}.", hint)
    except RecursionError:
        refuse_text(origin, TextPosition(line=1, column=1), "brackets are nested too deeply.", hint)


def refuse_text(origin: str, position: TextPosition, message: str, hint: Hint) -> NoReturn:
    """Ends reading at a position."""
    raise UserError(f"{origin}, line {position.line}, column {position.column}: {message}", hint=hint)


def _mistake(error: ErrorDetails, table: type[StrictTable]) -> tuple[Path, str, str, bool]:
    """Where what pydantic found stands, what to say about it, a hint, and whether it is about the key.

    In the words of these files. Values are shown only where a word was expected.
    """
    path = error["loc"]
    names = [part for part in path if isinstance(part, str)]
    key = names[-1] if names else "file"
    match error["type"]:
        case "extra_forbidden":
            schema = table.model_json_schema()
            tables = (schema, *schema.get("$defs", {}).values())
            known = [each for part in tables for each in part.get("properties", {})]
            hint = _hint(key, known, otherwise="Correct it, or leave it out.")
            return path, f"unknown key {key!r}.", hint, True
        case "missing":
            return path[:-1], f"{key!r} is missing.", "It is always needed.", False
        case "literal_error" if isinstance(error["input"], str):
            said, known = error["input"], _WORD.findall(error["ctx"]["expected"] if "ctx" in error else "")
            hint = _hint(said, known, otherwise=f"Known: {', '.join(known)}.")
            return path, f"unknown {key} {said!r}.", hint, False
        case "string_type" if isinstance(path[-1], int):
            return path, f"{key!r} holds what is no string.", f'Write {key} = ["…"].', False
        case "string_type" | "literal_error":
            return path, f"{key!r} must be a string.", f'Write {key} = "…".', False
        case "tuple_type":
            hint = f'Write {key} = ["…"]; of tables, [[{key}]].'
            return path, f"{key!r} must be a list.", hint, False
        case "too_short":
            return path, f"{key!r} is empty.", "Name something, or leave the line out.", False
        case "bool_type":
            return path, f"{key!r} must be true or false.", "Without quotes.", False
        case "model_type" | "dict_type":
            return path, f"{key!r} must be a table.", f"Write [{'.'.join(names)}].", False
        case _:
            return path, f"{key!r}: {error['msg']}.", "Give it a value of that kind.", False


def _hint(said: str, known: list[str], *, otherwise: str) -> str:
    near = difflib.get_close_matches(said, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise
