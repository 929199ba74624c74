"""Findings in a real notebook: planted ones are told with their test, noise is not, and a repair can take one back."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from cellwright.analyst.goal.request import AnalysisRequest, DateRange, NamedColumn
from cellwright.profiles.profile import Meaning, Oddity, Profile
from tests.analyst.sections.planted import NOISE_MEANINGS, SALES_MEANINGS, noise, planted_sales, profile_of, write_csv
from tests.analyst.sections.whole_notebook import OVERVIEW, Opener, WholeNotebook, served

SIZE_BY_GROUP = AnalysisRequest(
    purpose="compare",
    measures=(NamedColumn(table="noise", column="size"),),
    groups=(NamedColumn(table="noise", column="group"),),
)


def sales_served(
    opened: Opener, project: Path, wanted: AnalysisRequest, frame: pd.DataFrame | None = None
) -> AbstractAsyncContextManager[WholeNotebook]:
    frame = planted_sales() if frame is None else frame
    write_csv(frame, project, "sales.csv")
    return served(opened, project, profile_of({"sales.csv": frame}, SALES_MEANINGS), wanted)


@pytest.mark.slow
async def test_planted_effects_are_told_with_their_tests_in_a_clean_notebook(opened: Opener, project: Path) -> None:
    async with sales_served(opened, project, OVERVIEW) as meal:
        found = {(row.kind, row.y, row.x) for row in meal.tests if row.is_finding}
        assert {("difference", "revenue_eur", "region"), ("correlation", "revenue_eur", "cost_eur")} <= found
        assert any(kind == "break" for kind, _, _ in found)
        assert not any("rating" in pair for pair in found)
        claims = "\n".join(meal.claims)
        assert "Revenue (EUR) is highest where region is North" in claims
        assert claims.count("corrected for all tests") == len(meal.claims)
        assert await meal.written.complaints() == []
        assert set((await meal.written.check_results()).values()) == {"passed"}


@pytest.mark.slow
async def test_a_change_is_tested_first_and_taken_apart_by_what_it_comes_from(opened: Opener, project: Path) -> None:
    frame = planted_sales()
    is_hit = (frame["day"] >= "2024-07-01") & (frame["product"] == "lamp")
    frame["revenue_eur"] = (frame["revenue_eur"] - 45 * is_hit).round(2)
    spans = (
        DateRange(words="first half of 2024", first="2024-01-01", last="2024-06-30"),
        DateRange(words="second half of 2024", first="2024-07-01", last="2024-12-31"),
    )
    asked = AnalysisRequest(purpose="change", measures=(NamedColumn(table="sales", column="revenue_eur"),), spans=spans)
    async with sales_served(opened, project, asked, frame) as meal:
        assert "revenue (EUR) for each" in meal.claims[0]
        assert "fell from" in meal.claims[0]
        values = await meal.written.values("answer_text", "revenue_eur_change_finding_by")
        assert values["revenue_eur_change_finding_by"] == "product"
        assert "by product, from lamp (" in values["answer_text"]
        shares = await meal.written.evaluate('revenue_eur_change_finding_parts["region"]["share"].sum()')
        assert abs(shares - 1) < 1e-9
        assert await meal.written.complaints() == []


@pytest.mark.slow
async def test_trend_and_season_of_a_series_are_told(opened: Opener, project: Path) -> None:
    random, days = np.random.default_rng(3), pd.date_range("2023-01-02", periods=364)
    visits = 200 + np.arange(364) * 0.4 + np.where(days.day_of_week >= 5, 60, 0) + random.normal(0, 12, 364)
    frame = pd.DataFrame({"day": days.strftime("%Y-%m-%d"), "visits": visits.round(1)})
    write_csv(frame, project, "traffic.csv")
    profile = profile_of({"traffic.csv": frame}, {"day": "date", "visits": "measure"})
    async with served(opened, project, profile, AnalysisRequest(purpose="trend")) as meal:
        claims = "\n".join(meal.claims)
        assert "visits for each day rises" in claims
        assert "Visits is highest on S" in claims
        assert await meal.written.complaints() == []


@pytest.mark.slow
async def test_nothing_is_claimed_on_noise_and_what_was_asked_is_answered_honestly(
    opened: Opener, project: Path
) -> None:
    write_csv(noise(), project, "noise.csv")
    profile = profile_of({"noise.csv": noise()}, NOISE_MEANINGS)
    async with served(opened, project, profile, SIZE_BY_GROUP) as meal:
        assert not any(row.is_finding for row in meal.tests)
        (claim,) = meal.claims
        assert "found for size and group" in claim
        assert "speaks against an effect beyond" in claim
        expected = "Size by group: nothing that could be told from chance (Kruskal-Wallis, n = 400"
        assert (await meal.answer()).startswith(expected)


@pytest.mark.slow
async def test_switching_a_repair_takes_a_claim_back(opened: Opener, project: Path) -> None:
    frame = noise()
    is_lost = (frame["group"] == "b") & (np.arange(len(frame)) % 2 == 0)
    frame["size"] = frame["size"].mask(is_lost, 9999)
    write_csv(frame, project, "noise.csv")
    profile = profile_of({"noise.csv": frame}, NOISE_MEANINGS)
    count, values = int(np.sum(is_lost)), ("9999.0",)
    sentinel = Oddity(kind="sentinel", says="9999 stands for nothing.", column="size", values=values, count=count)
    profile = Profile(tables=(replace(profile.tables[0], oddities=(sentinel,)),))
    async with served(opened, project, profile, SIZE_BY_GROUP) as meal:
        assert f"Repairs that are on: sentinels in noise ({count})." in await meal.answer()
        assert "Size by group: nothing that could be told from chance" in await meal.answer()
        await meal.written.notebook.set_ui({"noise_repairs": {"sentinels": False}})
        assert "Size is highest where group is b" in await meal.answer()
        assert "**Size is highest where group is b" in meal.written.shown("size_by_group_finding")
        assert f"Off, for you to decide: sentinels in noise ({count})." in await meal.answer()


UGLY = {
    "region": 'a "quoted" {braced} name',
    "product": "back\\slash 'and' `tick`",
    "channel": "<script>alert(1)</script>",
    "revenue_eur": "x:Q.[0] | $sum$",
    "cost_eur": "größe\n# heading",
    "rating": '"""',
    "day": "when?",
    "order_id": "class",
}


@pytest.mark.slow
async def test_ugly_names_stay_names_everywhere(opened: Opener, project: Path) -> None:
    frame = planted_sales(500).rename(columns=UGLY)
    write_csv(frame, project, "sales.csv")
    meanings: dict[str, Meaning] = {UGLY[name]: meaning for name, meaning in SALES_MEANINGS.items()}
    async with served(opened, project, profile_of({"sales.csv": frame}, meanings), OVERVIEW) as meal:
        assert len(meal.claims) >= 2
        assert await meal.written.complaints() == []
        shown = "".join(text for _, text in meal.page("test", "findings", "tell"))
        assert "<script>" not in shown


@pytest.mark.slow
async def test_two_runs_give_the_same_cells_and_the_same_words(opened: Opener, project: Path) -> None:
    pages: list[object] = []
    for _ in range(2):
        async with sales_served(opened, project, OVERVIEW) as meal:
            pages.append((meal.sections, meal.page("read", "quality", "test", "findings", "tell")))
    assert pages[0] == pages[1]
