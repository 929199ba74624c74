"""SQLite and DuckDB files are read in cages, on every tier: nothing else is seen, logs beside them are read, cancelling
ends it. What the program says is bounded, and never parsed here."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import duckdb
import msgspec
import pytest

from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable, ForeignKey
from cellwright.data.connections import QueryLimits
from cellwright.errors import Unavailable, UserError
from cellwright.framing import pack
from cellwright.kernel.file_queries import ArrowMemory, FileQueries, FileResult
from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright_guest.file_queries.records import AGAIN, ARROW, END, MAX_PIECE, FileCatalogue, FileRows
from tests.data.hostile_statements import EVERYWHERE, HOSTILE
from tests.kernel.database_files import make_databases, stamps, with_paths
from tests.kernel.file_query_program import rows_of
from tests.sandbox.conftest import User, command_as

LIMITS = QueryLimits(rows=1000, megabytes=8, seconds=30)
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def files(pool: KernelPool) -> FileQueries:
    return FileQueries(pool=pool, tier=probe().tier)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_databases(tmp_path_factory.mktemp("databases"))


# ── in a cage ──


async def test_rows_of_an_sqlite_file_come_in_sealed_memory(files: FileQueries, folder: Path) -> None:
    statement = "select id, day, price, name, price as price from orders left join people using (id) where id < $1"
    result = await files.query("sqlite", folder / "shop.sqlite", statement, [3], LIMITS)
    assert (result.rows, result.cut, result.notices) == (2, "", ())
    assert result.columns == (
        ("id", "int64"),
        ("day", "string"),
        ("price", "double"),
        ("name", "string"),
        ("price_1", "double"),
    )
    data = os.pread(result.descriptor, result.bytes + 1, 0)
    assert (len(data), hashlib.sha256(data).hexdigest()) == (result.bytes, result.sha256)
    assert fcntl.fcntl(result.descriptor, fcntl.F_GET_SEALS) == 0xF
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(result.descriptor, b"x")
    assert rows_of(result) == [
        {"id": 1, "day": "2025-01-01", "price": 10.0, "name": "Ada", "price_1": 10.0},
        {"id": 2, "day": "2025-01-02", "price": 2.5, "name": "Bo", "price_1": 2.5},
    ]


async def test_a_cancelled_query_leaves_the_file_to_others_at_once(files: FileQueries, folder: Path) -> None:
    path = folder / "shop.sqlite"
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c, people"
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(files.query, "sqlite", path, endless, [], LIMITS)
            while not is_locked(path):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert not is_locked(path)


def is_locked(path: Path) -> bool:
    """Whether some process holds a lock on the file, as a reader of it does."""
    with path.open("r+b") as file:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        found = fcntl.fcntl(file, fcntl.F_GETLK, asked)
    return struct.unpack("hhqqi", found)[0] != fcntl.F_UNLCK


@pytest.mark.parametrize("path", ["gone.sqlite", "."])
async def test_what_is_no_file_is_told_before_a_cage_is_made(files: FileQueries, folder: Path, path: str) -> None:
    with pytest.raises(UserError) as told:
        await files.query("sqlite", folder / path, "select 1", [], LIMITS)
    assert told.value.hint


@pytest.mark.slow
async def test_the_catalogue_has_tables_columns_keys_and_what_views_read(files: FileQueries, folder: Path) -> None:
    found = await files.catalogue("sqlite", folder / "shop.sqlite")
    assert found == Catalogue(
        default_schema="main",
        server=f"SQLite {sqlite3.sqlite_version}",
        tables=(
            CatalogueTable(
                schema="main",
                name="orders",
                columns=(
                    CatalogueColumn(name="id", type="INTEGER", is_key=True),
                    CatalogueColumn(name="day", type="TEXT", is_key=True),
                    CatalogueColumn(name="person", type="INTEGER"),
                    CatalogueColumn(name="price", type="NUMERIC"),
                ),
                foreign_keys=(ForeignKey(columns=("person",), table="main.people", target=("id",)),),
                rows=3,
            ),
            CatalogueTable(
                schema="main",
                name="people",
                columns=(
                    CatalogueColumn(name="id", type="INTEGER", is_key=True),
                    CatalogueColumn(name="name", type="TEXT", is_nullable=False),
                ),
                rows=2,
            ),
            CatalogueTable(
                schema="main",
                name="spent",
                kind="view",
                columns=(CatalogueColumn(name="name", type="TEXT"), CatalogueColumn(name="price", type="NUMERIC")),
                reads=("main.orders", "main.people"),
            ),
            CatalogueTable(schema="main", name="t", columns=(CatalogueColumn(name="a", type=""),), rows=2),
        ),
    )
    duck = await files.catalogue("duckdb", folder / "shop.duckdb")
    assert (duck.server, duck.default_schema) == (f"DuckDB {duckdb.__version__}", "main")
    assert [(table.qualified, table.kind, table.rows, table.reads) for table in duck.tables] == [
        ("main.people", "table", 2, ()),
        ("main.spent", "view", None, ("main.people",)),
        ("main.t", "table", 2, ()),
        ("store.orders", "table", 0, ()),
    ]
    assert duck.tables[0] == CatalogueTable(
        schema="main",
        name="people",
        columns=(
            CatalogueColumn(name="id", type="INTEGER", is_nullable=False, is_key=True),
            CatalogueColumn(name="name", type="VARCHAR", is_nullable=False),
        ),
        rows=2,
        comment="who buys",
    )


@pytest.mark.slow
async def test_a_result_of_a_hundred_megabytes_leaves_the_hosts_memory_flat(files: FileQueries, folder: Path) -> None:
    def peak_kb() -> int:
        return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])

    def forget_peak() -> None:
        Path("/proc/self/clear_refs").write_text("5")

    forget_peak()
    before = peak_kb()
    limits = QueryLimits(rows=20_000_000, megabytes=100, seconds=120)
    statement = "select range as i, range / 7 as x from range(10000000)"
    result = await files.query("duckdb", folder / "shop.duckdb", statement, [], limits)
    os.close(result.descriptor)
    assert (result.cut, result.bytes > 99 << 20, result.bytes <= 100 << 20) == ("bytes", True, True)
    assert peak_kb() - before < 24 << 10


@pytest.mark.slow
async def test_a_query_that_takes_too_long_is_ended_by_its_engine(files: FileQueries, folder: Path) -> None:
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
    for kind, path in (("sqlite", "shop.sqlite"), ("duckdb", "shop.duckdb")):
        with pytest.raises(Unavailable, match="It took too long"):
            await files.query(kind, folder / path, endless, [], QueryLimits(seconds=0.5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a?mode=rw&x=%41#.sqlite", 'it\'s "odd".duckdb', "-wal", "x:y.duckdb", "ünï\nc.sqlite"]
)
async def test_a_file_may_be_called_anything(files: FileQueries, folder: Path, tmp_path: Path, name: str) -> None:
    kind = "duckdb" if "duckdb" in name else "sqlite"
    shutil.copy(folder / f"shop.{kind}", tmp_path / name)
    result = await files.query(kind, tmp_path / name, "select name from people order by 1", [], LIMITS)
    assert rows_of(result) == [{"name": "Ada"}, {"name": "Bo"}]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
async def test_a_cage_sees_no_file_and_leaves_none(files: FileQueries, folder: Path, tmp_path: Path, kind: Any) -> None:
    path = tmp_path / f"shop.{kind}"
    shutil.copy(folder / path.name, path)
    before = stamps(tmp_path)
    statements = [
        with_paths(text, folder, tmp_path)
        for text in (*HOSTILE[kind], *EVERYWHERE)
        if "/secret.csv" in text or "/new.file" in text
    ]
    for statement in statements:
        try:
            result = await files.query(kind, path, statement, [], LIMITS)
        except UserError:
            continue
        assert "canary" not in str(rows_of(result))
    assert (stamps(tmp_path), len(statements) > 5) == (before, True)


@pytest.mark.slow
async def test_a_file_left_in_the_middle_of_a_change_is_not_read_as_it_lies(files: FileQueries, tmp_path: Path) -> None:
    path = tmp_path / "half.sqlite"
    program = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in ("create table t (a, b)", "pragma cache_size = 5", "begin"):
    connection.execute(statement)
connection.executemany("insert into t values (?, ?)", [(1, "x" * 500)] * 2000)
for statement in ("commit", "begin", "update t set a = -1"):
    connection.execute(statement)
os.kill(os.getpid(), 9)
"""
    await anyio.run_process([sys.executable, "-c", program, str(path)], check=False)
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as bare:
        assert bare.execute("select count(*) from t where a = -1").fetchone()[0] > 0
    with pytest.raises(UserError, match="left in the middle of a change"):
        await files.query("sqlite", path, "select count(*) from t where a = -1", [], LIMITS)


