"""SQLite and DuckDB files are read in cages: types, limits, logs beside them, files that are none, statements that try
more. What the program says is bounded and never parsed here."""

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
from cellwright_guest.file_queries.records import AGAIN, ARROW, END, MAX_PIECE, FileCatalogue, FileQuestion, FileRows
from tests.data.hostile_statements import EVERYWHERE, HARMLESS, HOSTILE, WRITES
from tests.kernel.file_query_program import rows_of
from tests.kernel.inner_file_query import InnerAnswer, ask_inside
from tests.sandbox.conftest import User, command_as

LIMITS = QueryLimits(rows=1000, megabytes=8, seconds=30)
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def files(pool: KernelPool) -> FileQueries:
    return FileQueries(pool=pool, tier=probe().tier)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Databases that nobody changes, and a file that is none of them."""
    made = tmp_path_factory.mktemp("databases")
    with closing(sqlite3.connect(made / "shop.sqlite")) as connection:
        connection.executescript(
            """
            create table people (id INTEGER primary key, name TEXT not null);
            create table orders (id INTEGER, day TEXT, person INTEGER references people, price NUMERIC,
                                 primary key (id, day));
            create view spent as select name, price from people join orders on person = people.id;
            create table t (a);
            insert into people values (1, 'Ada'), (2, 'Bo');
            insert into orders values (1, '2025-01-01', 1, 10), (2, '2025-01-02', 1, 2.5), (3, '2025-01-03', 2, null);
            insert into t values (1), (2);
            """
        )
    with closing(duckdb.connect(str(made / "shop.duckdb"))) as connection:
        for statement in (
            "create table people (id int primary key, name varchar not null)",
            "comment on table people is 'who buys'",
            "create schema store",
            "create table store.orders (id int, price decimal(10, 2), primary key (id))",
            "create view spent as select name, sum(id) as total from people group by name",
            "create table t (a int)",
            "insert into people values (1, 'Ada'), (2, 'Bo')",
            "insert into t values (1), (2)",
        ):
            connection.execute(statement)
    (made / "secret.csv").write_text("canary-4711\n")
    return made


def inside(path: Path, statement: str, *parameters: Any, **limits: Any) -> InnerAnswer:
    """The program's answer, in this process: it has to hold without a cage around it."""
    source: Any = "duckdb" if ".duckdb" in path.name else "sqlite"
    question = FileQuestion(
        source=source,
        path=str(path),
        do="query",
        statement=statement,
        parameters=parameters,
        **({"seconds": 20} | limits),
    )
    return ask_inside(question)


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


# ── beside the cage, on every tier ──


