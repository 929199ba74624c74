"""Usage over HTTP: what models cost by day, model and run, how fast they answer, and the same as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncGenerator, Generator
from datetime import UTC, datetime

import pytest

from cellwright.errors import ModelUnavailable
from cellwright.models.client.gateway_client import Models
from cellwright.settings import Settings
from cellwright.testing import Fault, Say, Tokens
from tests.models.testbed import ModelTestbed, Warm, a_call
from tests.server.a_daemon import tiny_opener
from tests.server.http.a_served_folder import API, Served, serve

COST = 100 + 2 * 50


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, warm_gateway: Warm) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path_factory.mktemp("gateway") / "testbed", warm_gateway) as opened:
        yield opened


@pytest.fixture(scope="module")
async def served(gateway: ModelTestbed, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    """Two calls at one dollar per million tokens in and two dollars out, and one that failed."""
    folder = tmp_path_factory.mktemp("served")
    settings = Settings(home=gateway.home, cache=folder / "cache")
    async with (
        tiny_opener(folder)(settings) as runs,
        serve(folder / "folder", settings, runs, launch=gateway.launch()) as opened,
        Models.open(gateway.home, launch=gateway.launch()) as models,
    ):
        for number in range(2):
            gateway.provider.script(Say("yes", tokens=Tokens(input_tokens=100, output_tokens=50)))
            await models.ask(a_call(f"question {number}", id=f"call-{number}"))
        gateway.provider.script(Fault("bad-request"))
        with pytest.raises(ModelUnavailable):
            await models.ask(a_call("question", id="call-failed"))
        yield opened


async def test_what_was_used_is_summed_by_day_model_and_run(served: Served) -> None:
    used = await served.get("/usage", params={"days": 7})
    spent = {
        "microdollars": 2 * COST,
        "other_money": {},
        "input_tokens": 200,
        "output_tokens": 100,
        "cache_read_tokens": 0,
        "calls": 2,
        "unpriced_calls": 0,
        "unknown_calls": 0,
    }
    assert used["by_day"] == [{"day": datetime.now(UTC).date().isoformat(), **spent}]
    assert used["by_model"] == [{"model": "near:one", **spent}]
    assert used["by_run"] == [{"run": "run", "goal": "", **spent}]
    assert [row["calls"] for row in used["latency"]] == [2]


async def test_the_same_sums_come_as_csv(served: Served) -> None:
    answer = await served.client.get(f"{API}/usage.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith('attachment; filename="cellwright-usage-')
    rows = [*csv.DictReader(io.StringIO(answer.text))]
    assert [(row["by"], row["microdollars"], row["calls"]) for row in rows] == [
        ("day", str(2 * COST), "2"),
        ("model", str(2 * COST), "2"),
        ("run", str(2 * COST), "2"),
    ]


async def test_latency_and_failures_of_each_model_are_told(served: Served) -> None:
    [row] = (await served.get("/usage"))["latency"]
    assert (row["model"], row["calls"], row["failures"]) == ("near:one", 2, 1)
    assert 0 <= row["p50_ms"] <= row["p95_ms"]


@pytest.mark.slow
async def test_days_are_a_sensible_number(served: Served) -> None:
    for days in ("0", "-1", "367", "many"):
        refused = await served.get("/usage", params={"days": days}, status=422)
        assert "days" in refused["error"]["message"]
    assert len((await served.get("/usage", params={"days": "366"}, headers=served.bearing("read")))["by_day"]) == 1