# ── beside the cage, on every tier ──


@pytest.fixture
def wal_files() -> Generator[Path]:
    """A folder with SQLite files whose last row is in a log: one that is open, and copies as a crash leaves them."""
    # Not below pytest's own folder: whenever another pytest starts, it closes that to all but its user.
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        with closing(sqlite3.connect(folder / "live.sqlite", isolation_level=None)) as writer:
            for statement in ("pragma journal_mode=wal", "create table t (a)", "insert into t values (1)"):
                writer.execute(statement)
            writer.execute("pragma wal_checkpoint(truncate)")
            writer.execute("insert into t values (2)")
            for ending in ("", "-wal", "-shm"):
                shutil.copy(folder / f"live.sqlite{ending}", folder / f"left.sqlite{ending}")
            for ending in ("", "-wal"):
                shutil.copy(folder / f"live.sqlite{ending}", folder / f"sent.sqlite{ending}")
            shutil.copy(folder / "live.sqlite", folder / "closed.sqlite")
            yield folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["live", *(pytest.param(name, marks=pytest.mark.slow) for name in ("left", "sent", "closed"))]
)
async def test_rows_in_a_log_beside_the_file_are_seen(files: FileQueries, wal_files: Path, name: str) -> None:
    before = stamps(wal_files)
    result = await files.query("sqlite", wal_files / f"{name}.sqlite", "select a from t", [], LIMITS)
    assert rows_of(result) == ([{"a": 1}] if name == "closed" else [{"a": 1}, {"a": 2}])
    assert (result.notices, stamps(wal_files)) == ((), before)


