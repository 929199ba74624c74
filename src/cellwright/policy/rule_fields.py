"""The fields of one rule or limit: which there are, what may stand in them, and where a mistake stands."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeVar, cast

from cellwright.policy.actions import KINDS, Access, Kind
from cellwright.policy.hosts import parse_host_pattern
from cellwright.policy.limits import MEASURES, PARTIES, WINDOWS, Limit
from cellwright.policy.money import LARGEST_AMOUNT, Money, parse_money
from cellwright.policy.paths import parse_path_pattern
from cellwright.policy.patterns import (
    AccessPattern,
    AmountAbove,
    AmountUpTo,
    Pattern,
    parse_branch_pattern,
    parse_command_pattern,
    parse_connection_pattern,
    parse_package_pattern,
    parse_tool_pattern,
)
from cellwright.policy.rules import STRICTNESS, Layer, Rule
from cellwright.policy.shown import shown
from cellwright.policy.toml_places import Place, Table

_Word = TypeVar("_Word", bound=str)

_SPEND: Final = frozenset[Kind]({"spend"})
_QUERY: Final = frozenset[Kind]({"query-connection"})
_LISTS: Final[Mapping[Kind, str]] = {
    "edit-cells": "paths",
    "run-code": "paths",
    "read-file": "paths",
    "write-file": "paths",
    "delete-file": "paths",
    "use-network": "hosts",
    "query-connection": "connections",
    "install-package": "packages",
    "run-shell": "commands",
    "git-commit": "branches",
    "call-tool": "tools",
}
"""Under which key a rule about this kind lists what it means. Spending has bounds instead."""

_PARSERS: Final[Mapping[str, Callable[[str], Pattern | str]]] = {
    "hosts": parse_host_pattern,
    "connections": parse_connection_pattern,
    "packages": parse_package_pattern,
    "commands": parse_command_pattern,
    "branches": parse_branch_pattern,
    "tools": parse_tool_pattern,
}


class Fault(Exception):
    """What is wrong with a rule, and where."""

    def __init__(self, place: Place, message: str, hint: str) -> None:
        super().__init__(message)
        self.place = place
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReader:
    """Makes rules of tables."""

    project: str
    home: str

    def read(self, layer: Layer, origin: str, data: Mapping[str, Any], table: Table) -> Rule:
        """The rule of one table. Raises `Fault`."""
        fields = _Fields(data, table)
        kinds = _kinds(fields)
        says = fields.word("then", STRICTNESS)
        rule = Rule(
            layer=layer,
            origin=origin,
            line=table.place.line,
            says=says,
            kinds=kinds,
            conditions=self._conditions(fields, kinds),
            exceptions=self._exceptions(fields, kinds),
            reason=shown(fields.text("reason")) if fields.has("reason") else "",
        )
        fields.refuse_unknown()
        if says == "allow":
            _require_bounds(fields, kinds)
        return rule

    def _conditions(self, fields: _Fields, kinds: frozenset[Kind]) -> tuple[tuple[Pattern, ...], ...]:
        groups = list[tuple[Pattern, ...]]()
        if kinds == _SPEND:
            groups += [(AmountAbove(money=fields.money("above")),)] if fields.has("above") else []
            groups += [(AmountUpTo(money=fields.money("up_to")),)] if fields.has("up_to") else []
        elif (key := _list_key(kinds)) and fields.has(key):
            groups.append(self._patterns(fields, key, key))
        if kinds == _QUERY and fields.has("access"):
            words: list[Access] = fields.words("access", ("read", "write"))
            groups.append(tuple(AccessPattern(access=word) for word in words))
        return tuple(groups)

    def _exceptions(self, fields: _Fields, kinds: frozenset[Kind]) -> tuple[Pattern, ...]:
        key = _list_key(kinds)
        except_key = f"except_{key}"
        return self._patterns(fields, except_key, key) if key and fields.has(except_key) else ()

    def _patterns(self, fields: _Fields, key: str, form: str) -> tuple[Pattern, ...]:
        patterns = list[Pattern]()
        for index, text in enumerate(fields.texts(key)):
            pattern = (
                parse_path_pattern(text, project=self.project, home=self.home)
                if form == "paths"
                else _PARSERS[form](text)
            )
            if isinstance(pattern, str):
                raise fields.fault(key, f"{text!r} {pattern}.", "See the patterns in docs/policy.md.", item=index)
            patterns.append(pattern)
        return tuple(patterns)


def read_limit(origin: str, data: Mapping[str, Any], table: Table) -> Limit:
    """The limit of one table. Raises `Fault`."""
    fields = _Fields(data, table)
    measure = fields.word("of", MEASURES)
    money = fields.money("at_most") if measure == "money" else None
    limit = Limit(
        measure=measure,
        per=fields.word("per", PARTIES),
        at_most=money.amount if money else fields.count("at_most"),
        window=fields.word("each", WINDOWS) if fields.has("each") else "ever",
        currency=money.currency if money else "",
        where=f"{origin}:{table.place.line}",
    )
    fields.refuse_unknown()
    return limit


def _kinds(fields: _Fields) -> frozenset[Kind]:
    words = fields.words("action", (*KINDS, "*"))
    if "*" in words:
        if len(words) > 1 or fields.peek("then") == "allow":
            raise fields.fault("action", "'*' stands alone, and never allows.", "Name each kind of action to allow.")
        return frozenset(KINDS)
    kinds = frozenset(cast("list[Kind]", words))
    if len(kinds) > 1 and _list_key(kinds) is None:
        raise fields.fault("action", "these actions are about different things.", "Write a rule for each of them.")
    return kinds


def _list_key(kinds: frozenset[Kind]) -> str | None:
    keys = {_LISTS.get(kind) for kind in kinds}
    return keys.pop() if len(keys) == 1 else None


def _require_bounds(fields: _Fields, kinds: frozenset[Kind]) -> None:
    """A rule that allows says what it allows: a lost line must not make it wider."""
    needed = ["up_to"] if kinds == _SPEND else [_list_key(kinds) or ""]
    needed += ["access"] if kinds == _QUERY else []
    for key in needed:
        if not fields.has(key):
            raise Fault(fields.table.place, f"a rule that allows needs {key!r}.", "Say exactly what it allows.")


class _Fields:
    """The keys of one table, each read at most once; what nobody read is unknown."""

    def __init__(self, data: Mapping[str, Any], table: Table) -> None:
        self.table = table
        self._data = data
        self._known = set[str]()

    def has(self, key: str) -> bool:
        self._known.add(key)
        return key in self._data

    def peek(self, key: str) -> object:
        return self._data.get(key)

    def fault(self, key: str, message: str, hint: str, *, item: int | None = None, at_key: bool = False) -> Fault:
        entry = self.table.entries.get(key)
        if entry is None:
            return Fault(self.table.place, message, hint)
        if item is not None and item < len(entry.items):
            return Fault(entry.items[item], message, hint)
        return Fault(entry.key if at_key else entry.value, message, hint)

    def text(self, key: str) -> str:
        value = self._needed(key)
        if not isinstance(value, str):
            raise self.fault(key, f"{key!r} must be a string.", f'Write {key} = "…".')
        return value

    def texts(self, key: str) -> list[str]:
        value = self._needed(key)
        if not isinstance(value, list) or not value:
            raise self.fault(key, f"{key!r} must be a list of strings, not empty.", f'Write {key} = ["…"].')
        items = cast("list[object]", value)
        for index, item in enumerate(items):
            if not isinstance(item, str):
                raise self.fault(key, f"{key!r} holds {item!r}, no string.", f'Write {key} = ["…"].', item=index)
        return cast("list[str]", items)

    def word(self, key: str, known: Iterable[_Word]) -> _Word:
        return self._known_word(key, self.text(key), known)

    def words(self, key: str, known: Iterable[_Word]) -> list[_Word]:
        texts = [self.text(key)] if isinstance(self.peek(key), str) else self.texts(key)
        return [self._known_word(key, text, known, item=index) for index, text in enumerate(texts)]

    def money(self, key: str) -> Money:
        text = self.text(key)
        money = parse_money(text)
        if money is None:
            raise self.fault(key, f"{text!r} is no amount of money.", 'Write it as "5.00 USD".')
        return money

    def count(self, key: str) -> Decimal:
        value = self._needed(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_AMOUNT:
            raise self.fault(key, f"{key!r} must be a whole number, not negative.", f"Write {key} = 100.")
        return Decimal(value)

    def refuse_unknown(self) -> None:
        for key in self._data:
            if key not in self._known:
                hint = f"Known here: {', '.join(sorted(self._known))}."
                raise self.fault(key, f"unknown key {key!r}.", hint, at_key=True)

    def _needed(self, key: str) -> object:
        self._known.add(key)
        if key not in self._data:
            raise Fault(self.table.place, f"{key!r} is missing.", f"Every [[{self.table.name}]] needs it.")
        return cast("object", self._data[key])

    def _known_word(self, key: str, text: str, known: Iterable[_Word], item: int | None = None) -> _Word:
        for word in known:
            if text == word:
                return word
        close = difflib.get_close_matches(text, list(known), n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
        raise self.fault(key, f"unknown {key} {text!r}.", hint, item=item)
