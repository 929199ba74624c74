"""Rule files read: TOML texts become rules, or one clear error with file, line and column.

Nothing is ever skipped: an unknown key, kind or word is an error, so no damaged file becomes a looser policy. Strings
over several lines are refused, because one stray quote could swallow the rules behind it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from cellwright.errors import UserError
from cellwright.policy.limits import Limit
from cellwright.policy.rule_fields import Fault, RuleReader, read_limit
from cellwright.policy.rules import Layer, Rule, Rules
from cellwright.policy.toml_places import Outline, Place, Table, outline, place_of

LARGEST_FILE: Final = 1_000_000
_AT: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")
_TABLES: Final = ("rule", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """One rule file, already read."""

    layer: Layer
    origin: str
    """How messages name the file."""
    content: bytes

    @classmethod
    def of(cls, layer: Layer, origin: str, text: str) -> RuleText:
        """A rule file from text."""
        return cls(layer=layer, origin=origin, content=text.encode("utf-8", "surrogatepass"))


def read_rules(texts: Iterable[RuleText], *, project: str = "/project", home: str = "") -> Rules:
    """The rules of all texts together. Raises `UserError` for the first mistake of the first text that has one.

    `project` and `home` anchor relative patterns and `~/`; both are absolute.
    """
    rules, limits = list[Rule](), list[Limit]()
    for text in texts:
        more_rules, more_limits = _read(text, RuleReader(project=project, home=home))
        rules += more_rules
        limits += more_limits
    return Rules(project=project, rules=tuple(rules), limits=tuple(limits))


def _read(source: RuleText, reader: RuleReader) -> tuple[list[Rule], list[Limit]]:
    text = _decode(source)
    data = _parse(source, text)
    places = outline(text)
    if places.multiline_string is not None:
        _refuse(source, places.multiline_string, "a string goes over several lines.", hint="Write it on one line.")
    _check_shape(source, places)
    try:
        rules = [
            reader.read(source.layer, source.origin, found, table) for found, table in _pairs(data, places, "rule")
        ]
        limits = [read_limit(source.origin, found, table) for found, table in _pairs(data, places, "limit")]
    except Fault as fault:
        _refuse(source, fault.place, fault.message, hint=fault.hint)
    return rules, limits


def _decode(source: RuleText) -> str:
    if len(source.content) > LARGEST_FILE:
        _refuse(source, Place(line=1, column=1), f"the file has more than {LARGEST_FILE} bytes.", hint="Split it.")
    try:
        return source.content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = source.content[: error.start].decode("utf-8").replace("\r\n", "\n")
        _refuse(source, place_of(before, len(before)), "this is not UTF-8.", hint="Save the file as UTF-8.")


def _parse(source: RuleText, text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Not only TOMLDecodeError: an integer of thousands of digits is a plain ValueError.
        found = _AT.search(str(error))
        place = Place(line=int(found[1]), column=int(found[2])) if found and found[1] else place_of(text, len(text))
        what = _AT.sub("", str(error))
        _refuse(source, place, f"this is not TOML: {what}.", hint="See the rule file format in docs/policy.md.")
    except RecursionError:
        _refuse(source, Place(line=1, column=1), "brackets are nested too deeply.", hint="A rule needs one level.")


def _check_shape(source: RuleText, places: Outline) -> None:
    """Every table is `[[rule]]` or `[[limit]]`, and nothing stands outside of them."""
    first, *tables = places.tables
    for name, entry in first.entries.items():
        _refuse(source, entry.key, f"{name!r} stands in no table.", hint="Start each rule with a line [[rule]].")
    for table in tables:
        if table.name not in _TABLES or not table.is_array:
            shape = f"[[{table.name}]]" if table.is_array else f"[{table.name}]"
            _refuse(source, table.place, f"unknown table {shape}.", hint="Known: [[rule]] and [[limit]].")


def _pairs(data: Mapping[str, Any], places: Outline, name: str) -> Iterable[tuple[Mapping[str, Any], Table]]:
    tables = [table for table in places.tables if table.name == name]
    return zip(cast("list[Mapping[str, Any]]", data.get(name, [])), tables, strict=True)


def _refuse(source: RuleText, place: Place, message: str, *, hint: str) -> NoReturn:
    raise UserError(f"{source.origin}, line {place.line}, column {place.column}: {message}", hint=hint)