def asked_as(user: User, tier: str, questions: Sequence[Sequence[str]]) -> list[Any]:
    """What the program answers to that user's questions."""
    program = [sys.executable, str(REPOSITORY / "tests/kernel/file_query_program.py"), tier]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}"}
    done = subprocess.run(
        command_as(user, program), input=json.dumps(questions), env=environment, cwd="/", text=True, check=True,
        capture_output=True, timeout=240,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("user", "tier"), [("plain", "B"), ("plain without namespaces", "C")])
def test_files_are_read_on_weaker_tiers_too_and_an_unseen_log_is_told(wal_files: Path, user: User, tier: str) -> None:
    with closing(duckdb.connect(str(wal_files / "x.duckdb"))) as connection:
        connection.execute("create table t as select 7 as a")
    names = ["live.sqlite", "left.sqlite", "sent.sqlite", "closed.sqlite", "x.duckdb"]
    questions = [
        ("duckdb" if "duckdb" in name else "sqlite", str(wal_files / name), "from t select a") for name in names
    ]
    questions = [(kind, path, text if kind == "duckdb" else "select a from t") for kind, path, text in questions]
    answers = asked_as(user, tier, questions)
    told = dict(zip(names, answers, strict=True))
    assert {name: answer for name, answer in told.items() if "failed" in answer} == {}
    values = {name: [row["a"] for row in answer["rows"]] for name, answer in told.items()}
    unseen = {name for name, answer in told.items() if answer["notices"]}
    # Where nothing of the cage's own can lie beside the file, a log without its index is not read.
    sent = [1, 2] if tier == "B" else [1]
    assert values == {
        "live.sqlite": [1, 2], "left.sqlite": [1, 2], "sent.sqlite": sent, "closed.sqlite": [1], "x.duckdb": [7],
    }  # fmt: skip
    assert unseen == (set() if tier == "B" else {"sent.sqlite"})


