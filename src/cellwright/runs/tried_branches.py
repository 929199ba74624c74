"""What a run tried in branches, as its own stream tells it: one lane each, the oldest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cellwright.journal import Recorded, Records, stream_of
from cellwright.tools.branch_trials import BranchTried, read_branch, tried_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One branch, and when its outcome was told."""

    tried: BranchTried
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """Every branch a run told of."""

    by_branch: Mapping[str, Lane] = field(default_factory=dict[str, Lane])
    """A branch that is told again, e.g. after its run was cut off, is as the last word says."""

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """In the order in which they were first told."""
        return tuple(self.by_branch.values())


def with_lane(lanes: Lanes, recorded: Recorded) -> Lanes:
    """One more event."""
    tried = read_branch(recorded.event)
    if tried is None:
        return lanes
    return replace(lanes, by_branch={**lanes.by_branch, tried.branch: Lane(tried=tried, at_ms=recorded.at_ms)})


def lane_json(lane: Lane) -> dict[str, Any]:
    """A lane as plain values."""
    told = tried_json(lane.tried)
    return {**(told if isinstance(told, dict) else {}), "at_ms": lane.at_ms}


async def read_lanes(records: Records, run: str) -> Lanes:
    """What it tried until now."""
    lanes = Lanes()
    async for recorded in records.log.read_all(stream_of(run)):
        lanes = with_lane(lanes, recorded)
    return lanes
