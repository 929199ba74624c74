"""What is wanted of each document: fields with a type, as a person types them or as a file says them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from cellwright.errors import UserError

FieldType = Literal["text", "number", "integer", "date", "boolean"]
FIELD_TYPES: Final[tuple[FieldType, ...]] = get_args(FieldType)
MAX_FIELDS: Final = 40
MAX_READINGS: Final = 2
MAX_CHOICES: Final = 50
_MAX_SCHEMA_BYTES: Final = 200_000
_NAME: Final = re.compile(r"[A-Za-z_]\w{0,59}", re.ASCII)
_ALIASES: Final[dict[str, FieldType]] = {
    "string": "text", "str": "text", "float": "number", "decimal": "number", "money": "number", "int": "integer",
    "bool": "boolean", "date-time": "date",
}  # fmt: skip
_TAKEN: Final = frozenset({"document", "row", "marks", "cost_usd"})
"""Columns every table of rows has."""
_EXAMPLE: Final = 'For example "party, date:date, amount:number", or a .toml or .json file.'


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedField:
    """One thing that is looked for."""

    name: str
    type: FieldType = "text"
    says: str = ""
    """What is meant, in words."""
    choices: tuple[str, ...] = ()
    """The only values there are; empty: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionOrder:
    """What is to be extracted from what: a part of a run's goal."""

    fields: tuple[ExtractedField, ...]
    documents: tuple[str, ...]
    """Files and folders, absolute."""
    readings: int = 1
    """Two: each document is read twice, and what differs is marked."""
    has_many_rows: bool = False
    """A document may hold several entries; else it is one row."""


def read_fields(words: str, here: Path) -> tuple[ExtractedField, ...]:
    """The fields: a list as it is typed, or a file that says them. Raises `UserError`. Blocking."""
    path = here / words.strip()
    if words.strip().endswith((".toml", ".json")):
        try:
            text = path.read_bytes()[: _MAX_SCHEMA_BYTES + 1].decode()
        except (OSError, UnicodeDecodeError) as problem:
            raise UserError(f"The schema {str(path)!r} cannot be read: {problem}.", hint=_EXAMPLE) from None
        return _checked(_from_file(text, is_toml=path.suffix == ".toml"))
    return _checked([_from_words(part) for part in words.split(",") if part.strip()])


def read_order(
    schema: str, documents: Sequence[str], *, here: Path, readings: int = 1, has_many_rows: bool = False
) -> ExtractionOrder:
    """The order as somebody typed it, its paths absolute. Raises `UserError`. Blocking."""
    if readings not in range(1, MAX_READINGS + 1):
        raise UserError(f"{readings} readings are not possible.", hint=f"1 or {MAX_READINGS}.")
    fields = read_fields(schema, here)
    paths = [(here / Path(word).expanduser()).absolute() for word in documents]
    for path in paths:
        if not path.exists():
            raise UserError(f"There is no file or folder {str(path)!r}.", hint="Name documents, or folders of them.")
    return ExtractionOrder(
        fields=fields, documents=tuple(map(str, paths)), readings=readings, has_many_rows=has_many_rows
    )


def extraction_words(order: ExtractionOrder) -> str:
    """The order as a goal in words."""
    names = [Path(path).name for path in order.documents]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"Extract {field_list(order.fields)} from {shown}"


def field_list(fields: tuple[ExtractedField, ...]) -> str:
    """The fields as `read_fields` takes them."""
    kinds = ["|".join(each.choices) if each.choices else each.type for each in fields]
    return ", ".join(
        each.name if kind == "text" else f"{each.name}:{kind}" for each, kind in zip(fields, kinds, strict=True)
    )


def _from_words(part: str) -> ExtractedField:
    """`name`, `name:type` or `name:one|another`, and words behind any of them."""
    head, _, says = re.sub(r"\s*:\s*", ":", part.strip(), count=1).partition(" ")
    name, _, type_ = head.partition(":")
    says = says.strip(" ()")[:500]
    if "|" in type_:
        return ExtractedField(name=name, says=says, choices=_choices(type_.split("|"), name))
    return ExtractedField(name=name, type=_type(type_ or "text"), says=says)


def _choices(given: object, name: str) -> tuple[str, ...]:
    told = given if isinstance(given, list) else []
    found = tuple(dict.fromkeys(" ".join(str(each).split()) for each in told if each is not None))
    if len(found) < 2 or len(found) > MAX_CHOICES or any(not each or len(each) > 100 for each in found):
        hint = f"2 to {MAX_CHOICES} different ones: kind:MIT|BSD|Apache, or an `enum` in a file."
        raise UserError(f"The choices of {name[:60]!r} are none to choose from.", hint=hint)
    return found


def _from_file(text: str, *, is_toml: bool) -> list[ExtractedField]:
    """A JSON schema's properties, or a table of fields: names with a type, or with a table of `type` and `says`."""
    try:
        raw: Any = tomllib.loads(text) if is_toml else json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UserError(f"The schema is no {'TOML' if is_toml else 'JSON'}: {problem}.", hint=_EXAMPLE) from None
    known = raw if isinstance(raw, dict) else {}
    table = next((known[key] for key in ("properties", "fields") if isinstance(known.get(key), dict)), known)
    fields = list[ExtractedField]()
    for name, said in table.items():
        if isinstance(said, str):
            fields.append(
                ExtractedField(name=name, choices=_choices(said.split("|"), name))
                if "|" in said
                else ExtractedField(name=name, type=_type(said))
            )
        elif isinstance(said, Mapping):
            says = said.get("says") or said.get("description") or ""
            if "enum" in said:
                fields.append(ExtractedField(name=name, says=str(says)[:500], choices=_choices(said["enum"], name)))
                continue
            kind = "date" if said.get("format") in {"date", "date-time"} else said.get("type", "text")
            kind = next((each for each in kind if each != "null"), "text") if isinstance(kind, list) else kind
            fields.append(ExtractedField(name=name, type=_type(str(kind)), says=str(says)[:500]))
    return fields


def _type(word: str) -> FieldType:
    plain = word.strip().lower()
    found = next((each for each in FIELD_TYPES if each == plain), _ALIASES.get(plain))
    if found is None:
        raise UserError(f"{word[:60]!r} is no type of a field.", hint=f"One of {', '.join(FIELD_TYPES)}. {_EXAMPLE}")
    return found


def _checked(fields: list[ExtractedField]) -> tuple[ExtractedField, ...]:
    if not fields:
        raise UserError("The schema names no field.", hint=_EXAMPLE)
    if len(fields) > MAX_FIELDS:
        raise UserError(f"A schema has at most {MAX_FIELDS} fields, this has {len(fields)}.", hint=_EXAMPLE)
    for at, each in enumerate(fields):
        if _NAME.fullmatch(each.name) is None or each.name in _TAKEN:
            hint = f"Letters, digits and underscores; none of {', '.join(sorted(_TAKEN))}."
            raise UserError(f"{each.name[:60]!r} is no name for a field.", hint=hint)
        if each.name in {other.name for other in fields[:at]}:
            raise UserError(f"Two fields are called {each.name!r}.", hint=_EXAMPLE)
    return tuple(fields)
