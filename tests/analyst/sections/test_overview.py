"""First looks: charts chosen by meaning, the goal's columns first, everything bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.analyst.goal.request import AnalysisRequest, NamedColumn
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.overview import MAX_CHARTS, ChartDraft, chart_drafts, overview_section, step_for
from cellwright.analyst.sections.quality import quality_section
from cellwright.analyst.sections.tables import tables_section
from cellwright.profiles.profile import ColumnProfile, Meaning, Numbers, Profile, ReadOptions, TableProfile, Times
from tests.analyst.sections.section_notebook import Opener, open_section_notebook, profile_of

OVERVIEW = AnalysisRequest(purpose="overview")


def measure(name: str, *, skew: float = 0.0, meaning: Meaning = "measure", unit: str = "") -> ColumnProfile:
    numbers = Numbers(least=1, greatest=90, mean=30, deviation=9, quartiles=(20, 30, 40), skew=skew)
    return ColumnProfile(name=name, kind="number", meaning=meaning, count=90, distinct=50, numbers=numbers, unit=unit)


def category(name: str, distinct: int = 4) -> ColumnProfile:
    return ColumnProfile(name=name, kind="text", meaning="category", count=90, distinct=distinct)


def dates(first: str, last: str, step: Any = "day") -> ColumnProfile:
    times = Times(first=first, last=last, step=step)
    return ColumnProfile(name="when", kind="date", meaning="date", count=90, distinct=90, times=times)


def looks(*columns: ColumnProfile, time_column: str = "", wanted: AnalysisRequest = OVERVIEW) -> list[ChartDraft]:
    table = TableProfile(
        name="t",
        reading=ReadOptions(path="t.csv", format="csv"),
        rows=90,
        looked_at=90,
        columns=columns,
        time_column=time_column,
    )
    (names,) = name_tables(Profile(tables=(table,)), {"t.csv": "t_csv"}).tables
    return list(chart_drafts(table, names, wanted))


def test_a_skewed_measure_is_drawn_on_a_logarithmic_axis_and_says_so() -> None:
    (plain,), (skewed,) = looks(measure("mass", unit="g")), looks(measure("price", skew=5.0))
    assert 'scale=alt.Scale(type="log"' not in plain.code
    assert 'title="mass (g)"' in plain.code
    assert 'scale=alt.Scale(type="log"' in skewed.code
    assert "the axis is logarithmic" in skewed.says


def test_time_comes_first_money_is_summed_and_measures_are_averaged() -> None:
    found = looks(
        dates("2023-01-01", "2024-12-31"), measure("amount", meaning="currency"), measure("age"), time_column="when"
    )
    assert [look.name for look in found][:3] == [
        "t_rows_over_time_look",
        "t_amount_over_time_look",
        "t_age_over_time_look",
    ]
    assert '.resample("W-MON").sum(min_count=1)' in found[1].code
    assert '.resample("W-MON").mean()' in found[2].code


def test_what_the_goal_names_is_drawn_before_the_rest_and_the_rest_is_bounded() -> None:
    many = [measure(f"m{at}") for at in range(20)] + [category(f"c{at}") for at in range(20)]
    wanted = AnalysisRequest(
        purpose="compare",
        measures=(NamedColumn(table="t", column="m17"),),
        groups=(NamedColumn(table="t", column="c9"),),
    )
    found = looks(*many, wanted=wanted)
    assert [look.name for look in found[:2]] == ["t_m17_look", "t_c9_look"]
    assert len(found) == MAX_CHARTS


def test_ids_texts_and_constants_are_not_drawn() -> None:
    name = ColumnProfile(name="id", kind="integer", meaning="id", count=90, distinct=90)
    words = ColumnProfile(name="notes", kind="text", meaning="text", count=90, distinct=90)
    constant = ColumnProfile(name="same", kind="text", meaning="constant", count=90, distinct=1)
    assert looks(name, words, constant) == []


@pytest.mark.parametrize(
    ("first", "last", "step", "expected"),
    [
        ("2024-01-01", "2024-03-01", "day", "D"),
        ("2020-01-01", "2024-03-01", "day", "W-MON"),
        ("2000-01-01", "2024-03-01", "day", "MS"),
        ("2024-01-01", "2024-01-09", "minute", "h"),
        ("0001-01-01", "9999-12-31", "", "YS"),
        ("2000-01-01", "2024-01-01", "year", "YS"),
        ("odd", "2024-01-01", "day", "MS"),
    ],
)
def test_steps_of_time_leave_a_few_hundred_points(first: str, last: str, step: str, expected: str) -> None:
    assert step_for(dates(first, last, step)) == expected


@pytest.mark.slow
async def test_charts_show_what_the_table_holds(opened: Opener, project: Path) -> None:
    rows = "".join(
        f"2024-{at % 12 + 1:02}-{at % 28 + 1:02},{['north', 'south', 'east'][at % 3]},"
        f"{'' if at % 5 == 0 else at % 17 + 3.5},{'' if at % 5 == 0 else at % 11},"
        f"{10_000 if at == 77 else 10 + at % 9}\n"
        for at in range(600)
    )
    (project / "sales.csv").write_text(f"date,region,price_eur,stock,age\n{rows}")
    profile = profile_of(project, "sales.csv")
    async with open_section_notebook(opened, project, "sales.csv") as written:
        names = name_tables(profile, written.paths)
        for make in (tables_section, quality_section, overview_section):
            await written.write(make(profile=profile, names=names, wanted=OVERVIEW))
        assert await written.complaints() == []
        outputs = {cell.name: written.outcome(cell.name).output for cell in written.notebook.document.cells}
        charts = {name: output for name, output in outputs.items() if output and "vegalite" in output.mimetype}
        assert {"sales_missing_look", "sales_rows_over_time_look", "sales_region_look"} <= charts.keys()
        assert len(charts) <= MAX_CHARTS
        assert "'Rows by region'" in charts["sales_region_look"].text
        overview = await written.evaluate("sales_columns.set_index('column')['different'].to_dict()")
        assert overview["region"] == "3"
