"""Which tests a reader is told about."""

from __future__ import annotations

import ast

import pandas as pd
import pytest

from cellwright.analyst import drafts
from cellwright.analyst.goal.request import AnalysisRequest, NamedColumn
from cellwright.analyst.methods.presentation import (
    chart_headline,
    could_be_seen,
    told_in_brief,
    why_it_changed,
    with_labels,
)
from cellwright.analyst.methods.source import source_cells
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.columns import Columns, label_of
from cellwright.analyst.sections.conclusion import follow_up_questions
from cellwright.analyst.sections.selection import MAX_CHOSEN, RequestedColumns, select_tests
from tests.analyst.sections.planted import SALES_MEANINGS, planted_sales, profile_of

OVERVIEW = AnalysisRequest(purpose="overview")


def row(
    y: str, x: str, effect: float, *, kind: drafts.TestKind = "difference", is_finding: bool = True, p: float = 0.001
) -> drafts.TestRow:
    return drafts.TestRow(
        kind=kind,
        table="sales",
        y=y,
        x=x,
        test="Kruskal-Wallis",
        n=1200,
        statistic=10.0,
        p=p,
        p_adjusted=p,
        effect=effect,
        effect_name="rank correlation",
        low=effect - 0.1,
        high=effect + 0.1,
        checked="similar spread",
        says=f"{y} is higher where {x} is North",
        is_finding=is_finding,
    )


def told(
    tests: list[drafts.TestRow], asked: RequestedColumns, wanted: AnalysisRequest = OVERVIEW
) -> list[tuple[str, str]]:
    return [(row.y, row.x) for row, _ in select_tests(tests, asked, wanted)]


def asked(measure: str, group: str = "") -> RequestedColumns:
    groups = frozenset({("sales", group)}) if group else frozenset[tuple[str, str]]()
    return RequestedColumns(measures=frozenset({("sales", measure)}), groups=groups)


def test_without_a_goal_the_strongest_finding_comes_first() -> None:
    tests = [row("a", "g", 0.3), row("b", "h", 0.7), row("c", "i", 0.5)]
    assert told(tests, RequestedColumns()) == [("b", "h"), ("c", "i"), ("a", "g")]


def test_what_is_no_finding_is_not_told_unless_it_was_asked_for() -> None:
    tests = [row("a", "g", 0.3, is_finding=False), row("b", "h", 0.7)]
    assert told(tests, RequestedColumns()) == [("b", "h")]
    assert told(tests, asked("a", "g")) == [("a", "g"), ("b", "h")]


def test_what_the_goal_names_comes_before_what_is_stronger() -> None:
    tests = [row("a", "g", 0.3), row("b", "h", 0.9)]
    assert told(tests, asked("a", "g"))[0] == ("a", "g")


def test_one_column_does_not_crowd_out_all_others() -> None:
    tests = [row("a", f"g{number}", 0.9 - number / 100) for number in range(8)]
    tests += [row(f"b{number}", f"h{number}", 0.4) for number in range(8)]
    first = told(tests, RequestedColumns())[:4]
    assert [y for y, _ in first].count("a") <= 2


def test_never_more_are_told_than_a_reader_takes_in() -> None:
    tests = [row(f"y{number}", f"x{number}", 0.5) for number in range(40)]
    assert len(told(tests, RequestedColumns())) == MAX_CHOSEN


def test_the_same_tests_in_another_order_give_the_same_choice() -> None:
    tests = [row(f"y{number % 3}", f"x{number}", 0.5) for number in range(12)]
    assert told(tests, RequestedColumns()) == told(tests[::-1], RequestedColumns())


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("revenue_eur", "EUR", "revenue (EUR)"),
        ("bill_length_mm", "mm", "bill length (mm)"),
        ("weight", "kg", "weight (kg)"),
        ("kg", "kg", "kg (kg)"),
        ("Umsatz", "", "Umsatz"),
        ("a\nb\x00", "", "a b"),
        ("", "", "unnamed column"),
        ("x" * 200, "", "x" * 59 + "…"),
    ],
)
def test_a_column_is_called_by_words_and_its_unit(name: str, unit: str, label: str) -> None:
    assert label_of(name, unit) == label


def test_questions_are_five_different_ones_that_name_columns() -> None:
    profile = profile_of({"sales.csv": planted_sales(60)}, SALES_MEANINGS)
    columns = Columns(profile, name_tables(profile, {"sales.csv": "sales_csv"}))
    asked_next = follow_up_questions(profile, columns, OVERVIEW, [row("revenue_eur", "region", 0.5)])
    assert len(set(asked_next)) == 5
    assert asked_next[0] == "Does revenue (EUR) still differ by region among rows of the same product?"
    assert "Why did revenue (EUR) change between 2023 and 2024?" in asked_next