@pytest.mark.slow
def test_a_file_in_a_folder_that_may_not_be_entered_is_told_as_that(wal_files: Path) -> None:
    path = wal_files / "closed" / "shop.sqlite"
    path.parent.mkdir()
    shutil.copy(wal_files / "closed.sqlite", path)
    path.parent.chmod(0)
    [answer] = asked_as("plain", "B", [("sqlite", str(path), "select 1")])
    path.parent.chmod(0o700)
    assert answer["failed"] == f"{str(path)!r} lies in a folder that may not be entered."


# ── what the host makes of it ──


def frame(mark: bytes, payload: bytes = b"") -> bytes:
    return pack(mark + payload)


def end(**changes: Any) -> bytes:
    return frame(END, msgspec.json.encode(FileRows(rows=1) if not changes else FileRows(**changes)))


HOSTILE_ANSWERS: dict[str, Sequence[bytes]] = {
    "more than was allowed": [frame(ARROW, b"x" * 600), frame(ARROW, b"x" * 600)],
    "a piece that is too long": [frame(ARROW, b"x" * (MAX_PIECE + 1))],
    "a frame that is too long": [b"\xff\xff\xff\xff"],
    "an unknown mark": [frame(b"?", b"x")],
    "an empty frame": [pack(b"")],
    "anew again and again": [frame(ARROW, b"x"), frame(AGAIN), frame(ARROW, b"x"), frame(AGAIN)],
    "no JSON": [frame(END, b"{")],
    "something else": [frame(END, b'{"kind":"result","rows":"many"}')],
    "deep JSON": [frame(END, b'{"kind":"catalogue","catalogue":' + b"[" * 100_000)],
    "more after the end": [frame(ARROW, b"x"), end(), frame(ARROW, b"x")],
}


@pytest.mark.parametrize("pieces", HOSTILE_ANSWERS.values(), ids=HOSTILE_ANSWERS.keys())
def test_an_answer_that_is_none_is_refused(pieces: Sequence[bytes]) -> None:
    with ArrowMemory(1000) as memory, pytest.raises(Unavailable, match="something else than was asked"):
        for piece in pieces:
            memory.put(piece)


def received(pieces: Sequence[bytes], cut: Callable[[bytes], Sequence[bytes]] = lambda data: [data]) -> FileResult:
    with ArrowMemory(1000) as memory:
        for piece in cut(b"".join(pieces)):
            memory.put(piece)
        assert memory.is_whole
        answer = memory.answer()
        assert isinstance(answer, FileRows)
        return memory.result(answer)


def test_pieces_of_any_size_make_the_same_result() -> None:
    pieces = [frame(ARROW, b"void"), frame(AGAIN), frame(ARROW, b"abc"), frame(ARROW, b"def"), end(rows=3)]
    results = [received(pieces), received(pieces, lambda data: [data[at : at + 1] for at in range(len(data))])]
    for result in results:
        assert (os.pread(result.descriptor, 99, 0), result.rows, result.bytes) == (b"abcdef", 3, 6)
        assert result.sha256 == hashlib.sha256(b"abcdef").hexdigest()
        os.close(result.descriptor)


def test_what_is_said_of_a_result_is_bounded() -> None:
    result = received([frame(ARROW, b"x"), end(rows=1, columns=(("n" * 900, "t" * 900),), notices=("w" * 9000,) * 99)])
    os.close(result.descriptor)
    assert (len(result.columns[0][0]), len(result.columns[0][1])) == (256, 256)
    assert (len(result.notices), len(result.notices[0])) == (20, 600)
    for wrong in ({"rows": -1}, {"rows": 1, "columns": (("a", "b"),) * 5000}):
        with pytest.raises(Unavailable):
            received([frame(ARROW, b"x"), end(**wrong)])
    with pytest.raises(Unavailable):
        received([end()])


def test_an_answer_that_breaks_off_is_not_whole() -> None:
    with ArrowMemory(1000) as memory:
        memory.put(frame(ARROW, b"x") + end()[:-1])
        assert not memory.is_whole
    with ArrowMemory(1000) as memory:
        memory.put(frame(END, msgspec.json.encode(FileCatalogue(catalogue={}))))
        assert memory.is_whole
