"""The analyst on a real Postgres: the tables a goal is about become a proven notebook, without a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.readers import reading_code
from cellwright.analyst.sections.tables import rows_checks
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.connections import QueryLimits
from cellwright.data.messages import ListStatements
from cellwright.profiles.profile import Profile, ReadOptions, TableProfile
from cellwright.profiles.read_lines import read_line
from cellwright.runs.execute.analyst_tables import too_large, without_large
from cellwright.runs.execute.connection_cell import ConnectionNames
from tests.data.company import build_company
from tests.data.shop import Shop, name_connection, new_shop, shop_server
from tests.models.testbed import ModelTestbed
from tests.profiles.made import a_category, a_measure, a_table
from tests.runs.factory import Kernels, open_factory


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with shop_server() as server:
        yield server


@pytest.fixture(scope="module")
def shop(server: str) -> Generator[Shop]:
    with new_shop(server) as shop:
        shop.owned("update orders set amount = amount * 2 where customer_id % 3 = 1; analyze orders")
        yield shop


@pytest.fixture
async def client(testbed: ModelTestbed) -> AsyncGenerator[BrokerClient]:
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


@pytest.mark.slow
async def test_a_question_about_a_database_becomes_a_proven_notebook_without_a_model(
    testbed: ModelTestbed, project: Path, kernels: Kernels, shop: Shop, client: BrokerClient
) -> None:
    name_connection(testbed.home, shop.connection(masked=("customers.email",)))
    async with open_factory(testbed, project, kernels) as factory:
        asked = factory.goal("Which country buys most?", notebook="asked.py", models=("analyst",))
        delivery = await factory.deliver(replace(asked, connections=("shop",)))
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.proof
        assert delivery.checks
        assert all(check.has_passed for check in delivery.checks)
        [(country, _)] = shop.owned(
            "select country, sum(amount) from orders o join customers c on c.id = o.customer_id"
            " group by 1 order by 2 desc limit 1"
        )
        assert delivery.headline.startswith(f"{country} has the most amount")
        assert (delivery.microdollars, testbed.provider.requests) == (0, ())
        text = factory.notebook("asked.py")
    assert "import cellwright_cells as cellwright" in text
    assert 'shop = cellwright.connection("shop")' in text
    assert 'shop.sql(\'select "id", "country" from "public"."customers"\').to_pandas()' in text
    assert '"cellwright-cells' in text
    assert '"pyarrow==' in text
    sent = await client.statements(ListStatements(run="r", most=200))
    assert {line.outcome for line in sent} == {"done"}
    assert not any("email" in column for line in sent for column in line.columns)


@pytest.mark.slow
async def test_of_sixty_tables_those_that_the_goal_is_about_are_read(
    testbed: ModelTestbed, project: Path, kernels: Kernels, server: str, client: BrokerClient
) -> None:
    with new_shop(server) as company:
        build_company(company)
        name_connection(testbed.home, company.connection())
        async with open_factory(testbed, project, kernels) as factory:
            asked = factory.goal("How many customers are there by country?", notebook="many.py", models=("analyst",))
            delivery = await factory.deliver(replace(asked, connections=("shop",)))
            assert (delivery.why, delivery.status) == ("", "done")
            text = factory.notebook("many.py")
    # Counted, and read.
    assert text.count("shop.sql(") == text.count('"sales"."customers"') == 2
    sent = await client.statements(ListStatements(run="r", most=200))
    assert len({table for line in sent for table in line.tables}) < 12


@pytest.mark.slow
async def test_a_table_that_cannot_be_fetched_whole_is_refused_in_a_sentence_with_what_is_nearest(
    testbed: ModelTestbed, project: Path, kernels: Kernels, shop: Shop, client: BrokerClient
) -> None:
    name_connection(testbed.home, shop.connection(limits=QueryLimits(rows=1000)))
    async with open_factory(testbed, project, kernels) as factory:
        asked = factory.goal("Which country has the highest amount?", notebook="large.py", models=("analyst",))
        delivery = await factory.deliver(replace(asked, connections=("shop",)))
    assert delivery.status == "failed"
    assert delivery.why.startswith("public.orders has 3,000 rows, and at most 1,000 are fetched into a notebook.")
    assert "Nearest to it, the database itself can sum up" in delivery.why


def of_connection(name: str, rows: int) -> TableProfile:
    query = f'select "region", "price" from "public"."{name}"'
    reading = ReadOptions(path="shop", format="connection", part=f"public.{name}", query=query)
    return a_table(name, a_category(), a_measure(), reading=reading, rows=rows)


def test_tables_that_are_too_large_are_left_out_and_named_and_refused_where_nothing_is_left() -> None:
    small, large = of_connection("small", 100), of_connection("large", 3_000_000)
    left, refused = without_large(Profile(tables=(small, large)), 2_000_000)
    assert ([table.name for table in left.tables], refused) == (["small"], None)
    assert [(each.path, "2,000,000 rows" in each.why) for each in left.skipped] == [("public.large", True)]
    assert too_large([small], 2_000_000) is None
    for told in (too_large([small, large], 2_000_000), without_large(Profile(tables=(large,)), 2_000_000)[1]):
        assert told is not None
        assert told.why.startswith("public.large has 3,000,000 rows")


def test_a_table_is_counted_then_read_with_the_columns_that_are_needed() -> None:
    table = of_connection("sales", 100)
    names = name_tables(Profile(tables=(table,)), {"shop": "shop_2"}).of("sales")
    assert reading_code(table, names, step=1, columns=["price"]).splitlines()[1:] == [
        'sales_counted = shop_2.sql(\'select count(*) from "public"."sales"\').column(0)[0].as_py()',
        'sales_as_read = shop_2.sql(\'select "price" from "public"."sales"\').to_pandas()',
    ]
    assert list(rows_checks(table, names, is_whole=True)) == ["assert len(sales_as_read) >= sales_counted"]
    assert read_line(table) == 'shop.sql(\'select "region", "price" from "public"."sales"\').to_pandas()'


def test_databases_are_asked_through_one_cell_and_no_name_is_taken_twice() -> None:
    names = ConnectionNames.of(["shop", "crm"], (), {"shop", "other"}, single=())
    assert names.databases == {"shop": "shop_2", "crm": "crm"}
    assert names.code(has_import=False).splitlines()[1:] == [
        "import cellwright_cells as cellwright",
        "",
        'shop_2 = cellwright.connection("shop")',
        'crm = cellwright.connection("crm")',
    ]
