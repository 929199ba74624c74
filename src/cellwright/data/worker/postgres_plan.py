"""What Postgres expects of a query, read out of its plan. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from cellwright.data.worker.source import CostEstimate


def plan_estimate(rows: Sequence[dict[str, Any]]) -> CostEstimate:
    """The largest step of the plan that `EXPLAIN (FORMAT JSON)` answered with."""
    try:
        plans = json.loads("\n".join(str(row["QUERY PLAN"]) for row in rows))
        steps = [(int(step["Plan Rows"]), int(step["Plan Width"])) for plan in plans for step in _steps(plan["Plan"])]
    except (ValueError, KeyError, TypeError, RecursionError):
        return CostEstimate()
    if not steps:
        return CostEstimate()
    return CostEstimate(rows=max(rows for rows, _ in steps), bytes=max(rows * width for rows, width in steps))


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _steps(inner)
