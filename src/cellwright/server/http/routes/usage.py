"""`/usage`: what models cost, by day, model and run, and how fast they answer; also as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final

from fastapi import Query
from starlette.responses import Response

from cellwright.models.reports import UsageBy, UsageRow
from cellwright.runs.views.run_view import first_goal
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, open_models
from cellwright.server.http.schemas.model import ResponseModel

router = ApiRouter(tags=["usage"])
Days = Annotated[int, Query(ge=1, le=366, description="How many days, today (UTC) included")]
_MICRO: Final = 1_000_000
_MOST_RUNS: Final = 200
_SUMS: Final[tuple[UsageBy, ...]] = ("day", "model", "run")


class Spent(ResponseModel):
    """One sum. Only US dollars are in `microdollars`; what has no known price is in no sum of money at all."""

    microdollars: int
    other_money: dict[str, str]
    """By currency, where a price was not in dollars."""
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    calls: int
    unpriced_calls: int
    unknown_calls: int
    """Sent, and nobody knows what came of them."""


class SpentOnDay(Spent):
    """One day (UTC)."""

    day: str


class SpentOnModel(Spent):
    """One model."""

    model: str


class SpentOnRun(Spent):
    """One run; an empty name is what was asked outside of runs."""

    run: str
    goal: str


class Latency(ResponseModel):
    """How one model answers."""

    model: str
    p50_ms: int
    p95_ms: int
    calls: int
    failures: int


class Usage(ResponseModel):
    """What was used since a day."""

    since: str
    by_day: list[SpentOnDay]
    """The oldest first."""
    by_model: list[SpentOnModel]
    by_run: list[SpentOnRun]
    latency: list[Latency]


@router.get("/usage")
async def read_usage(_: Reader, resources: Resources, days: Days = 30) -> Usage:
    """Cost per day, model and run; latency per model."""
    sums = await _sums(resources, _since(days))
    async with open_models(resources) as models:
        latency = (await models.latency(since=_since(days))).rows
    return Usage(
        since=_since(days),
        by_day=[SpentOnDay(day=row.what, **_spent(row).model_dump()) for row in reversed(sums["day"])],
        by_model=[SpentOnModel(model=row.what, **_spent(row).model_dump()) for row in sums["model"]],
        by_run=[
            SpentOnRun(run=row.what, goal=await _goal(resources, row.what), **_spent(row).model_dump())
            for row in sums["run"][:_MOST_RUNS]
        ],
        latency=[Latency.model_validate(each) for each in latency],
    )


@router.get(
    "/usage.csv", response_class=Response, responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
)
async def export_usage(_: Reader, resources: Resources, days: Days = 30) -> Response:
    """The same sums as CSV."""
    sums = await _sums(resources, _since(days))
    return Response(
        _csv(sums),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="cellwright-usage-{_since(days)}.csv"'},
    )


async def _sums(resources: ApiResources, since: str) -> dict[UsageBy, Sequence[UsageRow]]:
    async with open_models(resources) as models:
        return {by: (await models.usage(by=by, since=since)).rows for by in _SUMS}


async def _goal(resources: ApiResources, run: str) -> str:
    goal = await first_goal(resources.records, run) if run else None
    return "" if goal is None else goal.words


def _since(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days - 1)).date().isoformat()


def _spent(row: UsageRow) -> Spent:
    dollars = round(row.paid.get("USD", Decimal(0)) * _MICRO)
    other = {currency: f"{amount:f}" for currency, amount in sorted(row.paid.items()) if currency != "USD"}
    return Spent.model_validate(asdict(row) | {"microdollars": dollars, "other_money": other})


def _csv(sums: Mapping[UsageBy, Sequence[UsageRow]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, ["by", "what", *Spent.model_fields])
    writer.writeheader()
    for by, rows in sums.items():
        for row in rows:
            spent = _spent(row)
            other = " ".join(f"{amount} {currency}" for currency, amount in spent.other_money.items())
            writer.writerow({"by": by, "what": _plain(row.what), **spent.model_dump(), "other_money": other})
    return file.getvalue()


def _plain(text: str) -> str:
    """So that a spreadsheet does not take a name for a formula."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
