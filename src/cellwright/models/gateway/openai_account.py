"""On whose account the calls of the OpenAI-compatible endpoint go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cellwright.policy import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """On whose account the endpoint's calls go, and what may be used."""

    person: str
    limits: Callable[[], tuple[Limit, ...]]
    """Read anew for each call. Raises `UserError` where a rule file is broken: then nothing is sent."""
