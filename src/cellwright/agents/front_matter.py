"""The head of a role or skill file: `---`, YAML, `---`, then the text. Every value is text, and stands on a line.

Of YAML there is what a head needs: texts, lists of texts and texts by name. Anchors, aliases and tags are refused, so
a small head stays small and makes nothing but texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError

T = TypeVar("T")
FieldValue = str | tuple[str, ...] | Mapping[str, str]
"""A text, a list of texts, or texts by name. What is a number is for the reader of the field to say."""

_MARK: Final = "---"
_LARGEST_HEAD: Final = 65_536
_DEEPEST: Final = 2
"""The head itself, and a list or names below a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """A file's fields, the lines they stand on, and its text."""

    where: str
    fields: Mapping[str, FieldValue]
    lines: Mapping[str, int]
    body: str

    def complain(self, name: str, problem: str) -> UserError:
        """That this field is wrong, with its place."""
        place = f"{self.where}:{self.lines.get(name, 1)}"
        return UserError(f"{place}: {problem}", hint=f"Correct `{name}` in the head of the file.")

    def read(self, adapter: TypeAdapter[list[T]], **more: object) -> T:
        """The fields, and what else is known, as something checked. Raises `UserError` with the field and its line.

        A field `a-b` is called `a_b` in Python. The adapter is of a list, for only so it takes what to do with others.
        """
        for name in self.fields:
            if "_" in name or name in more:
                raise self.complain(name, f"nobody reads `{name}`.")
        fields = {name.replace("-", "_"): value for name, value in self.fields.items()}
        try:
            return adapter.validate_python([{**fields, **more}])[0]
        except ValidationError as error:
            mistakes = [(str(one["loc"][1]).replace("_", "-"), one) for one in error.errors()]
        name, first = min(mistakes, key=lambda one: self.lines.get(one[0], 1))
        match first["type"]:
            case "missing":
                problem = f"there is no `{name}`."
            case "unexpected_keyword_argument":
                problem = f"nobody reads `{name}`."
            case _:
                problem = f"`{name}`: {first['msg']}."
        raise self.complain(name, problem)


def split_words(value: object) -> object:
    """A list of words, for fields in which one text stands for the list of its words."""
    texts = (value,) if isinstance(value, str) else value
    return [word for text in texts for word in text.split()] if isinstance(texts, tuple) else texts


def read_front_matter(text: str, where: str) -> FrontMatter:
    """The head and the text of a file. Raises `UserError` with the file and line."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _MARK:
        raise UserError(f"{where}:1: the file does not begin with `---`.", hint="Put name and description there.")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        raise UserError(f"{where}:1: the head has no end.", hint="Close it with a line of `---`.")
    fields, places = _Head(lines[1:end], where).read()
    return FrontMatter(where=where, fields=fields, lines=places, body="\n".join(lines[end + 1 :]).strip())


class _Head:
    """The lines between the marks."""

    def __init__(self, lines: Sequence[str], where: str) -> None:
        self._text = "\n".join(lines)
        self._last = len(lines)
        self._where = where

    def read(self) -> tuple[dict[str, FieldValue], dict[str, int]]:
        if len(self._text) > _LARGEST_HEAD:
            raise self._wrong(0, f"the head has more than {_LARGEST_HEAD:,} characters")
        try:
            self._refuse_what_heads_do_not_need()
            # BaseLoader makes texts only: no number, date or `no` is guessed at.
            root = yaml.compose(self._text, Loader=yaml.BaseLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self._wrong(mark.line if mark else 0, f"this is not YAML: {error.problem or error.context}") from None
        except yaml.YAMLError as error:
            raise self._wrong(0, f"this is not YAML: {str(error).splitlines()[0]}") from None
        if root is None:
            return {}, {}
        if not isinstance(root, yaml.MappingNode):
            raise self._wrong(root.start_mark.line, "this is no `key: value`")
        pairs = self._pairs(root)
        fields = {name: self._value(value) for name, _, value in pairs}
        return fields, {name: self._line(line) for name, line, _ in pairs}

    def _refuse_what_heads_do_not_need(self) -> None:
        """Before anything is made of it: parsing alone neither nests nor repeats."""
        depth = 0
        for event in yaml.parse(self._text, Loader=yaml.BaseLoader):
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.NodeEvent):
                line = event.start_mark.line
                if event.anchor is not None:
                    raise self._wrong(line, "anchors (&) and aliases (*) are not read here")
                if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
                    raise self._wrong(line, "tags (!) are not read here")
                if isinstance(event, yaml.CollectionStartEvent):
                    depth += 1
                    if depth > _DEEPEST:
                        raise self._wrong(line, "below a key stand texts or a list of texts, nothing deeper")

    def _pairs(self, node: Any) -> list[tuple[str, int, Any]]:
        found = dict[str, tuple[str, int, Any]]()
        for key, value in node.value:
            name, line = key.value, key.start_mark.line
            if not isinstance(name, str):
                raise self._wrong(line, "a key is one text")
            if name in found:
                raise self._wrong(line, f"`{name}` stands here twice")
            found[name] = (name, line, value)
        return list(found.values())

    def _value(self, node: Any) -> FieldValue:
        match node:
            case yaml.SequenceNode():
                return tuple(item.value.strip() for item in node.value)
            case yaml.MappingNode():
                return {name: value.value.strip() for name, _, value in self._pairs(node)}
            case _:
                return str(node.value).strip()

    def _line(self, line: int) -> int:
        """Of the file, of a line of the head; what YAML misses at the head's end is missing on its last line."""
        return min(line, self._last - 1) + 2

    def _wrong(self, line: int, problem: str) -> UserError:
        return UserError(
            f"{self._where}:{self._line(line)}: {problem}.",
            hint="Understood are `key: value`, quoted texts, [a, b], `- ` lists and > or | blocks.",
        )
