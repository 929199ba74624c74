"""The answer on top, its caveats, and what to ask next."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from cellwright.analyst.goal.request import AnalysisRequest, DateRange, NamedColumn
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.attribution import spans_of
from cellwright.analyst.sections.columns import Columns
from cellwright.analyst.sections.conclusion import conclusion_section
from cellwright.profiles.profile import Oddity, Profile, SkippedFile
from tests.analyst.sections.planted import NOISE_MEANINGS, SALES_MEANINGS, noise, planted_sales, profile_of, write_csv
from tests.analyst.sections.whole_notebook import OVERVIEW, Opener, profiled, served

SALES = profile_of({"sales.csv": planted_sales(60)}, SALES_MEANINGS)
PATHS = {"sales.csv": "sales_csv"}
PENGUINS = Path(__file__).parents[3] / "examples" / "data" / "penguins.csv"


def told(wanted: AnalysisRequest, profile: Profile = SALES) -> dict[str, str]:
    section = conclusion_section(profile=profile, names=name_tables(profile, PATHS), wanted=wanted, tests=[])
    return {cell.name: cell.code for cell in section.cells}


def title(wanted: AnalysisRequest) -> str:
    return told(wanted)["answer"].partition("# ")[2].partition("\n")[0]


def named(column: str) -> NamedColumn:
    return NamedColumn(table="sales", column=column)


def test_the_title_says_what_was_asked() -> None:
    spans = (
        DateRange(words="Q2", first="2024-04-01", last="2024-06-30"),
        DateRange(words="Q3", first="2024-07-01", last="2024-09-30"),
    )
    revenue, region = (named("revenue_eur"),), (named("region"),)
    assert title(OVERVIEW) == "A first look at sales"
    assert title(AnalysisRequest(purpose="compare", measures=revenue, groups=region)) == "Revenue (EUR) by region"
    assert (
        title(AnalysisRequest(purpose="change", measures=revenue, spans=spans))
        == "Why revenue (EUR) changed: Q2 and Q3"
    )
    assert title(AnalysisRequest(purpose="trend", measures=revenue)) == "Revenue (EUR) over time"
    assert title(AnalysisRequest(purpose="relate", measures=revenue)) == "What goes with revenue (EUR)"
    assert title(AnalysisRequest(purpose="quality")) == "How far sales can be trusted"


def test_the_answer_stands_on_top_and_its_code_is_hidden() -> None:
    section = conclusion_section(profile=SALES, names=name_tables(SALES, PATHS), wanted=OVERVIEW, tests=[])
    assert [(cell.name, cell.is_words) for cell in section.cells if cell.at_start] == [("answer", True)]


def test_a_goal_that_was_not_understood_is_told_how_to_ask() -> None:
    cells = told(AnalysisRequest(purpose="overview", is_understood=False))
    for cell in ("answer_sentences", "what_to_keep_in_mind"):
        assert "Nothing in the goal was recognised" in cells[cell]
        assert "Name columns to ask for more, such as" in cells[cell]


def test_samples_few_rows_missing_values_and_files_left_out_are_caveats() -> None:
    table = SALES.tables[0]
    lacking = replace(table.columns[2], count=40, nulls=20)
    table = replace(table, rows=1000, columns=(*table.columns[:2], lacking, *table.columns[3:]))
    small = replace(profile_of({"few.csv": noise(20)}, NOISE_MEANINGS).tables[0], name="few")
    profile = Profile(tables=(table, small), skipped=(SkippedFile(path="x.bin", why="no table"),))
    names = name_tables(profile, {**PATHS, "few.csv": "few_csv"})
    caveats = " ".join(conclusion_section(profile=profile, names=names, wanted=OVERVIEW, tests=[]).caveats)
    assert "Of sales, a sample was used: 60 rows, 6 % of it." in caveats
    assert "few has 20 rows only" in caveats
    assert "Missing in sales: region (33 %)." in caveats
    assert "Left out: x.bin (no table)." in caveats


def test_trust_names_the_gravest_problem() -> None:
    oddity = Oddity(kind="total-rows", says="3 rows are totals of others.", severity="problem")
    profile = Profile(tables=(replace(SALES.tables[0], oddities=(oddity,)),))
    assert (
        "1 problem found in the files, first of all: 3 rows are totals of others."
        in told(OVERVIEW, profile)["answer_sentences"]
    )


def test_what_was_asked_for_and_could_not_be_tested_is_said() -> None:
    place = {"table": SALES.tables[0].name}
    measure = next(column.name for column in SALES.tables[0].columns if column.meaning in {"measure", "currency"})
    group = next(column.name for column in SALES.tables[0].columns if column.meaning == "category")
    wanted = AnalysisRequest(
        purpose="compare",
        measures=(NamedColumn(column=measure, **place),),
        groups=(NamedColumn(column=group, **place),),
    )
    section = conclusion_section(profile=SALES, names=name_tables(SALES, PATHS), wanted=wanted, tests=[])
    (sentences,) = (cell.code for cell in section.cells if cell.name == "answer_sentences")
    assert ": not tested." in sentences


def test_names_of_a_persons_notebook_are_left_alone() -> None:
    names = name_tables(SALES, PATHS, taken={"answer", "answer_text", "tests"})
    section = conclusion_section(profile=SALES, names=names, wanted=OVERVIEW, tests=[])
    assert not {cell.name for cell in section.cells} & {"answer", "answer_text", "tests"}


def test_one_span_is_held_against_the_same_days_of_the_year_before_or_the_time_before_it() -> None:
    columns = Columns(SALES, name_tables(SALES, PATHS))

    def against(first: str, last: str) -> object:
        return spans_of(
            AnalysisRequest(purpose="change", spans=(DateRange(words="", first=first, last=last),)), columns
        )

    assert against("2024-07-01", "2024-09-30") == (("2023-07-01", "2023-09-30"), ("2024-07-01", "2024-09-30"))
    assert against("2024-02-01", "2024-02-29") == (("2023-02-01", "2023-02-28"), ("2024-02-01", "2024-02-29"))
    assert against("2024-01-01", "2024-12-31") == (("2023-01-01", "2023-12-31"), ("2024-01-01", "2024-12-31"))
    assert against("2023-07-01", "2023-09-30") == (("2023-04-01", "2023-06-30"), ("2023-07-01", "2023-09-30"))
    assert against("2023-07-10", "2023-07-19") == (("2023-06-30", "2023-07-09"), ("2023-07-10", "2023-07-19"))
    assert against("0001-01-01", "0001-01-31") is None
    assert spans_of(OVERVIEW, columns) is None
    halves = spans_of(AnalysisRequest(purpose="change"), columns)
    assert halves == (("2023-01-01", "2024-01-01"), ("2024-01-02", "2024-12-31"))


@pytest.mark.slow
async def test_penguins_get_a_whole_notebook_that_answers_checks_and_reads_well(opened: Opener, project: Path) -> None:
    shutil.copy(PENGUINS, project / "penguins.csv")
    profile = profiled(project, "penguins.csv")
    mass, species = (NamedColumn(table="penguins", column=name) for name in ("body_mass_g", "species"))
    wanted = AnalysisRequest(purpose="compare", measures=(mass,), groups=(species,))
    async with served(opened, project, profile, wanted, looks=True) as meal:
        answer = await meal.answer()
        assert answer.startswith("Body mass (g) is highest where species is ")
        assert "Kruskal-Wallis" in answer
        assert "The data: penguins (" in answer
        assert meal.written.notebook.document.cells[0].name == "answer"
        assert "Body mass (g) by species" in meal.written.shown("answer")
        assert meal.written.shown("what_to_ask_next").count("\n- ") >= 4
        assert await meal.written.complaints() == []
        assert set((await meal.written.check_results()).values()) == {"passed"}


@pytest.mark.slow
async def test_without_any_finding_the_notebook_says_so_plainly(opened: Opener, project: Path) -> None:
    write_csv(noise(), project, "noise.csv")
    profile = profile_of({"noise.csv": noise()}, NOISE_MEANINGS)
    async with served(opened, project, profile, OVERVIEW) as meal:
        assert meal.claims == []
        assert "Nothing is claimed here" in meal.written.shown("about_the_findings")
        assert (await meal.answer()).startswith("Nothing stood out: of ")
        assert await meal.written.complaints() == []
