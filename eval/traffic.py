"""What asking a model took, and whether it has grown since it was frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cellwright.testing.wire.reply import dump

ALLOWED_GROWTH: Final = 0.1
REVIEW_SHARE: Final = 0.25
"""What a review may add where those who built asked at least `FEW_REQUESTS` times; else one request of their size."""
FEW_REQUESTS: Final = 3
_WHAT_TO_DO: Final = "send less, or freeze anew and say why (docs/evaluation.md, Replayed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Requests to a model, and their size."""

    requests: int
    characters: int
    """Of their bodies, as compact JSON with every character as it is."""


def sizes_of(bodies: Iterable[Mapping[str, Any]]) -> list[int]:
    """How long each of these bodies of requests is."""
    return [len(dump(body).decode()) for body in bodies]


def traffic_of(sizes: Sequence[int]) -> Traffic:
    """What requests of these sizes come to."""
    return Traffic(requests=len(sizes), characters=sum(sizes))


def review_excess(built: Sequence[int], reviewed: Sequence[int]) -> tuple[str, ...]:
    """What a review took beyond its share, by the sizes of the builders' requests and of the reviewer's."""
    if len(built) >= FEW_REQUESTS:
        allowed, took = int(sum(built) * REVIEW_SHARE), sum(reviewed)
        return (f"the review took {took:,} characters of {allowed:,} it may",) if took > allowed else ()
    most, longest = max(built, default=0), max(reviewed, default=0)
    too_many = (f"the review asked {len(reviewed)} times instead of once",) if len(reviewed) > 1 else ()
    too_long = (f"the review's request has {longest:,} characters, the longest before it {most:,}",)
    return (*too_many, *(too_long if longest > most else ()))


def growth(now: Traffic, frozen: Traffic) -> tuple[str, ...]:
    """What has grown by more than a tenth, each with both figures and what to do about it."""
    pairs = (("requests", now.requests, frozen.requests), ("characters", now.characters, frozen.characters))
    return tuple(
        f"{name} grew from {before:,} to {after:,} (+{after / before - 1:.1%}; a tenth is allowed): {_WHAT_TO_DO}"
        for name, after, before in pairs
        if after > before * (1 + ALLOWED_GROWTH)
    )
