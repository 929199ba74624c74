"""Goals about files behind a connection: the agent sees their profile, and reads them in cells."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.connections import connections_at, store_connection
from cellwright.data.messages import ListStatements
from cellwright.data.remote_paths import read_remote_path
from cellwright.errors import UserError
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.secrets import keep_secret
from tests.data.file_stores.servers import FileServer, s3_server
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory

CONNECT = create('import cellwright_cells as cellwright\n\nlake = cellwright.files("lake")', "lake")
SUM = (
    "import pyarrow.dataset\n\n_orders = pyarrow.dataset.dataset('lake/sales', filesystem=lake, format='parquet')\n"
    "answer = sum(_orders.to_table(columns=['turnover'])['turnover'].to_pylist())\nanswer"
)


def parquet(month: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"month": [month] * 100, "turnover": [float(row) for row in range(100)]}), out)
    return out.getvalue()


@pytest.fixture(scope="module")
def server() -> Generator[FileServer]:
    with s3_server({f"sales/2024-{month:02}.parquet": parquet(month) for month in range(1, 5)}, "lake") as server:
        yield server


@pytest.fixture
async def client(server: FileServer, testbed: ModelTestbed) -> AsyncGenerator[BrokerClient]:
    store_connection(testbed.home, server.connection())
    keep_secret(testbed.home, "data:lake", server.secret, "file")
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


@pytest.mark.slow
async def test_a_goal_about_a_folder_of_a_bucket_is_answered_from_what_the_prompt_told(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, server: FileServer
) -> None:
    test = "def test_answer():\n    assert answer > 100"
    steps = (apply(CONNECT, create(SUM, "answer"), create(test, "check_answer")), finish("It is {answer:,.0f}."))
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(at_once(*steps))
        goal = replace(
            factory.goal("What is the turnover?", notebook="lake.py"), connections=("lake",), files=("lake:lake/sales",)
        )
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "It is 19,800.")
        prompt = factory.prompts()[0]
        assert "cellwright.files" in prompt
        assert "cellwright://lake/lake/sales/2024-01.parquet" in prompt
        assert "turnover" in prompt
        assert "Databases:" not in prompt
        assert all(server.secret not in each for each in factory.prompts())
        lines = await client.statements(ListStatements(run="r", most=1000))
        assert any(line.statement.startswith("READ lake/sales/2024-01.parquet") for line in lines)


def test_data_behind_a_connection_is_named_like_data_here(tmp_path: Path, server: FileServer) -> None:
    store_connection(tmp_path / "home", server.connection())
    known = connections_at(tmp_path / "home")
    (tmp_path / "here.csv").write_text("a\n1\n")

    def goal(*data: str, models: tuple[str, ...] = ()) -> tuple[tuple[str, ...], ...]:
        typed = GoalRequest(words="What is it?", data=data, models=models)
        found = read_goal(
            typed,
            person="ada",
            here=tmp_path,
            known_connections=known,
            find_remote=lambda word: read_remote_path(word, known),
        )
        return found.data, found.connections, found.files

    here = str(tmp_path / "here.csv")
    assert goal("s3://lake/sales/", "here.csv") == ((here,), ("lake",), ("lake:lake/sales",))
    assert goal("lake:lake/sales/2024-01.parquet") == ((), ("lake",), ("lake:lake/sales/2024-01.parquet",))
    with pytest.raises(UserError, match="is behind no connection"):
        goal("s3://elsewhere/x")
    assert goal("lake:lake/sales", models=("analyst",)) == ((), ("lake",), ("lake:lake/sales",))
