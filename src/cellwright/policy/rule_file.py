"""Rule files read: TOML texts become rules, or one clear error with file, line and column.

Nothing is ever skipped: an unknown key, kind or word is an error, so no damaged file becomes a looser policy. Strings
over several lines are refused, because one stray quote could swallow the rules behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Final, Literal, cast

from pydantic import BeforeValidator, Field

from cellwright.policy.actions import KINDS, TRAITS, Access, Kind
from cellwright.policy.budgets import Limit, Measure, Per, Window
from cellwright.policy.display_text import shown
from cellwright.policy.hosts import parse_host_pattern
from cellwright.policy.money import LARGEST_AMOUNT, Money, parse_money
from cellwright.policy.paths import parse_path_pattern
from cellwright.policy.rules import (
    AccessPattern,
    AmountAbove,
    AmountUpTo,
    Layer,
    Pattern,
    Rule,
    RuleEffect,
    Rules,
    parse_command_pattern,
    parse_name_pattern,
    parse_package_pattern,
    parse_tool_pattern,
)
from cellwright.policy.toml_text import (
    MAX_FILE_CHARACTERS,
    Path,
    StrictTable,
    TextPosition,
    TomlText,
    position_of,
    read_toml,
    refuse_text,
)

_SPEND: Final = frozenset[Kind]({"spend"})
_QUERY: Final = frozenset[Kind]({"query-connection"})
_PARSERS: Final[Mapping[str, Callable[[str], Pattern | str]]] = {
    "hosts": parse_host_pattern,
    "connections": parse_name_pattern,
    "packages": parse_package_pattern,
    "commands": parse_command_pattern,
    "branches": parse_name_pattern,
    "tools": parse_tool_pattern,
    "servers": parse_name_pattern,
}


def _listed(value: object) -> object:
    """One word stands for a list of it."""
    return [value] if isinstance(value, str) else value


# Not strict: TOML has lists only, and a tuple can be a default.
_Texts = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


class RuleTable(StrictTable):
    """One `[[rule]]`. Which of its lists may stand there depends on its action."""

    action: Annotated[tuple[Literal[Kind, "*"], ...], BeforeValidator(_listed), Field(min_length=1, strict=False)]
    then: RuleEffect
    reason: str = ""
    paths: _Texts = ()
    except_paths: _Texts = ()
    hosts: _Texts = ()
    except_hosts: _Texts = ()
    connections: _Texts = ()
    except_connections: _Texts = ()
    access: Annotated[tuple[Access, ...], BeforeValidator(_listed), Field(min_length=1, strict=False)] = ()
    packages: _Texts = ()
    except_packages: _Texts = ()
    commands: _Texts = ()
    except_commands: _Texts = ()
    branches: _Texts = ()
    except_branches: _Texts = ()
    tools: _Texts = ()
    except_tools: _Texts = ()
    servers: _Texts = ()
    except_servers: _Texts = ()
    above: str = ""
    up_to: str = ""


class LimitTable(StrictTable):
    """One `[[limit]]`."""

    of: Measure
    per: Per
    at_most: object
    """Money or a number, by what it is of."""
    each: Window = "ever"


class RuleFileTable(StrictTable):
    """A whole rule file."""

    rule: Annotated[tuple[RuleTable, ...], Field(strict=False)] = ()
    limit: Annotated[tuple[LimitTable, ...], Field(strict=False)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReader:
    """Makes rules of tables."""

    project: str
    home: str
    file: TomlText

    def rule(self, layer: Layer, number: int, table: RuleTable) -> Rule:
        """The rule of the table of this number. Raises `UserError`."""
        at = ("rule", number)
        kinds = self._kinds(at, table)
        self._check_keys(at, table, kinds)
        return Rule(
            layer=layer,
            origin=self.file.origin,
            line=self.file.outline.position(at).line,
            says=table.then,
            kinds=kinds,
            conditions=self._conditions(at, table, kinds),
            exceptions=self._patterns(at, table, f"except_{key}") if (key := _list_key(kinds)) else (),
            reason=shown(table.reason),
        )

    def limit(self, number: int, table: LimitTable) -> Limit:
        """The limit of the table of this number. Raises `UserError`."""
        at = ("limit", number)
        amount, currency = self._amount((*at, "at_most"), table)
        return Limit(
            measure=table.of,
            per=table.per,
            at_most=amount,
            window=table.each,
            currency=currency,
            where=f"{self.file.origin}:{self.file.outline.position(at).line}",
        )

    def _amount(self, path: Path, table: LimitTable) -> tuple[Decimal, str]:
        said = table.at_most
        if table.of == "money":
            money = self._money(path, said)
            return money.amount, money.currency
        if isinstance(said, bool) or not isinstance(said, int) or not 0 <= said <= LARGEST_AMOUNT:
            self.file.refuse(path, "'at_most' must be a whole number, not negative.", "Write at_most = 100.")
        return Decimal(said), ""

    def _kinds(self, at: Path, table: RuleTable) -> frozenset[Kind]:
        if "*" in table.action:
            if len(table.action) > 1 or table.then == "allow":
                hint = "Name each kind of action to allow."
                self.file.refuse((*at, "action"), "'*' stands alone, and never allows.", hint)
            return frozenset(KINDS)
        kinds = frozenset(cast("tuple[Kind, ...]", table.action))
        if len(kinds) > 1 and _list_key(kinds) is None:
            hint = "Write a rule for each of them."
            self.file.refuse((*at, "action"), "these actions are about different things.", hint)
        return kinds

    def _check_keys(self, at: Path, table: RuleTable, kinds: frozenset[Kind]) -> None:
        """Only keys these kinds know; and a rule that allows says what, for a lost line must not make it wider."""
        key = _list_key(kinds)
        bounds = {"above", "up_to"} if kinds == _SPEND else {key, f"except_{key}"} if key else set[str]()
        bounds |= {"access"} if kinds == _QUERY else set()
        known = {"action", "then", "reason"} | bounds
        for name in sorted(table.model_fields_set - known):
            self.file.refuse(
                (*at, name), f"unknown key {name!r}.", f"Known here: {', '.join(sorted(known))}.", at_key=True
            )
        needed = ["up_to"] if kinds == _SPEND else [key or ""]
        needed += ["access"] if kinds == _QUERY else []
        if table.then == "allow" and any(TRAITS[kind].needs_person for kind in kinds):
            hint = "Leave the rule out: a person says yes, once or for a run."
            self.file.refuse((*at, "then"), "no rule allows what nothing contains.", hint)
        for name in needed:
            if table.then == "allow" and name not in table.model_fields_set:
                self.file.refuse(at, f"a rule that allows needs {name!r}.", "Say exactly what it allows.")

    def _conditions(self, at: Path, table: RuleTable, kinds: frozenset[Kind]) -> tuple[tuple[Pattern, ...], ...]:
        groups = list[tuple[Pattern, ...]]()
        if "above" in table.model_fields_set:
            groups.append((AmountAbove(money=self._money((*at, "above"), table.above)),))
        if "up_to" in table.model_fields_set:
            groups.append((AmountUpTo(money=self._money((*at, "up_to"), table.up_to)),))
        if key := _list_key(kinds):
            groups.append(self._patterns(at, table, key))
        groups.append(tuple(AccessPattern(access=word) for word in table.access))
        # A list that was not written is no condition; a written one is never empty.
        return tuple(group for group in groups if group)

    def _patterns(self, at: Path, table: RuleTable, key: str) -> tuple[Pattern, ...]:
        patterns = list[Pattern]()
        texts: tuple[str, ...] = getattr(table, key)
        for index, text in enumerate(texts):
            form = key.removeprefix("except_")
            pattern = (
                parse_path_pattern(text, project=self.project, home=self.home)
                if form == "paths"
                else _PARSERS[form](text)
            )
            if isinstance(pattern, str):
                self.file.refuse((*at, key, index), f"{text!r} {pattern}.", "See the patterns in docs/policy.md.")
            patterns.append(pattern)
        return tuple(patterns)

    def _money(self, path: Path, said: object) -> Money:
        money = parse_money(said) if isinstance(said, str) else None
        if money is None:
            self.file.refuse(path, f"{said!r} is no amount of money.", 'Write it as "5.00 USD".')
        return money


def _list_key(kinds: frozenset[Kind]) -> str | None:
    keys = {TRAITS[kind].listed_as for kind in kinds}
    return (keys.pop() or None) if len(keys) == 1 else None


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
        if (position := file.outline.multiline_string) is not None:
            refuse_text(text.origin, position, "a string goes over several lines.", "Write it on one line.")
        tables = file.into(RuleFileTable)
        reader = RuleReader(project=project, home=home, file=file)
        rules += [reader.rule(text.layer, number, table) for number, table in enumerate(tables.rule)]
        limits += [reader.limit(number, table) for number, table in enumerate(tables.limit)]
    return Rules(project=project, rules=tuple(rules), limits=tuple(limits))


def _decode(source: RuleText) -> str:
    if len(source.content) > MAX_FILE_CHARACTERS:
        message = f"the file has more than {MAX_FILE_CHARACTERS} bytes."
        refuse_text(source.origin, TextPosition(line=1, column=1), message, "Split it.")
    try:
        return source.content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = source.content[: error.start].decode("utf-8").replace("\r\n", "\n")
        refuse_text(source.origin, position_of(before, len(before)), "this is not UTF-8.", "Save the file as UTF-8.")
