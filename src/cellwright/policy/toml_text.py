"""TOML texts read into models, or one clear error with file, line and column.

`tomllib` reads, pydantic checks, `toml_places` says where. Nothing is skipped or converted: an unknown key or word and
a value of another type are errors.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from cellwright.errors import UserError
from cellwright.policy.toml_places import Outline, Path, Place, outline, place_of

LARGEST_FILE: Final = 1_000_000
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
    places: Outline

    def into(self, table: type[_Table]) -> _Table:
        """All of it as a checked table. Raises `UserError` for the mistake that stands first."""
        try:
            return table.model_validate(self.data)
        except ValidationError as error:
            # Not chained: what stands in a file may be a secret, and pydantic's error holds it.
            mistakes = [_mistake(one, table) for one in error.errors(include_url=False)]
        first = min(mistakes, key=lambda one: self.places.place(one.path, at_key=one.is_key))
        self.refuse(first.path, first.message, first.hint, at_key=first.is_key)

    def refuse(self, path: Path, message: str, hint: str, *, at_key: bool = False) -> NoReturn:
        """Ends reading at the value of this path, or at its key."""
        refuse_text(self.origin, self.places.place(path, at_key=at_key), message, hint)


def read_toml(text: str, origin: str, *, see: str) -> TomlText:
    """A text taken apart. Raises `UserError`; `see` names the page that explains the file."""
    hint = f"See {see}."
    if len(text) > LARGEST_FILE:
        refuse_text(origin, Place(line=1, column=1), f"the file has more than {LARGEST_FILE} characters.", hint)
    try:
        return TomlText(origin=origin, data=tomllib.loads(text), places=outline(text))
    except ValueError as error:
        # Not only TOMLDecodeError: an integer of thousands of digits is a plain ValueError.
        found = _AT.search(str(error))
        place = Place(line=int(found[1]), column=int(found[2])) if found and found[1] else place_of(text, len(text))
        refuse_text(origin, place, f"this is not TOML: {_AT.sub('', str(error))}.", hint)
    except RecursionError:
        refuse_text(origin, Place(line=1, column=1), "brackets are nested too deeply.", hint)


def refuse_text(origin: str, place: Place, message: str, hint: str) -> NoReturn:
    """Ends reading at a place."""
    raise UserError(f"{origin}, line {place.line}, column {place.column}: {message}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mistake:
    path: Path
    message: str
    hint: str
    is_key: bool = False


def _mistake(error: ErrorDetails, table: type[StrictTable]) -> _Mistake:
    """What pydantic found, in the words of these files. Values are shown only where a word was expected."""
    path = error["loc"]
    names = [part for part in path if isinstance(part, str)]
    key = names[-1] if names else "file"
    match error["type"]:
        case "extra_forbidden":
            hint = _hint(key, _keys(table), otherwise="Correct it, or leave it out.")
            return _Mistake(path=path, message=f"unknown key {key!r}.", hint=hint, is_key=True)
        case "missing":
            return _Mistake(path=path[:-1], message=f"{key!r} is missing.", hint="It is always needed.")
        case "literal_error" if isinstance(error["input"], str):
            said, known = error["input"], _WORD.findall(error["ctx"]["expected"] if "ctx" in error else "")
            hint = _hint(said, known, otherwise=f"Known: {', '.join(known)}.")
            return _Mistake(path=path, message=f"unknown {key} {said!r}.", hint=hint)
        case "string_type" if isinstance(path[-1], int):
            return _Mistake(path=path, message=f"{key!r} holds what is no string.", hint=f'Write {key} = ["…"].')
        case "string_type" | "literal_error":
            return _Mistake(path=path, message=f"{key!r} must be a string.", hint=f'Write {key} = "…".')
        case "tuple_type":
            hint = f'Write {key} = ["…"]; of tables, [[{key}]].'
            return _Mistake(path=path, message=f"{key!r} must be a list.", hint=hint)
        case "too_short":
            return _Mistake(path=path, message=f"{key!r} is empty.", hint="Name something, or leave the line out.")
        case "bool_type":
            return _Mistake(path=path, message=f"{key!r} must be true or false.", hint="Without quotes.")
        case "model_type" | "dict_type":
            return _Mistake(path=path, message=f"{key!r} must be a table.", hint=f"Write [{'.'.join(names)}].")
        case _:
            return _Mistake(path=path, message=f"{key!r}: {error['msg']}.", hint="Give it a value of that kind.")


def _keys(table: type[StrictTable]) -> list[str]:
    """Every key of a file, of whichever of its tables."""
    schema = table.model_json_schema()
    return [key for part in (schema, *schema.get("$defs", {}).values()) for key in part.get("properties", {})]


def _hint(said: str, known: list[str], *, otherwise: str) -> str:
    near = difflib.get_close_matches(said, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise
