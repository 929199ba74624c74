"""Rules as values: which actions they mean, and what they say about them.

The stricter always wins: deny over ask over allow. Only the person's own layer can allow what is asked by default;
team, project and built-in rules can only tighten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from cellwright.policy.actions import Kind
from cellwright.policy.limits import Limit
from cellwright.policy.patterns import Pattern, may_match, surely_matches
from cellwright.policy.targets import Target

Layer = Literal["user", "team", "project", "built-in"]
LAYERS: Final[tuple[Layer, ...]] = ("user", "team", "project", "built-in")

Saying = Literal["allow", "ask", "deny"]
STRICTNESS: Final[dict[Saying, int]] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a file."""

    layer: Layer
    origin: str
    """The file it stands in, as its reader named it."""
    line: int
    says: Saying
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
