"""What warehouses answer when they are asked for a plan, as they document it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from cellwright.data.estimates import costly_words, expected_cost
from cellwright.data.worker.source import CostEstimate
from cellwright.data.worker.warehouse_plans import (
    dry_run_estimate,
    dry_run_job,
    snowflake_estimate,
    trino_estimate,
)
from cellwright.policy.money import Money

SNOWFLAKE = {
    "GlobalStats": {"partitionsTotal": 3242, "partitionsAssigned": 3242, "bytesAssigned": 3_210_000_000_000},
    "Operations": [[{"id": 0, "operation": "Result"}, {"id": 1, "operation": "TableScan"}]],
}
NAN = "NaN"


def trino(*tables: dict[str, Any]) -> list[dict[str, Any]]:
    told = {"inputTableColumnInfos": [{"table": {}, "estimate": table} for table in tables], "estimate": {}}
    return [{"query plan": json.dumps(told)}]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"content": json.dumps(SNOWFLAKE)}], CostEstimate(bytes=3_210_000_000_000)),
        ([{"content": json.dumps({"GlobalStats": {"bytesAssigned": 0}})}], CostEstimate(bytes=0)),
        ([{"content": json.dumps({"GlobalStats": {}})}], CostEstimate()),
        ([{"content": "GlobalStats:"}], CostEstimate()),
        ([{"content": json.dumps([SNOWFLAKE])}], CostEstimate()),
        ([{"content": "[" * 100_000}], CostEstimate()),
        ([], CostEstimate()),
    ],
)
def test_snowflake_says_bytes_and_no_rows(rows: list[dict[str, Any]], expected: CostEstimate) -> None:
    assert snowflake_estimate(rows) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            trino({"outputRowCount": 1.5e9, "outputSizeInBytes": 2.7e10}),
            CostEstimate(rows=15 * 10**8, bytes=27 * 10**9),
        ),
        (
            trino({"outputRowCount": 5, "outputSizeInBytes": 40}, {"outputRowCount": 7, "outputSizeInBytes": NAN}),
            CostEstimate(rows=12),
        ),
        (trino({"outputRowCount": NAN, "outputSizeInBytes": NAN}), CostEstimate()),
        (trino({"outputRowCount": float("nan"), "outputSizeInBytes": float("inf")}), CostEstimate()),
        (trino(), CostEstimate()),
        ([{"query plan": '{"inputTableColumnInfos": [7]}'}], CostEstimate()),
        ([], CostEstimate()),
    ],
)
def test_trino_says_both_where_it_has_statistics(rows: list[dict[str, Any]], expected: CostEstimate) -> None:
    assert trino_estimate(rows) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": {"state": "DONE"}, "statistics": {"totalBytesProcessed": "10918"}}, CostEstimate(bytes=10_918)),
        ({"error": {"code": 403, "message": "Access Denied"}}, CostEstimate()),
        ({"statistics": {"totalBytesProcessed": "many"}}, CostEstimate()),
        (None, CostEstimate()),
    ],
)
def test_bigquery_says_bytes_of_a_dry_run(answer: Any, expected: CostEstimate) -> None:
    assert dry_run_estimate(answer) == expected


def test_a_dry_run_runs_nothing_and_knows_the_dataset() -> None:
    assert dry_run_job("select 1", "acme", "shop", "eu") == {
        "jobReference": {"projectId": "acme", "location": "eu"},
        "configuration": {
            "dryRun": True,
            "query": {
                "query": "select 1",
                "useLegacySql": False,
                "useQueryCache": False,
                "defaultDataset": {"projectId": "acme", "datasetId": "shop"},
            },
        },
    }
    assert "defaultDataset" not in dry_run_job("select 1", "acme", "", "eu")["configuration"]["query"]


def test_what_snowflake_says_has_a_price_in_words() -> None:
    found = snowflake_estimate([{"content": json.dumps(SNOWFLAKE)}])
    expected = expected_cost(found.rows, found.bytes, Money(amount=Decimal("6.25"), currency="USD"))
    assert expected is not None
    assert costly_words(expected) == "The database expects to read about 3.2 TB, 20.06 USD for this."