@pytest.fixture
def wal_files(tmp_path: Path) -> Generator[Path]:
    """A folder with SQLite files whose last row is in a log: one that is open, and copies as a crash leaves them."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    with closing(sqlite3.connect(tmp_path / "live.sqlite", isolation_level=None)) as writer:
        for statement in ("pragma journal_mode=wal", "create table t (a)", "insert into t values (1)"):
            writer.execute(statement)
        writer.execute("pragma wal_checkpoint(truncate)")
        writer.execute("insert into t values (2)")
        for ending in ("", "-wal", "-shm"):
            shutil.copy(tmp_path / f"live.sqlite{ending}", tmp_path / f"left.sqlite{ending}")
        for ending in ("", "-wal"):
            shutil.copy(tmp_path / f"live.sqlite{ending}", tmp_path / f"sent.sqlite{ending}")
        shutil.copy(tmp_path / "live.sqlite", tmp_path / "closed.sqlite")
        yield tmp_path


@pytest.mark.parametrize(
    "name", ["live", *(pytest.param(name, marks=pytest.mark.slow) for name in ("left", "sent", "closed"))]
)
async def test_rows_in_a_log_beside_the_file_are_seen(files: FileQueries, wal_files: Path, name: str) -> None:
    before = stamps(wal_files)
    result = await files.query("sqlite", wal_files / f"{name}.sqlite", "select a from t", [], LIMITS)
    assert rows_of(result) == ([{"a": 1}] if name == "closed" else [{"a": 1}, {"a": 2}])
    assert (result.notices, stamps(wal_files)) == ((), before)


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
    program = [sys.executable, str(REPOSITORY / "tests/kernel/file_query_program.py"), tier]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}"}
    answers = subprocess.run(
        command_as(user, program), input=json.dumps(questions), env=environment, cwd="/", text=True, check=True,
        capture_output=True, timeout=240,
    ).stdout.splitlines()  # fmt: skip
    told = {name: json.loads(answer) for name, answer in zip(names, answers, strict=True)}
    values = {name: [row["a"] for row in answer["rows"]] for name, answer in told.items()}
    unseen = {name for name, answer in told.items() if answer["notices"]}
    # Where nothing of the cage's own can lie beside the file, a log without its index is not read.
    sent = [1, 2] if tier == "B" else [1]
    assert values == {
        "live.sqlite": [1, 2], "left.sqlite": [1, 2], "sent.sqlite": sent, "closed.sqlite": [1], "x.duckdb": [7],
    }  # fmt: skip
    assert unseen == (set() if tier == "B" else {"sent.sqlite"})


# ── the program itself ──


def test_a_bare_connection_makes_and_reads_files(folder: Path, tmp_path: Path) -> None:
    """What the program is for: read-only alone holds nothing of this back."""
    sqlite = sqlite3.connect(f"file:{folder}/shop.sqlite?mode=ro", uri=True, isolation_level=None)
    duck = duckdb.connect(str(folder / "shop.duckdb"), read_only=True)
    with closing(sqlite), closing(duck):
        sqlite.execute("attach database ? as z", (str(tmp_path / "attached"),))
        sqlite.execute("create table z.t (a)")
        sqlite.execute("vacuum into ?", (str(tmp_path / "vacuumed"),))
        assert "canary" in str(duck.execute(f"select content from read_text('{folder}/secret.csv')").fetchall())
        duck.execute(f"copy people to '{tmp_path}/copied'").fetchall()
    assert {path.name for path in tmp_path.iterdir()} == {"attached", "vacuumed", "copied"}


def with_paths(text: str, folder: Path, made: Path) -> str:
    return text.replace("/secret.csv", str(folder / "secret.csv")).replace("/new.file", str(made / "new.file"))


def stamps(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("kind", "which"),
    [("sqlite", ""), ("duckdb", "/new.file"), pytest.param("duckdb", "", marks=pytest.mark.slow)],
)
def test_the_program_alone_lets_no_statement_change_or_read_anything_else(
    folder: Path, tmp_path: Path, kind: Any, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"shop.{kind}"
    shutil.copy(folder / path.name, path)
    monkeypatch.chdir(tmp_path)
    before = stamps(tmp_path)
    statements = [text for text in (*HOSTILE[kind], *EVERYWHERE, *WRITES) if which in text]
    passed = {}
    for text in statements:
        answer = inside(path, with_paths(text, folder, tmp_path), rows=50)
        if answer.rows is not None:
            passed[text] = answer.rows
    assert "canary" not in str(passed)
    assert stamps(tmp_path) == before
    # What its engine would run all the same only reads what is in the file, or what it says of itself.
    assert sorted(passed) == sorted(text for text in PASSING[kind] if which in text)


PASSING: dict[str, tuple[str, ...]] = {
    "sqlite": ("select 1 /* and", "select 1 \u202e from t"),
    "duckdb": (
        "from pragma_database_size()",
        "from query('select 1')",
        "from query_table(['t'])",
        "from duckdb_settings()",
        "select current_setting('threads')",
        "explain analyze select * from t",
        "select $$; drop table t; $$",
        "select 1 /* a /* b */ c */",
        "select 1 \u202e from t",
        "select\ufeff 1",
    ),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in ("sqlite", "duckdb") for text in HARMLESS[kind]])
def test_what_only_reads_is_answered(folder: Path, kind: str, text: str) -> None:
    assert inside(folder / f"shop.{kind}", text).rows is not None


def test_values_of_sqlite_have_their_columns_type_or_become_text(tmp_path: Path) -> None:
    path = tmp_path / "mixed.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (i, r, s, b, late, mixed, void)")
        rows: list[tuple[Any, ...]] = [(n, n / 2, f"s{n}", bytes([n % 256]), n, n, None) for n in range(3000)]
        rows.append((None, 7, None, None, 0.5, "x", None))
        rows.append((9, 1.5, "é", b"\xff", None, b"\xff\x00", None))
        connection.executemany("insert into t values (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    answer = inside(path, "select * from t")
    assert dict(answer.end.columns) == {
        "i": "int64", "r": "double", "s": "string", "b": "binary", "late": "double", "mixed": "string",
        "void": "null",
    }  # fmt: skip
    assert answer.rows is not None
    assert (len(answer.rows), answer.begun_anew) == (3002, True)
    assert answer.rows[-2:] == [
        {"i": None, "r": 7.0, "s": None, "b": None, "late": 0.5, "mixed": "x", "void": None},
        {"i": 9, "r": 1.5, "s": "é", "b": b"\xff", "late": None, "mixed": "ff00", "void": None},
    ]
    assert answer.end.notices == ("Values of several kinds became text in: mixed.",)


def test_types_of_duckdb_are_ones_that_polars_and_pandas_compute_with(folder: Path) -> None:
    import polars

    statement = """
        select sum(a) as whole, 170141183460469231731687303715884105727::hugeint as huge, avg(a) as mean,
            1.5::decimal(10, 2) as price, uuid() as id, '{"a": 1}'::json as data, [1, 2] as list, {'a': 1} as struct,
            interval 1 day as span, 'x'::enum ('x', 'y') as mood, union_value(k := 1) as one,
            '2025-01-01 10:00:00+00'::timestamptz as moment, date '2025-01-01' as day, '101'::bit as bits
        from t
    """
    answer = inside(folder / "shop.duckdb", statement)
    assert dict(answer.end.columns) == {
        "whole": "double", "huge": "double", "mean": "double", "price": "decimal128(10, 2)", "id": "string",
        "data": "string", "list": "list<l: int32>", "struct": "struct<a: int32>", "span": "string", "mood": "string",
        "one": "string", "moment": "timestamp[us, tz=Etc/UTC]", "day": "date32[day]", "bits": "string",
    }  # fmt: skip
    assert dict(inside(folder / "shop.duckdb", "select sum(a) as whole from t").end.columns) == {"whole": "int64"}
    assert polars.DataFrame(answer.table).select("whole", "span", "bits").rows() == [(3.0, "1 day", "101")]
    assert answer.table.to_pandas()["huge"][0] > 1e38


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_rows_and_bytes_beyond_the_limits_are_cut_and_said_to_be(folder: Path, kind: str) -> None:
    rows = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)"
    numbers = f"{rows} select x, 'abc' || x as s from c"
    path = folder / f"shop.{kind}"
    whole = inside(path, numbers)
    assert whole.rows is not None
    assert (len(whole.rows), whole.end.cut) == (5000, "")
    exact = inside(path, numbers, rows=5000)
    assert (exact.end.rows, exact.end.cut) == (5000, "")
    short = inside(path, numbers, rows=4999)
    assert (short.end.rows, short.end.cut, short.rows) == (4999, "rows", whole.rows[:4999])
    small = inside(path, numbers, bytes=50_000)
    assert (small.end.cut, small.bytes <= 50_000, small.bytes > 30_000) == ("bytes", True, True)
    assert small.rows == whole.rows[: small.end.rows]
    nothing = inside(path, numbers, bytes=3_000)
    assert (nothing.end.rows, nothing.end.cut, nothing.rows) == (0, "bytes", [])


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_parameters_are_values_and_never_text_of_the_statement(folder: Path, kind: str) -> None:
    path = folder / f"shop.{kind}"
    asked = "select $2 as b, $1 as a, '$3?' as c"
    assert inside(path, asked, "x'; drop table t; --", 2).rows == [{"b": 2, "a": "x'; drop table t; --", "c": "$3?"}]
    assert inside(path, "select ? as a, ? as b", 1.5, None).rows == [{"a": 1.5, "b": None}]
    wrong = inside(path, "select $1", *range(3))
    assert kind == "sqlite" or (wrong.end.failure, bool(wrong.end.why)) == ("statement", True)


def broken(folder: Path, made: Path, how: str) -> Path:
    sqlite, duck = (folder / "shop.sqlite").read_bytes(), bytearray((folder / "shop.duckdb").read_bytes())
    path = made / how
    match how:
        case "empty.sqlite" | "empty.duckdb":
            path.write_bytes(b"")
        case "text.sqlite" | "text.duckdb":
            path.write_text("day,eggs\n" * 4000)
        case "other.sqlite":
            path.write_bytes(duck)
        case "other.duckdb":
            path.write_bytes(sqlite)
        case "page.sqlite":
            path.write_bytes(sqlite[:4096] + b"\xee" * (len(sqlite) - 4096))
        case "cut.sqlite":
            path.write_bytes(sqlite[: 4096 + 100])
        case "cut.duckdb":
            path.write_bytes(duck[: len(duck) // 2])
        case "block.duckdb":
            duck[12288 + 64 : 12288 + 4096] = b"\xee" * (4096 - 64)
            path.write_bytes(duck)
        case "newer.duckdb":
            duck[12:20] = struct.pack("<Q", 99_999)
            duck[:8] = struct.pack("<Q", checksum(duck[8:4096]))
            path.write_bytes(duck)
        case "locked.duckdb":
            with closing(duckdb.connect()) as connection:
                connection.execute("set force_mbedtls_unsafe = 'true'")
                connection.execute(f"attach '{path}' as e (encryption_key 'k')")
                connection.execute("create table e.t as select 1 as a")
        case _:
            raise AssertionError(how)
    return path


def checksum(data: bytes | bytearray) -> int:
    """As DuckDB has it in front of its header."""
    result = 5381
    for (word,) in struct.iter_unpack("<Q", data):
        result ^= (word * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    return result


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("empty.sqlite", "is empty"),
        ("empty.duckdb", "is empty"),
        ("text.sqlite", "no SQLite file"),
        ("text.duckdb", "no DuckDB file"),
        ("other.sqlite", "a DuckDB file, not SQLite"),
        ("other.duckdb", "an SQLite file, not DuckDB"),
        ("page.sqlite", "damaged"),
        ("cut.sqlite", "damaged"),
        ("cut.duckdb", "damaged"),
        ("block.duckdb", "damaged"),
        ("newer.duckdb", "A newer DuckDB"),
        ("locked.duckdb", "encrypted"),
    ],
)
def test_a_file_that_is_none_or_is_damaged_is_told_with_what_to_do(
    folder: Path, tmp_path: Path, how: str, why: str
) -> None:
    answer = inside(broken(folder, tmp_path, how), "select * from people")
    assert (answer.end.failure, why in answer.end.why, bool(answer.end.hint)) == ("host", True, True), answer.end
    assert str(tmp_path) not in answer.end.why


def test_a_duckdb_file_that_somebody_writes_to_is_told_so(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "busy.duckdb"
    shutil.copy(folder / "shop.duckdb", path)
    program = "import duckdb, sys; kept = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        told = inside(path, "select 1").end
        writer.stdin.close()
    assert (told.failure, told.why) == ("gone", "Another program has the file open for writing.")


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
