"""The program that reads database files, asked without a cage around it: types, limits, files that are none, and
statements that try more. Its own walls are all there is."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cellwright_guest.file_queries.records import FileQuestion
from tests.data.hostile_statements import EVERYWHERE, HARMLESS, HOSTILE, WRITES
from tests.kernel.database_files import make_databases, stamps, with_paths
from tests.kernel.inner_file_query import InnerAnswer, ask_inside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_databases(tmp_path_factory.mktemp("databases"))


def inside(path: Path, statement: str, *parameters: Any, rows: int = 10_000, bytes_: int = 1 << 24) -> InnerAnswer:
    """The program's answer, in this process."""
    source: Any = "duckdb" if ".duckdb" in path.name else "sqlite"
    question = FileQuestion(
        source=source,
        path=str(path),
        do="query",
        statement=statement,
        parameters=parameters,
        rows=rows,
        bytes=bytes_,
        seconds=20,
    )
    return ask_inside(question)


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


@pytest.mark.slow
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


@pytest.mark.slow
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
    small = inside(path, numbers, bytes_=50_000)
    assert (small.end.cut, small.bytes <= 50_000, small.bytes > 30_000) == ("bytes", True, True)
    assert small.rows == whole.rows[: small.end.rows]
    nothing = inside(path, numbers, bytes_=3_000)
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
