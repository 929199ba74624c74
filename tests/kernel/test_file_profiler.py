"""Profiles of files behind connections: what a local file's says, and only a part of the bytes is fetched."""

from __future__ import annotations

import io
import re
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellwright.app.profiling import profile_words
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.errors import UserError
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import ProfileLimits
from cellwright.profiles.profile import Profile
from cellwright.secrets import keep_secret
from cellwright.settings import Settings
from tests.data.file_stores.servers import FileServer, s3_server
from tests.data.shop import broker_client

ROWS = 40_000
FILES_OF_ONE_SHAPE = 30
SHARES = [f"{letter}{other}PL" for letter in "AIMX" for other in "ABCD"]
"""Names of one shape that no number tells apart."""


def parquet(number: int) -> bytes:
    random = np.random.default_rng(number)
    table = pa.table(
        {"day": [f"2024-{number % 12 + 1:02}"] * ROWS, "amount": random.random(ROWS), "key": random.random(ROWS)}
    )
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=ROWS // 8)
    return out.getvalue()


def csv() -> bytes:
    return b"day,country,amount\n" + b"".join(
        b"%d,%s,%d.5\n" % (row % 365, (b"Norway", b"Chile")[row % 2], row) for row in range(600_000)
    )


@pytest.fixture(scope="module")
def server() -> Generator[FileServer]:
    files = {f"sales/part-{number:04}.parquet": parquet(number) for number in range(FILES_OF_ONE_SHAPE)}
    files |= {f"shares/{name}.parquet": parquet(number) for number, name in enumerate(SHARES)}
    small = {"small.csv": b"a,b\n1,2\n3,4\n", "notes/readme.md": b"# notes", "large.csv": csv()}
    with s3_server({**files, **small}, "lake") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: FileServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("profiled") / "home") as client:
        store_connection(client.launch.home, server.connection())
        keep_secret(client.launch.home, "data:lake", server.secret, "file")
        yield client


@pytest.fixture
def settings(client: BrokerClient) -> Settings:
    return Settings.read({"CELLWRIGHT_HOME": str(client.launch.home)})


async def looked(settings: Settings, pool: KernelPool, *words: str, rows: int = 200_000) -> Profile:
    effort = ProfileLimits(most_rows=rows)
    return await profile_words(words, person="ana", settings=settings, pool=pool, effort=effort)


def fetched(profile: Profile) -> tuple[int, int]:
    told = next(re.match(r"Fetched ([\d,]+) bytes of ([\d,]+) in", note) for note in profile.notes if "Fetched" in note)
    assert told is not None
    return int(told[1].replace(",", "")), int(told[2].replace(",", ""))


@pytest.mark.slow
async def test_many_parquet_files_are_one_table_of_which_footers_and_some_row_groups_are_fetched(
    settings: Settings, pool: KernelPool
) -> None:
    profile = await looked(settings, pool, "lake:lake/sales", rows=20_000)
    (table,) = profile.tables
    assert table.rows == ROWS * FILES_OF_ONE_SHAPE
    assert table.is_counted
    assert len(table.files) == FILES_OF_ONE_SHAPE
    assert table.files[0] == "cellwright://lake/lake/sales/part-0000.parquet"
    assert [(column.name, column.kind) for column in table.columns] == [
        ("day", "date"),
        ("amount", "number"),
        ("key", "number"),
    ]
    part, whole = fetched(profile)
    assert part < whole / 3


@pytest.mark.slow
async def test_each_file_of_one_shape_is_counted_once_and_no_byte_is_fetched_twice(
    settings: Settings, pool: KernelPool
) -> None:
    profile = await looked(settings, pool, "lake:lake/shares")
    told = [path for table in profile.tables for path in table.files or (table.reading.path,)]
    assert sorted(told) == sorted(f"cellwright://lake/lake/shares/{name}.parquet" for name in SHARES)
    assert sum(table.rows for table in profile.tables) == ROWS * len(SHARES)
    part, whole = fetched(profile)
    assert part <= whole


@pytest.mark.slow
async def test_a_long_text_is_looked_at_by_its_beginning_and_pieces(settings: Settings, pool: KernelPool) -> None:
    profile = await looked(settings, pool, "s3://lake/large.csv")
    (table,) = profile.tables
    assert [column.name for column in table.columns] == ["day", "country", "amount"]
    assert not table.is_counted
    assert abs(table.rows - 600_000) < 60_000
    assert "pieces" in table.sampling
    assert not [odd for odd in table.oddities if odd.kind == "ragged-rows"]
    part, whole = fetched(profile)
    assert part < whole / 3


@pytest.mark.slow
async def test_local_and_remote_files_are_named_together(settings: Settings, pool: KernelPool, tmp_path: Path) -> None:
    local = tmp_path / "here.csv"
    local.write_text("c,d\n1,2\n")
    profile = await looked(settings, pool, "lake:lake/small.csv", str(local))
    assert sorted(table.reading.path for table in profile.tables) == sorted(
        [str(local), "cellwright://lake/lake/small.csv"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("lake:lake/nothing", "There is no"),
        ("lake:lake/notes", "No data file is in"),
        ("s3://other-bucket/x", "is behind no connection"),
        ("lake:../x", "is no path here"),
        ("nowhere:x", "no connection 'nowhere'"),
    ],
)
async def test_what_is_not_there_is_told(settings: Settings, pool: KernelPool, word: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        await looked(settings, pool, word)
