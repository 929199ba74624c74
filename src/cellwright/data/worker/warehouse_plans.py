"""What warehouses expect of a query, read out of what they answer. Pure, and without their drivers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cellwright.data.worker.source import CostEstimate


def snowflake_estimate(rows: Sequence[dict[str, Any]]) -> CostEstimate:
    """Bytes of the partitions that `EXPLAIN USING JSON` names; it says nothing of rows."""
    try:
        return CostEstimate(bytes=_count(_json_of(rows)["GlobalStats"]["bytesAssigned"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return CostEstimate()


def trino_estimate(rows: Sequence[dict[str, Any]]) -> CostEstimate:
    """What `EXPLAIN (TYPE IO)` expects to come out of all tables; a table without statistics leaves it unknown."""
    try:
        tables = [table["estimate"] for table in _json_of(rows)["inputTableColumnInfos"]]
        counts = [_count(table.get("outputRowCount")) for table in tables]
        sizes = [_count(table.get("outputSizeInBytes")) for table in tables]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return CostEstimate()
    return CostEstimate(rows=_sum(counts), bytes=_sum(sizes))


def dry_run_job(statement: str, project: str, dataset: str, location: str) -> dict[str, Any]:
    """BigQuery's job that is not run."""
    query: dict[str, Any] = {"query": statement, "useLegacySql": False, "useQueryCache": False}
    if dataset:
        query["defaultDataset"] = {"projectId": project, "datasetId": dataset}
    return {
        "jobReference": {"projectId": project, "location": location},
        "configuration": {"dryRun": True, "query": query},
    }


def dry_run_estimate(answer: Any) -> CostEstimate:
    """The bytes that BigQuery would charge for; numbers are texts there."""
    try:
        return CostEstimate(bytes=_count(answer["statistics"]["totalBytesProcessed"]))
    except (ValueError, KeyError, TypeError):
        return CostEstimate()


def _json_of(rows: Sequence[dict[str, Any]]) -> Any:
    return json.loads("".join(str(value) for row in rows for value in row.values()))


def _count(value: Any) -> int | None:
    """A number that can be counted: Trino says NaN for what it does not know."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return max(0, int(float(value)) if isinstance(value, float) else int(value))
    except (ValueError, OverflowError):
        return None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
