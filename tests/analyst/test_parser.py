"""Goals in words, read against what the data has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.analyst.goal.parser import read_goal_words
from cellwright.analyst.goal.request import AnalysisRequest, DateRange, UnsupportedGoal
from cellwright.profiles.profile import ColumnProfile, Profile, ReadOptions, TableProfile, Times, ValueCount


def _values(*values: str) -> tuple[ValueCount, ...]:
    return tuple(ValueCount(value=value, count=10) for value in values)


ORDERS = TableProfile(
    name="orders",
    reading=ReadOptions(path="orders.csv", format="csv"),
    rows=5_000,
    looked_at=5_000,
    time_column="order_date",
    columns=(
        ColumnProfile(name="order_id", kind="integer", meaning="id", is_unique=True),
        ColumnProfile(
            name="order_date",
            kind="date",
            meaning="date",
            times=Times(first="2022-01-03", last="2024-08-20", step="day"),
        ),
        ColumnProfile(name="total_revenue", kind="number", meaning="currency", unit="EUR"),
        ColumnProfile(name="UnitPrice", kind="number", meaning="currency"),
        ColumnProfile(name="Menge", kind="integer", meaning="measure"),
        ColumnProfile(name="region", kind="text", meaning="category", common=_values("North", "South", "East", "A")),
        ColumnProfile(name="product_category", kind="text", meaning="category", common=_values("Garden", "Toys", "B")),
        ColumnProfile(name="is_returned", kind="boolean", meaning="flag", common=_values("True", "False")),
        ColumnProfile(name="customer_id", kind="integer", meaning="id"),
    ),
)
CUSTOMERS = TableProfile(
    name="customers",
    reading=ReadOptions(path="customers.csv", format="csv"),
    rows=400,
    looked_at=400,
    columns=(
        ColumnProfile(name="customer_id", kind="integer", meaning="id", is_unique=True),
        ColumnProfile(name="segment", kind="text", meaning="category", common=_values("Business", "Private")),
        ColumnProfile(name="Straße", kind="text", meaning="text"),
    ),
)
SHOP = Profile(tables=(ORDERS, CUSTOMERS))


def wanted(words: str) -> AnalysisRequest:
    read = read_goal_words(words, SHOP)
    assert isinstance(read, AnalysisRequest), read
    return read


@pytest.mark.parametrize(
    ("words", "purpose"),
    [
        ("Why did revenue fall in Q3?", "change"),
        ("What caused the drop in total revenue last month", "change"),
        ("Warum ist der Umsatz gefallen?", "change"),
        ("Compare revenue in Q1 2024 and Q2 2024", "change"),
        ("Compare revenue by region", "compare"),
        ("Which region has the highest unit price?", "compare"),
        ("North vs South", "compare"),
        ("Umsatz nach Region vergleichen", "compare"),
        ("What drives returns?", "relate"),
        ("Is the price related to the quantity?", "relate"),
        ("Show the trend of revenue", "trend"),
        ("revenue over time", "trend"),
        ("Is the data clean?", "quality"),
        ("How far can I trust this, are there duplicates?", "quality"),
        ("Give me an overview", "overview"),
        ("Explore this data", "overview"),
        ("revenue region", "compare"),
        ("revenue and unit price", "relate"),
        ("revenue 2023", "trend"),
    ],
)
def test_the_purpose_of_a_goal_is_read(words: str, purpose: str) -> None:
    assert wanted(words).purpose == purpose


@pytest.mark.parametrize(
    ("words", "measures", "groups"),
    [
        ("revenue by region", ["total_revenue"], ["region"]),
        ("Total Revenues by REGIONS", ["total_revenue"], ["region"]),
        ("how does total_revenue depend on unit price", ["total_revenue", "UnitPrice"], []),
        ("Umsatz je Region", ["total_revenue"], ["region"]),
        ("sales for each product category", ["total_revenue"], ["product_category"]),
        ("quantity of categories", ["Menge"], ["product_category"]),
        ("returned orders", [], ["is_returned", "order_id"]),
        ("our spending by region", ["total_revenue", "UnitPrice"], ["region"]),
        ("the weather in Spain", [], []),
    ],
)
def test_columns_are_found_by_their_names(words: str, measures: list[str], groups: list[str]) -> None:
    read = wanted(words)
    assert [name.column for name in read.measures] == measures
    assert sorted(name.column for name in read.groups) == sorted(groups)


def test_values_are_found_and_bring_their_column() -> None:
    read = wanted("Is revenue higher in North than in South?")
    assert [(name.column, value) for name, value in read.values] == [("region", "North"), ("region", "South")]
    assert [name.column for name in read.groups] == ["region"]


def test_a_short_value_counts_only_in_a_comparison() -> None:
    assert [value for _, value in wanted("A vs B").values] == ["A", "B"]
    assert not wanted("A look at revenue").values


def test_a_word_that_could_mean_several_columns_is_explained() -> None:
    read = wanted("revenue by customer")
    assert {(name.table, name.column) for name in read.groups} == {
        ("orders", "customer_id"),
        ("customers", "customer_id"),
    }
    assert read.notes == (
        "A word of the goal could mean orders.customer_id or customers.customer_id; all are looked at.",
    )


@pytest.mark.parametrize(
    ("words", "spans"),
    [
        ("revenue in Q3", [("2024-07-01", "2024-09-30")]),
        ("revenue in Q4", [("2023-10-01", "2023-12-31")]),
        ("revenue in Q3 2023", [("2023-07-01", "2023-09-30")]),
        ("third quarter of 2023", [("2023-07-01", "2023-09-30")]),
        ("Umsatz im 3. Quartal 2023", [("2023-07-01", "2023-09-30")]),
        ("revenue 2023", [("2023-01-01", "2023-12-31")]),
        ("revenue in March", [("2024-03-01", "2024-03-31")]),
        ("revenue in October", [("2023-10-01", "2023-10-31")]),
        ("revenue in February 2024", [("2024-02-01", "2024-02-29")]),
        ("revenue last month", [("2024-07-01", "2024-07-31")]),
        ("revenue this month", [("2024-08-01", "2024-08-31")]),
        ("revenue last year", [("2023-01-01", "2023-12-31")]),
        ("revenue of the last 7 days", [("2024-08-14", "2024-08-20")]),
        ("revenue in the past three months", [("2024-05-21", "2024-08-20")]),
        ("last month against the month before", [("2024-07-01", "2024-07-31"), ("2024-06-01", "2024-06-30")]),
        ("revenue since May", [("2024-05-01", "2024-08-20")]),
        ("Umsatz seit Mai", [("2024-05-01", "2024-08-20")]),
        ("revenue between March and June 2023", [("2023-03-01", "2023-06-30")]),
        ("revenue from November to February 2024", [("2023-11-01", "2024-02-29")]),
        ("revenue before 2024-05-01", [("2022-01-03", "2024-04-30")]),
        ("revenue after 2024-05-01", [("2024-05-02", "2024-08-20")]),
        ("revenue until 2023", [("2022-01-03", "2023-12-31")]),
        ("Q1 vs Q2 2024", [("2024-01-01", "2024-03-31"), ("2024-04-01", "2024-06-30")]),
        ("2022 vs 2023", [("2022-01-01", "2022-12-31"), ("2023-01-01", "2023-12-31")]),
        ("why did revenue fall from Q1 to Q2", [("2024-01-01", "2024-03-31"), ("2024-04-01", "2024-06-30")]),
        ("revenue may depend on price", []),
        ("the top 2000 orders cost 1999.50", []),
        ("revenue on 2024-13-45", []),
        ("revenue after 9999-12-31", []),
        ("revenue before 0001-01-01", []),
    ],
)
def test_spans_become_dates_relative_to_the_last_in_the_data(words: str, spans: list[tuple[str, str]]) -> None:
    assert [(span.first, span.last) for span in wanted(words).spans] == spans


def test_a_span_keeps_the_words_of_the_goal() -> None:
    assert wanted("revenue since May").spans == (DateRange(words="since May", first="2024-05-01", last="2024-08-20"),)


def test_the_last_month_of_monthly_data_is_the_one_its_last_date_stands_for() -> None:
    times = Times(first="2022-01-01", last="2024-06-01", step="month")
    monthly = TableProfile(
        name="monthly",
        reading=ReadOptions(path="m.csv", format="csv"),
        rows=30,
        looked_at=30,
        columns=(ColumnProfile(name="month", kind="date", meaning="date", times=times),),
    )
    read = read_goal_words("what happened last month", Profile(tables=(monthly,)))
    assert isinstance(read, AnalysisRequest)
    assert [(span.first, span.last) for span in read.spans] == [("2024-06-01", "2024-06-30")]


@pytest.mark.parametrize(
    "words",
    [
        "Train a model to predict churn",
        "Forecast revenue for next quarter",
        "Write an essay about the shop",
        "Write an email to the customers",
        "Build me a web app",
        "Translate the product names into French",
        "Scrape prices from a site",
        "Draw a picture of a cat",
        "Tell me a joke",
        "What is the sentiment of the reviews?",
        "Export the table to parquet",
    ],
)
def test_a_goal_that_needs_a_model_says_what_it_asks_for(words: str) -> None:
    read = read_goal_words(words, SHOP)
    assert isinstance(read, UnsupportedGoal)
    assert read.why.startswith("The goal asks for ") and read.why.endswith(".")


def test_the_part_of_a_goal_that_can_be_served_is_served_and_the_rest_is_named() -> None:
    read = wanted("Show the trend of revenue and forecast the next month")
    assert (read.purpose, [name.column for name in read.measures]) == ("trend", ["total_revenue"])
    assert read.notes == ("The goal also asks for a forecast or prediction: that part is left out.",)


def test_what_predicts_a_measure_is_a_question_about_relations() -> None:
    assert wanted("What predicts revenue?").purpose == "relate"


def test_a_goal_that_names_nothing_known_gives_an_overview_and_says_so() -> None:
    assert wanted("Lorem ipsum dolor") == AnalysisRequest(purpose="overview", is_understood=False)


def test_a_profile_without_tables_is_read_too() -> None:
    assert read_goal_words("revenue in Q3", Profile()) == AnalysisRequest(purpose="overview", is_understood=False)


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=40), st.dates().map(str))
def test_no_words_and_no_names_break_the_reading(words: str, name: str, value: str, last: str) -> None:
    times = Times(first="2020-01-01", last=last)
    columns = (
        ColumnProfile(name=name, kind="text", meaning="category", common=_values(value)),
        ColumnProfile(name="when", kind="date", meaning="date", times=times),
    )
    reading = ReadOptions(path="x.csv", format="csv")
    profile = Profile(tables=(TableProfile(name=name, reading=reading, rows=1, looked_at=1, columns=columns),))
    for goal in (words, f"{words} last year", f"{name} {value} since March", f"last 999 years {words} Q1"):
        assert isinstance(read_goal_words(goal, profile), AnalysisRequest | UnsupportedGoal)
