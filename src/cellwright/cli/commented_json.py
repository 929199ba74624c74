"""JSON that people write, with comments and commas at the end: one entry is put in or taken out, the rest stays as it
is, to the letter."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from cellwright.errors import UserError

_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LITERAL: Final = re.compile(r"[^\s,\]}/]+")
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    name: str
    start: int
    value: int
    end: int


def read_commented(text: str) -> Any:
    """What it means. Raises `UserError`."""
    plain, at = list[str](), 0
    while at < len(text):
        if (found := _STRING.match(text, at)) is not None:
            plain.append(found[0])
        elif (found := _SPACE.match(text, at)) is not None and found[0]:
            plain.append(" ")
        elif text[at] == "," and text[_after_space(text, at + 1) :][:1] in {"}", "]"}:
            at += 1
            continue
        else:
            plain.append(text[at])
            at += 1
            continue
        at = found.end()
    try:
        return json.loads("".join(plain))
    except ValueError as problem:
        raise UserError(f"It is not JSON: {problem}.") from problem


def with_member(text: str, section: str, name: str, value: object) -> str:
    """The text with this entry in this section, both made if need be. Raises `UserError`."""
    text = text if text.strip() else "{}\n"
    wanted = _object(read_commented(text))
    wanted[section] = {**_object(wanted.get(section, {})), name: value}
    root = _start(text)
    found = _find(text, root, section)
    if found is None:
        changed = _put(text, root, section, {name: value}, "")
    elif (old := _find(text, found.value, name)) is None:
        changed = _put(text, found.value, name, value, _INDENT)
    else:
        changed = text[: old.value] + _lines(value, _INDENT * 2) + text[old.end :]
    return _checked(changed, wanted)


def without_member(text: str, section: str, name: str) -> str:
    """The text without this entry, and without a section that had no other. Raises `UserError`."""
    wanted = _object(read_commented(text)) if text.strip() else {}
    found = _find(text, _start(text), section) if section in wanted else None
    if found is None or (old := _find(text, found.value, name)) is None:
        return text
    kept = {key: value for key, value in _object(wanted[section]).items() if key != name}
    if kept:
        return _checked(_cut(text, found.value, old), {**wanted, section: kept})
    del wanted[section]
    return _checked(_cut(text, _start(text), found), wanted)


def _checked(text: str, wanted: Any) -> str:
    """Never write what says something else than was meant."""
    if read_commented(text) != wanted:
        raise UserError("It is written in a way that cannot be changed safely.")
    return text


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError("It is not an object where one is needed.")
    return {**value}


def _start(text: str) -> int:
    return _after_space(text, 0)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _end_of_value(text: str, at: int) -> int:
    if text[at] == '"' and (found := _STRING.match(text, at)) is not None:
        return found.end()
    if text[at] not in "{[":
        found = _LITERAL.match(text, at)
        return found.end() if found is not None else at + 1
    at = _after_space(text, at + 1)
    while text[at] not in "}]":
        at = _after_space(text, at + 1 if text[at] in ",:" else _end_of_value(text, at))
    return at + 1


def _members(text: str, start: int) -> list[_Member]:
    """Those of the object that begins there."""
    members, at = list[_Member](), _after_space(text, start + 1)
    while text[at] != "}":
        end_of_name = _end_of_value(text, at)
        value = _after_space(text, _after_space(text, end_of_name) + 1)
        end = _end_of_value(text, value)
        members.append(_Member(name=json.loads(text[at:end_of_name]), start=at, value=value, end=end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return members


def _find(text: str, start: int, name: str) -> _Member | None:
    return next((each for each in _members(text, start) if each.name == name), None)


def _lines(value: object, indent: str) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")


def _put(text: str, start: int, name: str, value: object, outer: str) -> str:
    """One more entry, behind the others."""
    indent = outer + _INDENT
    entry = f"\n{indent}{json.dumps(name)}: {_lines(value, indent)}"
    if members := _members(text, start):
        return f"{text[: members[-1].end]},{entry}{text[members[-1].end :]}"
    rest = text[start + 1 :]
    return f"{text[: start + 1]}{entry}{rest if rest.startswith(chr(10)) else f'{chr(10)}{outer}{rest}'}"


def _cut(text: str, start: int, old: _Member) -> str:
    """Without this entry, and with as many commas as there should be."""
    members = _members(text, start)
    index = [each.start for each in members].index(old.start)
    if index + 1 < len(members):
        return text[: old.start] + text[members[index + 1].start :]
    if index:
        return text[: members[index - 1].end] + text[old.end :]
    # The only one: what else stands in the braces stays.
    after = _after_space(text, old.end)
    rest = text[after + 1 :] if text[after] == "," else text[old.end :]
    before = text[: old.start].rstrip(" \t\n") if text[: old.start].rstrip(" \t\n").endswith("{") else text[: old.start]
    return before + (rest.lstrip(" \t\n") if before.endswith("{") else rest)
