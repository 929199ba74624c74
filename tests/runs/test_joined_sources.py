"""One question that takes a database, a bucket and an API: answered by a scripted agent, without a secret anywhere."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.messages import ListStatements
from tests.app.web_services import API_SECRET, BIRDS, ApiServer, ObjectServer, api_server, name_api, object_server
from tests.data.shop import READER_PASSWORD, Shop, name_connection, new_shop, shop_server
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory

PRICES = {"wren": 3, "robin": 5}
"""Of a gram, in the bucket."""
SOLD = {"wren": 10, "robin": 2}
"""Birds, in the database; what each weighs, the API says."""
RIGHT = sum(each["grams"] * PRICES[each["bird"]] * SOLD[each["bird"]] for each in BIRDS)
CONNECT = """\
import cellwright_cells as cellwright

shop = cellwright.connection("shop")
lake = cellwright.files("lake")"""
COUNTED = 'sold = {row["bird"]: row["pieces"] for row in shop.sql("select bird, pieces from sold").to_pylist()}\nsold'
PRICED = """\
import pyarrow.dataset

prices = {
    row["bird"]: row["price"]
    for row in pyarrow.dataset.dataset("lake/prices", filesystem=lake, format="parquet").to_table().to_pylist()
}
prices"""
WEIGHED = """\
import requests

grams = {{
    row["bird"]: row["grams"]
    for row in requests.get(
        "{url}", headers={{"Authorization": "Bearer cellwright-secret:crm"}}, timeout=60
    ).json()
}}
grams"""
ANSWER = "answer = sum(sold[bird] * prices[bird] * grams[bird] for bird in sold)\nanswer"
TEST = "def test_answer():\n    assert answer > max(prices.values()) * max(grams.values())"


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        rows = ", ".join(f"('{bird}', {pieces})" for bird, pieces in SOLD.items())
        shop.owned("create table sold (bird text primary key, pieces int)")
        shop.owned(f"insert into sold values {rows}")
        shop.owned("grant select on sold to reader")
        yield shop


@pytest.fixture(scope="module")
def objects() -> Generator[ObjectServer]:
    with object_server() as server:
        for bird, price in PRICES.items():
            out = io.BytesIO()
            pq.write_table(pa.table({"bird": [bird], "price": [price]}), out)
            server.client.put_object(Bucket="lake", Key=f"prices/{bird}.parquet", Body=out.getvalue())
        yield server


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as server:
        yield server


@pytest.fixture
async def client(
    shop: Shop, objects: ObjectServer, api: ApiServer, testbed: ModelTestbed
) -> AsyncGenerator[BrokerClient]:
    name_connection(testbed.home, shop.connection())
    objects.name(testbed.home, objects.connection())
    name_api(testbed.home, api.connection())
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


@pytest.mark.slow
async def test_a_question_that_joins_a_database_a_bucket_and_an_api_is_answered_and_proven(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, api: ApiServer, objects: ObjectServer
) -> None:
    cells = [
        create(CONNECT, "connect"),
        create(COUNTED, "sold"),
        create(PRICED, "prices"),
        create(WEIGHED.format(url=api.url("/v1/birds")), "grams"),
        create(ANSWER, "answer"),
        create(TEST, "check_answer"),
    ]
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(at_once(apply(*cells), finish("It is {answer}.")))
        goal = replace(
            factory.goal("What are the birds worth that we sold?", notebook="worth.py"),
            connections=("shop", "lake", "crm"),
        )
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", f"It is {RIGHT}.")
        prompt = factory.prompts()[0]
        for told in ("sold", "cellwright.files", "s3://BUCKET", "price", api.url(), "cellwright-secret:crm"):
            assert told in prompt
        everything = "\n".join([*factory.prompts(), factory.notebook("worth.py"), json.dumps(str(delivery))])
        assert not [secret for secret in (READER_PASSWORD, API_SECRET, objects.secret) if secret in everything]
        lines = await client.statements(ListStatements(run="r", most=1000))
        assert {line.connection for line in lines} == {"shop", "lake", "crm"}
        assert not api.strangers
