"""Queues' limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """At most `limit` starts in any `seconds`."""

    limit: int
    seconds: float
