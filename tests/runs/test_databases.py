"""Goals about a database: the agent sees which tables matter, asks, computes in cells, and changes nothing unasked."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.messages import ListStatements, ReadSchema
from cellwright.policy.approvals import Yes
from cellwright.testing import CallTool
from tests.data.company import CUSTOMERS_IN_GERMANY, PIECES_OF_SHIPPED_ORDERS, TURNOVER_EUR, build_company
from tests.data.shop import Shop, name_connection, new_shop, shop_server
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory

CONNECT = create('import cellwright_cells as cellwright\n\nshop = cellwright.connection("shop")', "shop")
ACTIVE = "update sales.customers set deleted_at = null where customer_id = 5"


@pytest.fixture(scope="module")
def company() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        build_company(shop)
        yield shop


@pytest.fixture
async def client(company: Shop, testbed: ModelTestbed) -> AsyncGenerator[BrokerClient]:
    name_connection(testbed.home, company.connection(writer="writer"))
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


def answering(statement: str, least: int) -> tuple[CallTool, ...]:
    value = f'answer = shop.sql("""{statement}""").column(0)[0].as_py()\nanswer'
    test = f"def test_answer():\n    assert answer > {least}"
    return (apply(CONNECT, create(value, "answer"), create(test, "check_answer")), finish("It is {answer:,.0f}."))


GOALS = {
    "How many customers do we have in Germany?": (
        "deleted_at",
        "select count(*) from sales.customers where country = 'DE' and deleted_at is null",
        CUSTOMERS_IN_GERMANY,
    ),
    "What is the turnover of all orders in EUR?": (
        "exchange_rates",
        "select sum(o.amount * r.eur_per_unit) from sales.orders o join sales.exchange_rates r using (currency)",
        TURNOVER_EUR,
    ),
    "How many pieces are in the orders that were shipped?": (
        "shipments",
        "select sum(quantity) from sales.order_items i where exists "
        "(select from sales.shipments s where s.order_id = i.order_id)",
        PIECES_OF_SHIPPED_ORDERS,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", GOALS)
async def test_a_question_with_a_trap_is_answered_from_sixty_tables_by_what_the_prompt_told(
    words: str, testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient
) -> None:
    seen, statement, right = GOALS[words]
    look = CallTool("query", {"connection": "shop", "sql": statement})
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(look, at_once(*answering(statement, right // 2)))
        goal = replace(factory.goal(words, notebook="asked.py"), connections=("shop",))
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.answer == f"It is {right:,}."
        assert '"cellwright-cells>=' in factory.notebook("asked.py")
        # What makes the trap one is in the first request, out of sixty tables.
        assert seen in factory.prompts()[0]
        assert len((await client.schema(ReadSchema(connection="shop"))).tables) == 60
        prompt = factory.prompts()[0].replace("\\n", "\n")
        told = re.findall(r"^(?:sales|public|back_office)\.\w+", prompt, re.MULTILINE)
        assert told[0].startswith("sales.")
        assert len({*told}) < 60
        assert re.search(r"And [1-9]\d* more tables? in shop", prompt)
        lines = await client.statements(ListStatements(run="r"))
        assert {line.outcome for line in lines} == {"done"}
        assert all(line.tables and line.person == "ada" for line in lines)


@pytest.mark.slow
async def test_sql_that_names_a_wrong_column_is_repaired_by_what_the_server_says_and_the_columns_that_are_near(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient
) -> None:
    right = GOALS["How many customers do we have in Germany?"][1]
    wrong = right.replace("country", "countri")
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            CallTool("query", {"connection": "shop", "sql": wrong}),
            CallTool("query", {"connection": "shop", "sql": right}),
            at_once(*answering(right, 10)),
        )
        goal = replace(factory.goal("How many customers are in Germany?", notebook="mended.py"), connections=("shop",))
        delivery = await factory.deliver(goal)
        assert (delivery.status, delivery.answer) == ("done", f"It is {CUSTOMERS_IN_GERMANY:,}.")
        asked, repaired, answered = factory.prompts()[:3]
        assert "countri" not in asked.replace(right, "")
        assert 'column "countri" does not exist' in repaired
        assert "Did you mean country or " in repaired
        assert str(CUSTOMERS_IN_GERMANY) in answered
    outcomes = [line.outcome for line in await client.statements(ListStatements(run="r"))]
    assert outcomes.count("failed") == 1


@pytest.mark.slow
async def test_a_change_is_asked_about_with_its_text_and_rows_and_made_once(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, company: Shop
) -> None:
    look = "select count(*) from sales.customers where deleted_at is null"
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            CallTool("write", {"connection": "shop", "sql": ACTIVE}),
            at_once(*answering(look, 100)),
        )
        await factory.start(replace(factory.goal("Bring customer 5 back.", notebook="back.py"), connections=("shop",)))
        shown = await factory.answer(Yes(reach="once"))
        assert ACTIVE in shown
        assert "Changes 1 rows of sales.customers: tried, counted and undone just now." in shown
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "It is 161.")
    [written] = [line for line in await client.statements(ListStatements(run="r")) if line.access == "write"]
    assert (written.outcome, written.rows, written.tables) == ("done", 1, ("sales.customers",))
    assert company.owned(look) == [(161,)]


@pytest.mark.slow
async def test_a_database_that_the_goal_does_not_name_is_asked_about_first(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        turnover = answering(GOALS["What is the turnover of all orders in EUR?"][1], 100)
        factory.script(at_once(*turnover), turnover[-1])
        await factory.start(factory.goal("What is the turnover?", notebook="unnamed.py"))
        assert "Read from the connection shop" in await factory.say_yes()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", f"It is {TURNOVER_EUR:,}.")
