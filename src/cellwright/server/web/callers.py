"""Who asks, and how much they may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from cellwright.policy import Person

Scope = Literal["read", "steer", "approve", "admin"]
"""read: look. steer: also start, stop and change runs and notebooks. approve: also answer what is asked. admin: also
keys, tokens and rules. Each holds those before it."""
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever sent a request that was let in."""

    token: str
    """The token's id, never the token."""
    person: str
    scope: Scope

    @property
    def as_person(self) -> Person:
        """As rooms below know people."""
        return Person(name=self.person, door="web")

    def may(self, scope: Scope) -> bool:
        """Whether this scope is among theirs."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)
