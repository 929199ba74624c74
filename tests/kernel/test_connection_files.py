"""Files of connections in kernels: libraries read them by name, reruns fetch nothing, and nothing stays open."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marimo._messaging import notification
from marimo._runtime import commands

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.verification import proven_queries
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.data.messages import ListStatements
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.session.observers import EditorChannel
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.policy.actions import QueryConnection
from cellwright.sandbox.host.tiers import probe
from cellwright.secrets import keep_secret
from cellwright.server.editor.notifications import admitted
from tests.data.file_stores.servers import FileServer, s3_client, s3_server
from tests.data.shop import broker_client

Told = TypeVar("Told")
Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
NAME = "import cellwright\nlake = cellwright.files('lake')"
PARTS = 3


def parquet(month: int) -> bytes:
    rows = 5000
    table = pa.table({"month": [month] * rows, "amount": [float(row) for row in range(rows)]})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


FILES = {
    "notes.csv": b"day,amount\n" + b"".join(b"%d,%d\n" % (day, day * 10) for day in range(20_000)),
    **{f"sales/2024-{month:02}.parquet": parquet(month) for month in range(1, PARTS + 1)},
}


@pytest.fixture(scope="module")
def server() -> Generator[FileServer]:
    with s3_server(FILES, "lake") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: FileServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("files-kernel") / "home") as client:
        connection = server.connection()
        store_connection(client.launch.home, connection)
        keep_secret(client.launch.home, connection.secret_name, server.secret, "file")
        yield client


@pytest.fixture
def open_in(pool: KernelPool, client: BrokerClient, write_notebook: Callable[..., Path]) -> Opener:
    @asynccontextmanager
    async def open_cells(
        *cells: str, may_query: Callable[[QueryConnection], bool] = lambda _: True, is_cached: bool = True
    ) -> AsyncGenerator[OpenNotebook]:
        path = write_notebook(*cells)
        connections = open_notebook_connections(
            client, notebook=path, project=path.parent, may_query=may_query, is_cached=is_cached
        )
        async with connections as asked:
            options = KernelOptions(project=path.parent, tier=probe().tier, host_services=asked.services)
            async with pool.open_notebook(path, options) as notebook:
                yield notebook

    return open_cells


async def lines(client: BrokerClient) -> list[str]:
    found = await client.statements(ListStatements(connection="lake", most=1000))
    return [line.statement for line in reversed(found)]


FILE = "lake/sales/2024-02.parquet"
WAYS = {
    "pandas by address": (
        f"import pandas\n_frame = pandas.read_parquet('cellwright://lake/{FILE}')\n"
        "found = float(_frame['amount'].sum())"
    ),
    "pandas by file system": (
        f"import pandas\n_frame = pandas.read_parquet({FILE!r}, filesystem=lake)\nfound = float(_frame['amount'].sum())"
    ),
    "pyarrow dataset": (
        "import pyarrow.dataset as _ds, pyarrow.compute as _pc\n"
        "_set = _ds.dataset('lake/sales', filesystem=lake, format='parquet')\n"
        "_table = _set.to_table(columns=['amount'], filter=_ds.field('month') == 2)\n"
        "found = _pc.sum(_table['amount']).as_py()"
    ),
    "pyarrow file": (
        f"import pyarrow.parquet as _pq\n_table = _pq.read_table({FILE!r}, filesystem=lake)\n"
        "found = sum(_table['amount'].to_pylist())"
    ),
    "polars": (
        f"import polars as _pl\nwith lake.open({FILE!r}) as _file:\n    found = _pl.read_parquet(_file)['amount'].sum()"
    ),
    "duckdb": (
        "import duckdb as _duckdb\n_db = _duckdb.connect()\n_db.register_filesystem(lake)\n"
        f"_sum = _db.execute(\"select sum(amount) from read_parquet('cellwright://lake/{FILE}')\")\n"
        "found = _sum.fetchone()[0]"
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\nimport io, pandas\n"
        "with ThreadPoolExecutor(4) as _pool:\n"
        "    _parts = list(_pool.map(lake.cat_file, ['lake/sales/2024-02.parquet'] * 4))\n"
        "found = float(pandas.read_parquet(io.BytesIO(_parts[3]))['amount'].sum())"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", ["pyarrow dataset", *(pytest.param(way, marks=pytest.mark.slow) for way in WAYS if way != "pyarrow dataset")]
)
async def test_libraries_read_files_of_a_connection_unchanged(open_in: Opener, way: str) -> None:
    async with open_in(NAME, WAYS[way]) as notebook:
        ran = await notebook.run("all")
        assert ran.is_ok, ran
        assert (await notebook.values(["found"]))["found"].json == sum(range(5000))


CSV = (
    "import pandas\nwith lake.open('lake/notes.csv') as _file:\n    total = int(pandas.read_csv(_file)['amount'].sum())"
)


@pytest.mark.slow
async def test_a_rerun_fetches_nothing_and_a_changed_file_is_read_anew(
    open_in: Opener, client: BrokerClient, server: FileServer
) -> None:
    async with open_in(NAME, CSV) as notebook:
        assert (await notebook.run("all")).is_ok
        before = await lines(client)
        assert (await notebook.run("all")).is_ok
        assert await lines(client) == before
        total = (await notebook.values(["total"]))["total"].json
        put = s3_client(server).put_object
        await anyio.to_thread.run_sync(lambda: put(Bucket="lake", Key="notes.csv", Body=b"day,amount\n1,7\n"))
        fresh = await notebook.apply(
            [CreateCell(code="other = cellwright.files('lake', fresh=True).cat_file('lake/notes.csv').decode()")]
        )
        assert fresh.is_ok, fresh
        assert (await notebook.values(["other"]))["other"].json == "day,amount\n1,7\n"
        await anyio.to_thread.run_sync(lambda: put(Bucket="lake", Key="notes.csv", Body=FILES["notes.csv"]))
    assert total == sum(day * 10 for day in range(20_000))
    assert 0 < len([line for line in before if line.startswith("READ lake/notes.csv")]) < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("lake.cat_file('lake/nothing')", "There is no"),
        ("lake.ls('other-bucket')", "There is no"),
        ("lake.cat_file('lake/../other-bucket/secret.txt')", "is no path here"),
        ("lake.pipe_file('lake/x', b'')", "only read here"),
        ("with lake.open('lake/x', 'wb') as _file:\n    pass", "only read here"),
        ("cellwright.files('nobody').ls('')", "No connection is called"),
    ],
)
async def test_what_is_not_done_is_an_error_in_the_cell(open_in: Opener, code: str, says: str) -> None:
    async with open_in(NAME, code) as notebook:
        ran = await notebook.run("all")
        assert says in str(ran.cells[1].error), ran


async def test_a_connection_that_nobody_approved_is_not_read(open_in: Opener, client: BrokerClient) -> None:
    before = await lines(client)
    async with open_in(NAME, "lake.ls('lake')", may_query=lambda _: False) as notebook:
        ran = await notebook.run("all")
        assert "is not approved for this notebook" in str(ran.cells[1].error)
    assert await lines(client) == before


async def test_branches_read_and_nothing_stays_open(open_in: Opener) -> None:
    held = "import os\ndef held():\n    return len(os.listdir('/proc/self/fd'))\nbefore = held()"
    async with open_in(NAME, held, CSV, "after = held() if total else 0") as notebook:
        ran = await notebook.run("all")
        assert ran.is_ok, ran
        values = await notebook.values(["before", "after"])
        assert values["before"].json == values["after"].json
        async with notebook.branch() as branch:
            tried = await branch.notebook.apply([CreateCell(code="other = len(lake.cat_file('lake/notes.csv'))")])
            assert tried.is_ok, tried
        assert (await notebook.run("all")).is_ok


async def test_the_editors_panel_of_storages_shows_the_files(open_in: Opener) -> None:
    async with open_in(NAME) as notebook, notebook.attach_editor() as editor:
        assert (await notebook.run("all")).is_ok
        told = await heard(editor, notification.StorageNamespacesNotification)
        assert [(each.name, each.protocol) for each in told.namespaces] == [("lake", "cellwright")]
        asked = commands.StorageListEntriesCommand(
            request_id=commands.RequestId("1"), namespace="lake", limit=100, prefix="lake/sales"
        )
        await editor.send(msgspec.json.encode(asked))
        listed = await heard(editor, notification.StorageEntriesNotification)
        assert listed.error is None
        assert [each.path for each in listed.entries] == [f"lake/{each}" for each in FILES if "sales" in each]


@pytest.mark.slow
async def test_a_proof_reads_anew_and_names_each_file_with_version_hash_and_time(
    pool: KernelPool, client: BrokerClient, write_notebook: Callable[..., Path]
) -> None:
    path = write_notebook(NAME, "found = lake.cat_file('lake/notes.csv')[:3].decode()")
    for _ in range(2):
        before = len(await lines(client))
        proving = open_notebook_connections(client, notebook=path, project=path.parent, is_cached=False)
        async with proving as asked:
            options = KernelOptions(project=path.parent, tier=probe().tier, host_services=asked.services)
            async with pool.open_notebook(path, options) as notebook:
                assert (await notebook.run("all")).is_ok
            (fetched,) = asked.files.fetched
            (proven,) = proven_queries(asked)
        assert (fetched.path, fetched.bytes) == ("lake/notes.csv", len(FILES["notes.csv"]))
        assert fetched.sha256 == sha256(FILES["notes.csv"]).hexdigest()
        assert fetched.version and fetched.at
        assert proven.statement.startswith(f"READ lake/notes.csv (version {fetched.version}")
        assert (proven.sha256, proven.at) == (fetched.sha256, fetched.at)
        assert len(await lines(client)) > before


async def heard(editor: EditorChannel, kind: type[Told]) -> Told:
    with anyio.fail_after(30):
        async for body in editor.notifications:
            told = admitted(body, lambda cell: True)
            if isinstance(told, kind):
                return told
    raise AssertionError(f"no {kind.__name__}")
