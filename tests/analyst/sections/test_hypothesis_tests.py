"""The section of tests: which columns serve as what, over joined tables too, and that it stands whatever the data."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from cellwright.analyst.drafts import Section
from cellwright.analyst.goal.request import AnalysisRequest, DateRange, NamedColumn
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections import hypothesis_tests as testing
from cellwright.profiles.profile import ColumnProfile, Profile
from cellwright.runs.deliver.cleanup import MOST_LINES
from tests.analyst.sections.planted import SALES_MEANINGS, planted_sales, profile_of, write_csv
from tests.analyst.sections.whole_notebook import OVERVIEW, Opener, profiled, served

SALES = profile_of({"sales.csv": planted_sales(60)}, SALES_MEANINGS)
PATHS = {"sales.csv": "sales_csv"}


def section_of(profile: Profile = SALES, wanted: AnalysisRequest = OVERVIEW) -> Section:
    return testing.test_section(profile=profile, names=name_tables(profile, PATHS), wanted=wanted)


def code_of(section: Section, cell: str) -> str:
    return next(each.code for each in section.cells if each.name == cell)


def test_every_column_has_its_role_and_what_is_asked_for_comes_first() -> None:
    wanted = AnalysisRequest(
        purpose="change",
        measures=(NamedColumn(table="sales", column="revenue_eur"),),
        spans=(DateRange(words="Q3", first="2024-07-01", last="2024-09-30"),),
    )
    section = section_of(wanted=wanted)
    assert ast.literal_eval(code_of(section, "sales_roles").partition(" = ")[2]) == SALES_MEANINGS
    code = code_of(section, "all_tests")
    assert 'first=[["sales", "revenue_eur"]]' in code
    assert 'spans=[[["2023-07-01", "2023-09-30"], ["2024-07-01", "2024-09-30"]]]' in code


def test_methods_come_last_folded_away_and_only_those_needed() -> None:
    names = [cell.name for cell in section_of().cells]
    folded = [cell.name for cell in section_of().cells if cell.name.startswith("method_") and cell.is_words]
    assert names[-len(folded) :] == folded
    assert "method_examine" in folded
    assert "method_explain_change" not in folded


def test_of_very_many_columns_the_asked_ones_are_kept_and_the_reader_is_told_of_the_others() -> None:
    columns = tuple(
        ColumnProfile(name=f"{'long name ' * 15}{number}", kind="number", meaning="measure", count=60)
        for number in range(500)
    )
    profile = Profile(tables=(replace(SALES.tables[0], columns=columns),))
    wanted = AnalysisRequest(purpose="relate", measures=(NamedColumn(table="sales", column=columns[321].name),))
    section = section_of(profile, wanted)
    assert columns[321].name in code_of(section, "sales_roles")
    assert "and 478 more" in " ".join(section.caveats)
    assert all(len(cell.code.splitlines()) <= MOST_LINES for cell in section.cells)


@pytest.mark.slow
async def test_joined_tables_are_tested_together_and_repeated_measures_are_not(opened: Opener, project: Path) -> None:
    random, rows = np.random.default_rng(5), 600
    people = pd.DataFrame({
        "customer_id": [f"C{number:04}" for number in range(150)],
        "segment": random.choice(["home", "office"], 150),
        "age": random.normal(45, 12, 150).round(0),
    })  # fmt: skip
    orders = pd.DataFrame({"order": range(rows), "customer_id": random.choice(people["customer_id"], rows)})
    segment = orders.merge(people, on="customer_id")["segment"]
    orders["amount"] = (np.where(segment == "office", 90, 60) + random.normal(0, 12, rows)).round(2)
    write_csv(people, project, "customers.csv")
    write_csv(orders, project, "orders.csv")
    profile = profiled(project, "orders.csv", "customers.csv")
    async with served(opened, project, profile, OVERVIEW) as meal:
        (joint,) = meal.names.joined
        assert "age" not in code_of(meal.sections["test"], f"{joint.variable}_roles")
        found = {(row.table, row.y, row.x) for row in meal.tests if row.is_finding}
        assert (joint.variable, "amount", "segment") in found
        assert not any("age" in (row.y, row.x) for row in meal.tests if row.table == joint.variable)
        assert await meal.written.complaints() == []


@pytest.mark.slow
async def test_tables_with_nothing_to_test_give_a_notebook_that_says_so(opened: Opener, project: Path) -> None:
    write_csv(pd.DataFrame({"note": ["only words here"]}), project, "one.csv")
    profile = profiled(project, "one.csv")
    async with served(opened, project, profile, OVERVIEW) as meal:
        assert meal.tests == []
        assert (await meal.answer()).startswith("Nothing could be tested")
        assert await meal.written.complaints() == []
        assert set((await meal.written.check_results()).values()) == {"passed"}
