"""The analyst on files behind connections: the same goal gives the same figures as on files that are here."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace as with_fields

from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.readers import reading_code
from cellwright.analyst.sections.text import is_sampled
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.connections import connections_at, store_connection
from cellwright.data.messages import ListStatements
from cellwright.data.remote_paths import RemotePath, read_remote_path
from cellwright.profiles.profile import Profile, ReadOptions, TableProfile
from cellwright.profiles.read_lines import read_line
from cellwright.runs.execute.analyst_tables import too_large, without_large
from cellwright.runs.execute.connection_cell import ConnectionNames
from cellwright.runs.goal.goal import Goal
from cellwright.runs.goal.request import GoalRequest, read_goal
from cellwright.secrets import keep_secret
from tests.data.file_stores.servers import FileServer, s3_server, sftp_server, write_files
from tests.models.testbed import ModelTestbed
from tests.profiles.made import a_category, a_measure, a_table
from tests.runs.factory import Factory, Kernels, open_factory

ORDERS = Path(__file__).parents[2] / "examples/data/orders.csv"
GOAL = "Which product group has the highest amount?"


def many_days() -> pd.DataFrame:
    """More than is fetched of a text for a look."""
    rows = pd.DataFrame({"day": range(150_000)})
    rows["region"] = [("north", "south", "east")[day * day % 7 % 3] for day in rows["day"]]
    return rows.assign(revenue=rows["day"] % 97 * 1.5, note="as it was written down on that day by somebody")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    rows = pd.read_csv(ORDERS, sep=";")
    rows.to_parquet(folder / "orders.parquet")
    with closing(sqlite3.connect(folder / "orders.db")) as database, database:
        rows.to_sql("orders", database, index=False)
    many_days().to_csv(folder / "days.csv", index=False)
    halves = {f"months/orders-{at}.csv": rows.iloc[at::2].to_csv(index=False, sep=";").encode() for at in range(2)}
    names = ("orders.parquet", "orders.db", "days.csv")
    return {"orders.csv": ORDERS.read_bytes(), **{name: (folder / name).read_bytes() for name in names}, **halves}


@pytest.fixture(scope="module")
def bucket(files: dict[str, bytes]) -> Generator[FileServer]:
    with s3_server(files, "lake") as server:
        yield server


@pytest.fixture
async def client(testbed: ModelTestbed) -> AsyncGenerator[BrokerClient]:
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


def name_server(home: Path, server: FileServer, name: str) -> None:
    store_connection(home, server.connection(name))
    keep_secret(home, f"data:{name}", server.secret, "file")


def goal_of(factory: Factory, word: str, notebook: str, words: str = GOAL) -> Goal:
    """As the command line reads it."""
    known = connections_at(factory.testbed.home)
    typed = GoalRequest(
        words=words, data=(word,), models=("analyst",), notebook=Path(notebook), project=factory.project, effort="quick"
    )
    return read_goal(
        typed,
        person="ada",
        here=factory.project,
        known_connections=known,
        find_remote=lambda each: read_remote_path(each, known),
    )


async def delivered(factory: Factory, goal: Goal, run: str) -> tuple[str, str]:
    delivery = await factory.delivery(await factory.start(goal, run=run))
    assert (delivery.why, delivery.status) == ("", "done")
    assert delivery.proof
    assert delivery.checks
    assert all(check.has_passed for check in delivery.checks)
    return delivery.headline, delivery.answer


@pytest.mark.slow
async def test_the_same_goal_on_files_here_in_a_bucket_and_on_a_server_gives_the_same_figures(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, bucket: FileServer, tmp_path: Path
) -> None:
    (project / "orders.csv").write_bytes(ORDERS.read_bytes())
    name_server(testbed.home, bucket, "lake")
    with sftp_server(write_files(tmp_path / "served", {"out/orders.csv": ORDERS.read_bytes()})) as sftp:
        name_server(testbed.home, sftp, "drop")
        port, folder = sftp.options["port"], sftp.options["path"]
        async with open_factory(testbed, project, kernels) as factory:
            here = await delivered(factory, goal_of(factory, "orders.csv", "here.py"), "here")
            in_bucket = goal_of(factory, "s3://lake/orders.csv", "bucket.py")
            on_server = goal_of(factory, f"sftp://127.0.0.1:{port}{folder}/out/orders.csv", "server.py")
            assert (in_bucket.files, on_server.files) == (("lake:lake/orders.csv",), ("drop:out/orders.csv",))
            assert await delivered(factory, in_bucket, "bucket") == here
            assert await delivered(factory, on_server, "server") == here
            text = factory.notebook("bucket.py")
    assert 'lake = cellwright.files("lake")' in text
    assert 'orders_csv = lake / "lake/orders.csv"' in text
    assert '"fsspec' in text
    assert testbed.provider.requests == ()
    sent = await client.statements(ListStatements(run="bucket", most=500))
    assert {line.outcome for line in sent} == {"done"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["orders.parquet", "orders.db", "months"])
async def test_other_formats_and_folders_give_the_same_figures(
    name: str,
    files: dict[str, bytes],
    testbed: ModelTestbed,
    project: Path,
    kernels: Kernels,
    client: BrokerClient,
    bucket: FileServer,
) -> None:
    del client
    write_files(project, {path: data for path, data in files.items() if path.startswith(name)})
    name_server(testbed.home, bucket, "lake")
    async with open_factory(testbed, project, kernels) as factory:
        here = await delivered(factory, goal_of(factory, name, "here.py"), "here")
        assert await delivered(factory, goal_of(factory, f"lake:lake/{name}", "there.py"), "there") == here


@pytest.mark.slow
async def test_a_text_of_which_parts_were_looked_at_is_computed_whole(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, bucket: FileServer
) -> None:
    del client
    name_server(testbed.home, bucket, "lake")
    async with open_factory(testbed, project, kernels) as factory:
        goal = goal_of(factory, "lake:lake/days.csv", "days.py", "What is the total revenue?")
        headline, _ = await delivered(factory, goal, "days")
    assert headline == f"Revenue: {many_days()['revenue'].sum() / 1e6:.1f}m"


@pytest.mark.slow
async def test_what_is_not_there_ends_a_run_with_one_sentence(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, bucket: FileServer
) -> None:
    del client
    name_server(testbed.home, bucket, "lake")
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(goal_of(factory, "lake:lake/nothing.csv", "nothing.py"))
    assert delivery.status == "failed"
    assert delivery.why.startswith("lake: There is no 'lake/nothing.csv'")


# ── what is written, and what is not fetched ──


def behind(name: str, *, rows: int = 100, size: int = 1_000, files: int = 1) -> TableProfile:
    paths = tuple(f"cellwright://lake/{name}/{at}.parquet" for at in range(files))
    table = a_table(name, a_category(), a_measure(), reading=ReadOptions(path=paths[0], format="parquet"), rows=rows)
    return with_fields(table, bytes=size, files=paths)


def test_files_behind_connections_are_reached_through_one_cell() -> None:
    remote = (
        RemotePath(connection="lake", path="sales/orders.csv"),
        RemotePath(connection="lake", path="sales"),
        RemotePath(connection="drop", path=""),
    )
    names = ConnectionNames.of(["shop"], remote, {"lake"}, single={"cellwright://lake/sales/orders.csv"})
    assert names.code(has_import=False).splitlines() == [
        "# Every database is asked through this cell: another connection in its place is all there is to change.",
        "import cellwright_cells as cellwright",
        "",
        'shop = cellwright.connection("shop")',
        "# Every file behind a connection is reached through this cell: where it moves, or is here, only this cell "
        "changes.",
        'lake_2 = cellwright.files("lake")',
        'drop = cellwright.files("drop")',
        'orders_csv = lake_2 / "sales/orders.csv"',
        'sales_folder = lake_2 / "sales"',
    ]
    assert names.sources == {
        "shop": "shop",
        "cellwright://lake/sales/orders.csv": "orders_csv",
        "cellwright://lake/sales": "sales_folder",
        "cellwright://drop/": "drop",
    }


def test_of_parquet_behind_a_connection_only_the_columns_in_use_are_fetched() -> None:
    table = with_fields(behind("sales"), files=())
    names = name_tables(Profile(tables=(table,)), {"cellwright://lake/sales": "sales_folder"}).of("sales")
    [first, second] = [column.name for column in table.columns]
    source = 'pq.read_table((sales_folder / "0.parquet").open("rb")'
    assert reading_code(table, names, step=1, columns=[second]) == (
        f'sales_as_read = {source}, columns=["{second}"]).to_pandas(ignore_metadata=True)'
    )
    whole = f"sales_as_read = {source}).to_pandas(ignore_metadata=True)"
    assert reading_code(table, names, step=1, columns=[first, second]) == whole
    assert reading_code(table, names, step=1) == whole


def test_more_than_a_notebook_fetches_is_refused_or_left_out_and_named() -> None:
    small, large, many = behind("small"), behind("large", size=3 << 30), behind("many", files=500)
    left, refused = without_large(Profile(tables=(small, large, many)), 10)
    assert ([table.name for table in left.tables], refused) == (["small"], None)
    assert [each.why for each in left.skipped] == [
        "it has 3.2 GB in 1 files, and at most 2 GB in 200 files are fetched into a notebook",
        "it has 0.0 GB in 500 files, and at most 2 GB in 200 files are fetched into a notebook",
    ]
    told = too_large([large], 10)
    assert told is not None
    assert told.why.endswith("Name fewer files, or copy what you need.")


def test_a_look_at_parts_makes_no_sample_of_what_is_short_enough() -> None:
    assert not is_sampled(with_fields(behind("short"), rows=150_000, looked_at=2_000))
    assert is_sampled(with_fields(behind("long"), rows=900_000, looked_at=2_000))


def test_agents_are_told_how_each_format_is_read_behind_a_connection() -> None:
    nested = ReadOptions(path="cellwright://lake/a/b.json", format="json", is_nested=True)
    database = ReadOptions(path="cellwright://lake/a/b.db", format="sqlite", part="t")
    lines = [read_line(a_table("b", a_category(), reading=each)) for each in (nested, database)]
    assert lines == [
        'pd.json_normalize(json.loads((cellwright.files("lake") / "a/b.json").open().read()))',
        'cellwright.files("lake").get_file("a/b.db", "/tmp/b.db"); '
        'pd.read_sql("SELECT * FROM \\"t\\"", sqlite3.connect("/tmp/b.db"))',
    ]


def test_an_api_is_nothing_for_the_analyst_and_that_is_said_before_a_run(tmp_path: Path) -> None:
    typed = GoalRequest(words="What is it?", connections=("crm",), models=("analyst",))
    with pytest.raises(Exception, match="The analyst does not ask APIs, and 'crm' is one"):
        read_goal(typed, person="ada", here=tmp_path, known_connections=["crm"], apis=["crm"])
