"""Rule files read: TOML texts become rules, or one clear error with file, line and column.

Nothing is ever skipped: an unknown key, kind or word is an error, so no damaged file becomes a looser policy. Strings
over several lines are refused, because one stray quote could swallow the rules behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cellwright.policy.limits import Limit
from cellwright.policy.rule_fields import RuleFileTable, RuleReader
from cellwright.policy.rules import Layer, Rule, Rules
from cellwright.policy.toml_places import Place, place_of
from cellwright.policy.toml_text import LARGEST_FILE, read_toml, refuse_text


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
        file = read_toml(_decode(text), text.origin, see="the rule file format in docs/policy.md")
        if (place := file.places.multiline_string) is not None:
            refuse_text(text.origin, place, "a string goes over several lines.", "Write it on one line.")
        tables = file.into(RuleFileTable)
        reader = RuleReader(project=project, home=home, file=file)
        rules += [reader.rule(text.layer, number, table) for number, table in enumerate(tables.rule)]
        limits += [reader.limit(number, table) for number, table in enumerate(tables.limit)]
    return Rules(project=project, rules=tuple(rules), limits=tuple(limits))


def _decode(source: RuleText) -> str:
    if len(source.content) > LARGEST_FILE:
        message = f"the file has more than {LARGEST_FILE} bytes."
        refuse_text(source.origin, Place(line=1, column=1), message, "Split it.")
    try:
        return source.content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = source.content[: error.start].decode("utf-8").replace("\r\n", "\n")
        refuse_text(source.origin, place_of(before, len(before)), "this is not UTF-8.", "Save the file as UTF-8.")
