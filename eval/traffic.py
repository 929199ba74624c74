"""What asking a model took, and whether it has grown since it was frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cellwright.testing.wire.reply import dump

ALLOWED_GROWTH: Final = 0.1
_WHAT_TO_DO: Final = "send less, or freeze anew and say why (docs/evaluation.md, Replayed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Requests to a model, and their size."""

    requests: int
    characters: int
    """Of their bodies, as compact JSON with every character as it is."""


def traffic_of(bodies: Iterable[Mapping[str, Any]]) -> Traffic:
    """What these bodies of requests come to."""
    sizes = [len(dump(body).decode()) for body in bodies]
    return Traffic(requests=len(sizes), characters=sum(sizes))


def growth(now: Traffic, frozen: Traffic) -> tuple[str, ...]:
    """What has grown by more than a tenth, each with both figures and what to do about it."""
    pairs = (("requests", now.requests, frozen.requests), ("characters", now.characters, frozen.characters))
    return tuple(
        f"{name} grew from {before:,} to {after:,} (+{after / before - 1:.1%}; a tenth is allowed): {_WHAT_TO_DO}"
        for name, after, before in pairs
        if after > before * (1 + ALLOWED_GROWTH)
    )
