"""1,500 Parquet objects behind one connection: a profile and an aggregate fetch little more than their columns."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.profiling import profile_words
from cellwright.data.broker.audit import AUDIT_FILE
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.profiler import ProfileLimits
from cellwright.sandbox.host.tiers import probe
from cellwright.secrets import keep_secret
from cellwright.settings import Settings
from tests.data.file_stores.servers import FileServer, s3_server
from tests.data.shop import broker_client

OBJECTS = 1500
ROWS = 60_000
COLUMN_BYTES = ROWS * 8
SUM = """
import cellwright, pyarrow.dataset, pyarrow.compute
lake = cellwright.files("lake")
_set = pyarrow.dataset.dataset("lake/sales", filesystem=lake, format="parquet")
total = 0.0
for _batch in _set.to_batches(columns=["amount"], use_threads=False):
    total += pyarrow.compute.sum(_batch["amount"]).as_py() or 0
"""


def parquet() -> bytes:
    random = np.random.default_rng(1)
    table = pa.table({"amount": random.random(ROWS), "key": np.arange(ROWS) % 7, "name": ["x"] * ROWS})
    out = io.BytesIO()
    pq.write_table(table, out, use_dictionary=["name", "key"], compression="none")
    return out.getvalue()


@pytest.fixture
def server() -> Generator[FileServer]:
    data = parquet()
    with s3_server({f"sales/part-{number:05}.parquet": data for number in range(OBJECTS)}, "lake") as server:
        yield server


@pytest.fixture
def client(server: FileServer, tmp_path: Path) -> Generator[BrokerClient]:
    with broker_client(tmp_path / "home") as client:
        store_connection(client.launch.home, server.connection())
        keep_secret(client.launch.home, "data:lake", server.secret, "file")
        yield client


@pytest.mark.slow
async def test_fifteen_hundred_objects_are_profiled_and_summed_with_little_more_than_their_column(
    pool: KernelPool, client: BrokerClient, write_notebook: Callable[..., Path]
) -> None:
    settings = Settings.read({"CELLWRIGHT_HOME": str(client.launch.home)})
    effort = ProfileLimits(seconds=300)
    profile = await profile_words(["lake:lake/sales"], person="ana", settings=settings, pool=pool, effort=effort)
    (table,) = profile.tables
    assert (table.rows, len(table.files)) == (OBJECTS * ROWS, OBJECTS)
    looked = fetched(client)
    notebook = write_notebook(SUM)
    async with open_notebook_connections(client, notebook=notebook, project=notebook.parent) as asked:
        options = KernelOptions(project=notebook.parent, tier=probe().tier, host_services=asked.services)
        async with pool.open_notebook(notebook, options) as opened:
            ran = await opened.run("all")
            assert ran.is_ok, ran
            total = (await opened.values(["total"]))["total"].json
            after = fetched(client)
            assert (await opened.run("all")).is_ok
            assert fetched(client) == after
    assert round(total / OBJECTS, 3) == round(float(np.random.default_rng(1).random(ROWS).sum()), 3)
    needed = OBJECTS * COLUMN_BYTES
    assert looked < 0.1 * needed
    assert after <= 1.2 * needed, (looked / needed, after / needed)


def fetched(client: BrokerClient) -> int:
    """All bytes that the audit knows of."""
    with closing(sqlite3.connect(client.launch.home / AUDIT_FILE)) as audit:
        return audit.execute("select sum(bytes) from statements").fetchone()[0]
