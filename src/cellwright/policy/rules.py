"""Rules as values: which actions their patterns mean, and what they say about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from packaging.utils import canonicalize_name

from cellwright.policy.actions import Access, Kind
from cellwright.policy.budgets import Limit
from cellwright.policy.hosts import HostPattern
from cellwright.policy.money import Money
from cellwright.policy.paths import PathPattern, matches_glob, matches_wild
from cellwright.policy.targets import (
    AttachedTarget,
    BranchTarget,
    CommandTarget,
    ConnectionTarget,
    FileTarget,
    HostTarget,
    PackageTarget,
    PriceTarget,
    Target,
    ToolTarget,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePattern:
    """The name of a connection, a branch, a server or a package (as the index spells it), with `*` and `?`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPattern:
    """Reading, or changing."""

    access: Access


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountAbove:
    """More money than this."""

    money: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountUpTo:
    """At most this much money."""

    money: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPattern:
    """Words with `*` and `?`, each for one argument, and `**` for any number of arguments."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPattern:
    """`server/tool`, both with `*` and `?`."""

    server: str
    tool: str


Pattern = (
    PathPattern | HostPattern | NamePattern | AccessPattern | AmountAbove | AmountUpTo | CommandPattern | ToolPattern
)


def surely_matches(pattern: Pattern, target: Target) -> bool:
    """Whether the pattern fits beyond doubt."""
    return _is_certain(pattern, target) and _fits(pattern, target)


def may_match(pattern: Pattern, target: Target) -> bool:
    """Whether the pattern fits, or nobody can tell that it does not."""
    if isinstance(pattern, AmountAbove | AmountUpTo) and not _is_certain(pattern, target):
        return isinstance(target, PriceTarget)
    return _fits(pattern, target)


def _is_certain(pattern: Pattern, target: Target) -> bool:
    if isinstance(target, PackageTarget):
        return not target.place
    if isinstance(target, PriceTarget) and isinstance(pattern, AmountAbove | AmountUpTo):
        return isinstance(target.price, Money) and target.price.currency == pattern.money.currency
    return True


def _fits(pattern: Pattern, target: Target) -> bool:
    match pattern, target:
        case PathPattern() as wanted, FileTarget() as given:
            return wanted.matches(given.path)
        case HostPattern() as wanted, HostTarget() as given:
            return wanted.matches(given.host, given.port)
        case NamePattern() as wanted, (
            ConnectionTarget(connection=name)
            | PackageTarget(name=name)
            | BranchTarget(branch=name)
            | AttachedTarget(server=name)
        ):
            return matches_glob(wanted.name, name)
        case AccessPattern() as wanted, ConnectionTarget() as given:
            return wanted.access == given.access
        case AmountAbove() as wanted, PriceTarget(price=Money(amount=amount)):
            return amount > wanted.money.amount
        case AmountUpTo() as wanted, PriceTarget(price=Money(amount=amount)):
            return amount <= wanted.money.amount
        case CommandPattern() as wanted, CommandTarget() as given:
            return matches_wild(wanted.words, given.command, star="**", matches_one=matches_glob)
        case ToolPattern() as wanted, ToolTarget() as given:
            return matches_glob(wanted.server, given.server) and matches_glob(wanted.tool, given.tool)
        case _:
            return False


_NAME: Final = re.compile(r"[A-Za-z0-9._?*-]+", flags=re.ASCII)


def parse_package_pattern(text: str) -> NamePattern | str:
    """A pattern, or what is wrong with it."""
    if not _NAME.fullmatch(text):
        return "is no package name; versions and extras do not belong here"
    return NamePattern(name=canonicalize_name(text))


def parse_command_pattern(text: str) -> CommandPattern | str:
    """A pattern, or what is wrong with it. Words are parted by spaces; quotes and shell signs mean nothing here."""
    words = tuple(text.split())
    if not words:
        return "is empty"
    if found := re.search(r"[\"'`$|&;<>\\(){}\[\]]", text):
        return f"has {found.group()!r}; no shell reads it, so write plain words, and `?` for any one character"
    if any("**" in word and word != "**" for word in words):
        return "has `**` beside other characters; it must be a word of its own"
    return CommandPattern(words=words)


def parse_tool_pattern(text: str) -> ToolPattern | str:
    """A pattern, or what is wrong with it."""
    server, slash, tool = text.partition("/")
    if not slash or not server or not tool:
        return "is not of the form server/tool"
    return ToolPattern(server=server, tool=tool)


def parse_name_pattern(text: str) -> NamePattern | str:
    """A pattern, or what is wrong with it."""
    return NamePattern(name=text) if text else "is empty"


Layer = Literal["user", "team", "project", "built-in"]
LAYERS: Final[tuple[Layer, ...]] = ("user", "team", "project", "built-in")

RuleEffect = Literal["allow", "ask", "deny"]
STRICTNESS: Final[dict[RuleEffect, int]] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a file."""

    layer: Layer
    origin: str
    """The file it stands in, as its reader named it."""
    line: int
    says: RuleEffect
    kinds: frozenset[Kind]
    conditions: tuple[tuple[Pattern, ...], ...] = ()
    """Of each group one pattern must fit."""
    exceptions: tuple[Pattern, ...] = ()
    """If one of these fits, the rule does not."""
    reason: str = ""

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.origin}:{self.line}"

    def applies(self, kind: Kind, target: Target) -> bool:
        """Whether the rule speaks about this. In doubt one that forbids or asks does, one that allows does not."""
        if kind not in self.kinds:
            return False
        fits, excludes = (surely_matches, may_match) if self.says == "allow" else (may_match, surely_matches)
        return all(any(fits(pattern, target) for pattern in group) for group in self.conditions) and not any(
            excludes(pattern, target) for pattern in self.exceptions
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules and limits that hold, of every layer."""

    project: str
    """Where relative paths of actions and patterns are anchored."""
    rules: tuple[Rule, ...] = ()
    limits: tuple[Limit, ...] = ()

    def strictest(self, layer: Layer, kind: Kind, target: Target) -> Rule | None:
        """The strictest rule of a layer that speaks about this; of equals the first."""
        speaking = [rule for rule in self.rules if rule.layer == layer and rule.applies(kind, target)]
        return max(speaking, key=lambda rule: STRICTNESS[rule.says], default=None)
