"""What tables are called: valid, unique, never in anybody's way."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.analyst.goal.request import AnalysisRequest, NamedColumn
from cellwright.analyst.names import MAX_TABLES, Namer, name_tables
from cellwright.errors import Defect
from cellwright.profiles.profile import ColumnProfile, Join, Kind, Profile, ReadOptions, TableProfile


def table(name: str, *columns: ColumnProfile, path: str = "", files: tuple[str, ...] = ()) -> TableProfile:
    reading = ReadOptions(path=path or f"{name}.csv", format="csv")
    return TableProfile(name=name, reading=reading, rows=3, looked_at=3, columns=columns or (key("a"),), files=files)


def key(name: str, kind: Kind = "integer") -> ColumnProfile:
    return ColumnProfile(name=name, kind=kind, meaning="id", count=3, distinct=3)


def paths(*tables: TableProfile) -> dict[str, str]:
    return {each.reading.path: f"file_{at}" for at, each in enumerate(tables)}


def test_a_table_is_called_like_its_file() -> None:
    sales = table("Sales Q3")
    (names,) = name_tables(Profile(tables=(sales,)), {"Sales Q3.csv": "sales_q3_csv"}).tables
    assert (names.table, names.as_read, names.repairs) == ("sales_q3", "sales_q3_as_read", "sales_q3_repairs")
    assert names.source == "sales_q3_csv"


@pytest.mark.parametrize(
    "name", ["list", "class", "pd", "tests", "mo", "match", "", "___", "1st", "test_results", "as_date"]
)
def test_no_name_hides_one_of_python_or_of_the_notebook(name: str) -> None:
    one = table(name, path="a.csv")
    (names,) = name_tables(Profile(tables=(one,)), {"a.csv": "a_csv"}).tables
    assert names.table != name
    assert names.table.isidentifier()
    assert not keyword.iskeyword(names.table)
    assert not hasattr(builtins, names.table)
    assert not names.table.startswith(("test", "_"))


def test_what_the_notebook_has_already_stays_with_it() -> None:
    sales = table("sales")
    names = name_tables(Profile(tables=(sales,)), paths(sales), taken={"sales_as_read", "libraries"})
    assert names.tables[0].table == "sales_2"
    assert names.fixed("libraries") == "libraries_2"
    assert names.fixed("answer") == "answer"


@given(st.lists(st.text(max_size=40), min_size=1, max_size=12, unique=True))
def test_whatever_files_are_called_names_are_valid_and_differ(words: list[str]) -> None:
    tables = tuple(table(word, path=f"{at}.csv") for at, word in enumerate(words))
    names = name_tables(Profile(tables=tables), paths(*tables))
    every = [variable for each in names.tables for variable in each.variables]
    assert len(set(every)) == len(every)
    assert all(each.isidentifier() and not each.startswith("_") for each in every)


def test_a_file_in_a_folder_is_reached_from_the_folder() -> None:
    january = table("sales", path="months/2024/jan.csv", files=("months/2024/jan.csv", 'months/2024/f"eb.csv'))
    (names,) = name_tables(Profile(tables=(january,)), {"months": "months_folder"}).tables
    assert names.source == r'[months_folder / "2024/jan.csv", months_folder / "2024/f\"eb.csv"]'


def test_a_file_that_no_cell_knows_is_our_own_mistake() -> None:
    with pytest.raises(Defect):
        name_tables(Profile(tables=(table("sales"),)), {})


def test_of_too_many_tables_those_that_the_goal_names_are_read() -> None:
    tables = tuple(table(f"t{at:02}") for at in range(MAX_TABLES + 5))
    wanted = AnalysisRequest(purpose="overview", measures=(NamedColumn(table="t16", column="a"),))
    names = name_tables(Profile(tables=tables), paths(*tables), wanted=wanted)
    assert len(names.tables) == MAX_TABLES
    assert names.is_read("t16")
    assert not names.is_read("t15")


def test_a_join_gives_a_table_with_every_column_named_once() -> None:
    orders = table("orders", key("id"), key("customer"), key("name", "text"))
    customers = table("customers", key("id"), key("name", "text"))
    join = Join(
        left="orders",
        left_column="customer",
        right="customers",
        right_column="id",
        left_coverage=0.95,
        right_coverage=0.4,
        relation="many-to-one",
    )
    profile = Profile(tables=(orders, customers), joins=(join,))
    (joint,) = name_tables(profile, paths(orders, customers)).joined
    assert joint.variable == "orders_with_customers"
    assert [column.name for column in joint.columns] == ["id", "customer", "name", "name_customers"]


def test_keys_that_cannot_be_compared_or_hardly_meet_are_not_joined() -> None:
    left, right = table("a", key("k", "date"), key("n")), table("b", key("k", "text"), key("n"))
    terms: dict[str, Any] = {"left": "a", "right": "b", "right_coverage": 1.0, "relation": "many-to-one"}
    unlike = Join(left_column="k", right_column="k", left_coverage=1.0, **terms)
    apart = Join(left_column="n", right_column="n", left_coverage=0.3, **terms)
    profile = Profile(tables=(left, right), joins=(unlike, apart))
    assert name_tables(profile, paths(left, right)).joined == ()


def test_a_namer_gives_each_name_once() -> None:
    sales = table("sales")
    namer = Namer(name_tables(Profile(tables=(sales,)), paths(sales)))
    assert [namer("sales price look"), namer("sales price look"), namer("sales")] == [
        "sales_price_look",
        "sales_price_look_2",
        "sales_2",
    ]
