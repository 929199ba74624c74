"""The head of a role or skill file: `---`, a few plain fields, `---`, then the text.

A small, strict part of YAML: `key: value`, quoted texts, `[a, b]`, lists with `- `, folded (`>`) and kept (`|`) blocks,
and one level of `key: value` below a key. Everything else is refused with its line, never guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.errors import UserError

Value = str | tuple[str, ...] | Mapping[str, str]
"""A text, a list of texts, or texts by name. What is a number is for the reader of the field to say."""

_MARK: Final = "---"
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(.*))?")
_BLOCK: Final = re.compile(r"([>|])-?")
_NOT_PLAIN: Final = tuple("&*!%@`{}[]>|\"'#,?")
"""A plain text that begins so means something else in YAML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field, and the line it stands on."""

    value: Value
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A file's fields and its text."""

    where: str
    fields: Mapping[str, Field]
    body: str

    def complain(self, name: str, problem: str) -> UserError:
        """That this field is wrong, with its place."""
        line = self.fields[name].line if name in self.fields else 1
        return UserError(f"{self.where}:{line}: {problem}", hint=f"Correct `{name}` in the head of the file.")

    def text(self, name: str, default: str | None = None) -> str:
        """A field that is one text. Raises `UserError` if it is missing and has no default."""
        field = self.fields.get(name)
        if field is None:
            if default is None:
                raise self.complain(name, f"there is no `{name}`.")
            return default
        if not isinstance(field.value, str):
            raise self.complain(name, f"`{name}` is one text, not several.")
        return field.value

    def texts(self, name: str) -> tuple[str, ...]:
        """A field that is a list; one text is a list of its words."""
        field = self.fields.get(name)
        if field is None:
            return ()
        if isinstance(field.value, Mapping):
            raise self.complain(name, f"`{name}` is a list.")
        return tuple(field.value.split()) if isinstance(field.value, str) else field.value

    def only(self, known: Sequence[str]) -> None:
        """Raises `UserError` for a field nobody reads: most often a slip of the pen."""
        for name in self.fields:
            if name not in known:
                raise self.complain(name, f"nobody reads `{name}`; known are {', '.join(known)}.")


def read_page(text: str, where: str) -> Page:
    """The head and the text of a file. Raises `UserError` with the file and line."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _MARK:
        raise UserError(f"{where}:1: the file does not begin with `---`.", hint="Put name and description there.")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        raise UserError(f"{where}:1: the head has no end.", hint="Close it with a line of `---`.")
    fields = _Reader(lines[1:end], where).fields()
    return Page(where=where, fields=fields, body="\n".join(lines[end + 1 :]).strip())


class _Reader:
    """Reads the lines between the marks, one after the other."""

    def __init__(self, lines: Sequence[str], where: str) -> None:
        self._lines = lines
        self._where = where
        self._next = 0

    def fields(self) -> dict[str, Field]:
        found = dict[str, Field]()
        while (line := self._take()) is not None:
            match = _KEY.fullmatch(line.rstrip())
            if match is None:
                raise self._wrong("this is no `key: value`")
            name, number = match[1], self._line
            if name in found:
                raise self._wrong(f"`{name}` stands here twice")
            found[name] = Field(value=self._value((match[2] or "").strip()), line=number)
        return found

    @property
    def _line(self) -> int:
        """The line taken last, counted from the beginning of the file."""
        return self._next + 1

    def _take(self) -> str | None:
        while self._next < len(self._lines):
            line = self._lines[self._next]
            self._next += 1
            if line.strip() and not line.lstrip().startswith("#"):
                return line
        return None

    def _value(self, rest: str) -> Value:
        if _BLOCK.fullmatch(rest):
            return self._block(is_folded=rest[0] == ">")
        if rest.startswith("["):
            return self._inline_list(rest)
        if rest:
            return self._scalar(rest)
        below = self._below()
        if not below:
            return ""
        return self._list(below) if below[0].lstrip().startswith("- ") else self._mapping(below)

    def _below(self, *, keeps_blanks: bool = False) -> list[str]:
        """The indented lines that follow; list items need no indentation."""
        below = list[str]()
        while self._next < len(self._lines):
            line = self._lines[self._next]
            is_inside = line.startswith((" ", "\t")) or (not keeps_blanks and line.startswith("- "))
            if line.strip() and not is_inside:
                break
            self._next += 1
            if line.strip() or keeps_blanks:
                below.append(line)
        return below

    def _block(self, *, is_folded: bool) -> str:
        below = [line.strip() if is_folded else line for line in self._below(keeps_blanks=True)]
        if is_folded:
            return " ".join(line for line in below if line)
        indent = min((len(line) - len(line.lstrip()) for line in below if line.strip()), default=0)
        return "\n".join(line[indent:] for line in below).strip()

    def _list(self, below: Sequence[str]) -> tuple[str, ...]:
        if not all(line.lstrip().startswith("- ") for line in below):
            raise self._wrong("every line of a list begins with `- `")
        return tuple(self._scalar(line.lstrip()[2:].strip()) for line in below)

    def _mapping(self, below: Sequence[str]) -> dict[str, str]:
        found = dict[str, str]()
        for line in below:
            match = _KEY.fullmatch(line.strip())
            if match is None or not match[2]:
                raise self._wrong("below a key stand `key: value` lines or a list, nothing deeper")
            found[match[1]] = self._scalar(match[2].strip())
        return found

    def _inline_list(self, rest: str) -> tuple[str, ...]:
        if not rest.endswith("]"):
            raise self._wrong("a list in brackets ends on its own line")
        inside = rest[1:-1].strip()
        return tuple(self._scalar(item.strip()) for item in inside.split(",")) if inside else ()

    def _scalar(self, text: str) -> str:
        if len(text) >= 2 and text[0] == text[-1] == "'":
            return text[1:-1].replace("''", "'")
        if len(text) >= 2 and text[0] == text[-1] == '"':
            try:
                return str(json.loads(text))
            except ValueError:
                raise self._wrong("this quoted text does not end, or escapes something unknown") from None
        plain = text.partition(" #")[0].rstrip()
        if plain.startswith(_NOT_PLAIN) or ": " in plain or plain.endswith(":"):
            raise self._wrong("put this text in quotes")
        return plain

    def _wrong(self, problem: str) -> UserError:
        return UserError(
            f"{self._where}:{self._line}: {problem}.",
            hint="Understood are `key: value`, quoted texts, [a, b], `- ` lists and > or | blocks.",
        )