def test_a_column_the_goal_names_is_found_where_it_stands_in_the_notebook() -> None:
    profile = profile_of({"sales.csv": planted_sales(60)}, SALES_MEANINGS)
    columns = Columns(profile, name_tables(profile, {"sales.csv": "sales_csv"}, taken={"sales"}))
    named = NamedColumn(table="sales", column="region")
    assert columns.requested(AnalysisRequest(purpose="compare", groups=(named,))).groups == {("sales_2", "region")}


# ── sentences made in the notebook ──


def test_a_finding_is_told_with_its_test_and_otherwise_taken_back() -> None:
    found = {"is_finding": True, "says": "a is high", "test": "T", "n": 1200, "p_adjusted": 0.00001}
    assert told_in_brief(found, "A by b") == "A is high (T, n = 1,200, corrected p < 0.001)."
    gone = {**found, "is_finding": False, "p_adjusted": 0.41}
    assert (
        told_in_brief(gone, "A by b")
        == "A by b: nothing that could be told from chance (T, n = 1,200, corrected p = 0.41)."
    )
    weak = {**found, "is_finding": False, "p_adjusted": 0.03}
    assert told_in_brief(weak, "A by b").startswith("A by b: there is a pattern, but too weak to matter")
    assert told_in_brief(None, "A by b").startswith("A by b: not tested")


def test_a_title_claims_nothing_that_no_longer_holds() -> None:
    assert chart_headline({"is_finding": True, "says": "a is high"}, "A by b") == ["A is high"]
    assert chart_headline({"is_finding": False, "says": "a is high"}, "A by b") == ["A by b"]
    assert chart_headline(None, "A by b") == ["A by b"]


def test_what_a_test_could_have_seen_comes_from_its_interval() -> None:
    seen = could_be_seen({"is_finding": False, "n": 90, "low": -0.21, "high": 0.1, "effect_name": "rank correlation"})
    assert "beyond 0.21 (rank correlation" in seen
    assert could_be_seen({"is_finding": True, "n": 90, "low": 0, "high": 1, "effect_name": "x"}) == ""


def test_columns_are_called_as_a_reader_would_and_nothing_else_is_touched() -> None:
    says = {"says": "mass_g rises as mass rises in massif"}
    assert with_labels(says, {"mass": "mass (kg)", "mass_g": "mass (g)"}) == {
        "says": "mass (g) rises as mass (kg) rises in massif"
    }
    assert with_labels(None, {"a": "b"}) is None
    assert with_labels({"says": "a is high (median 1.265e+04)"}, {}) == {"says": "a is high (median 12,650)"}


def test_a_change_is_told_in_figures_and_explained_only_while_it_holds() -> None:
    parts = pd.DataFrame({"region": ["North", "South"], "first": [100.0, 50.0], "second": [60.0, 40.0]})
    parts["change"] = parts["second"] - parts["first"]
    parts["share"] = parts["change"] / parts["change"].sum()
    goods = parts.assign(change=[-60.0, 10.0], share=[1.2, -0.2]).rename(columns={"region": "goods"})
    assert why_it_changed({"is_finding": True}, {"region": parts, "goods": goods}, "total") == (
        "The total fell from 150 to 100 (-33.3%). It comes, by goods, from North (120% of it); "
        "by region, from North (80% of it)."
    )
    assert why_it_changed({"is_finding": False}, {"region": parts}, "total") == (
        "The total fell from 150 to 100 (-33.3%), which may well be chance: see the test."
    )
    assert why_it_changed(None, {"region": parts}, "total") == ""


def test_functions_come_with_those_they_call_and_without_foreign_names() -> None:
    names = [cell.name for cell in source_cells(["told_in_brief", "chart_headline"])]
    assert names == ["method_told_in_brief", "method_chart_headline"]
    for cell in source_cells(
        ["told_in_brief", "with_labels", "why_it_changed", "group_summary", "season_profile", "density_of_pairs"]
    ):
        assert "Any" not in cell.code
        assert len(cell.code.splitlines()) <= 40
        ast.parse(cell.code)


def test_an_empty_table_gives_an_empty_picture() -> None:
    from cellwright.analyst.methods import presentation

    table = pd.DataFrame({"y": [], "x": []})
    for make in (
        presentation.group_summary,
        presentation.shares_by_group,
        presentation.drawn_pairs,
        presentation.points_over_time,
    ):
        assert len(make(table, "y", "x")) == 0
    assert len(presentation.season_profile(table, "y", "x", "month")) == 0
