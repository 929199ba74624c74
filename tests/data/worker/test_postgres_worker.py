"""What `make test` shows of a worker: Postgres, its types, its limits, its end. The rest is in `test_contract.py`."""

from __future__ import annotations

import json
import zoneinfo
from collections.abc import Generator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pytest
from inline_snapshot import snapshot

from tests.data.process_memory import seen_from_outside
from tests.data.worker.driving import DrivenWorker, driven_worker
from tests.data.worker.servers import SECRET, DataServer

TYPES = """
    SELECT 7::int4 AS i, 1.5::numeric(10,2) AS n, 12::numeric AS whole, 'b'::text AS t, true AS b,
           '7c9e6679-7425-40de-944b-e07fc1f90ae7'::uuid AS u, '{"a": 1}'::jsonb AS j, '[1]'::json AS j1,
           '2026-03-01 12:00+02'::timestamptz AS tz, '2026-03-01 12:00'::timestamp AS ts, '2026-03-01'::date AS d,
           '12:30'::time AS clock, '1 day 02:00'::interval AS span, ARRAY[1, 2] AS a, ARRAY[1.5, NULL] AS na,
           ARRAY['7c9e6679-7425-40de-944b-e07fc1f90ae7'::uuid] AS ua, '10.0.0.1'::inet AS ip, '10.0.0.0/8'::cidr AS net,
           '08:00:2b:01:02:03'::macaddr AS mac, 12.34::money AS m, '\\xdead'::bytea AS raw, int4range(1, 3) AS r,
           point(1, 2) AS p, ROW(1, 'x') AS rec, 'infinity'::timestamptz AS never, B'101' AS bits, 5::oid AS o
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
"""


@pytest.fixture(scope="module")
def shop(postgres_data: DataServer) -> Generator[DrivenWorker]:
    with driven_worker() as driven:
        assert driven.ask(**postgres_data.opening()).reply["kind"] == "opened"
        yield driven


@pytest.mark.slow
def test_every_type_of_postgres_is_one_that_people_compute_with(shop: DrivenWorker) -> None:
    answered = shop.query(TYPES)
    row, nulls = answered.rows
    assert set(nulls.values()) == {None}
    assert dict(answered.reply["columns"]) == snapshot(
        {
            "i": "int32",
            "n": "double",
            "whole": "int64",
            "t": "string",
            "b": "bool",
            "u": "string",
            "j": "string",
            "j1": "string",
            "tz": "timestamp[us, tz=UTC]",
            "ts": "timestamp[us]",
            "d": "date32[day]",
            "clock": "time64[us]",
            "span": "duration[us]",
            "a": "list<item: int32>",
            "na": "list<item: double>",
            "ua": "list<item: string>",
            "ip": "string",
            "net": "string",
            "mac": "string",
            "m": "double",
            "raw": "binary",
            "r": "string",
            "p": "string",
            "rec": "string",
            "never": "timestamp[us, tz=UTC]",
            "bits": "string",
            "o": "int64",
        }
    )
    assert row == snapshot(
        {
            "i": 7,
            "n": 1.5,
            "whole": 12,
            "t": "b",
            "b": True,
            "u": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
            "j": '{"a": 1}',
            "j1": "[1]",
            "tz": datetime(2026, 3, 1, hour=10, tzinfo=zoneinfo.ZoneInfo(key="UTC")),
            "ts": datetime(2026, 3, 1, hour=12),
            "d": date(2026, 3, 1),
            "clock": time(hour=12, minute=30),
            "span": timedelta(days=1, seconds=7200),
            "a": [1, 2],
            "na": [1.5, None],
            "ua": ["7c9e6679-7425-40de-944b-e07fc1f90ae7"],
            "ip": "10.0.0.1",
            "net": "10.0.0.0/8",
            "mac": "08:00:2b:01:02:03",
            "m": 12.34,
            "raw": b"\xde\xad",
            "r": "[1,3)",
            "p": "(1,2)",
            "rec": "(1,x)",
            "never": None,
            "bits": "101",
            "o": 5,
        }
    )


@pytest.mark.slow
def test_texts_times_and_lists_are_used_in_polars_pandas_and_duckdb(shop: DrivenWorker) -> None:
    found = shop.query(TYPES).table
    assert found is not None
    at = datetime(2026, 3, 1, hour=10, tzinfo=zoneinfo.ZoneInfo(key="UTC"))
    one = UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7")
    polar = pl.DataFrame(found.select(["u", "j", "tz", "a", "ua"])).filter(pl.col("u") == str(one))
    assert polar.select(
        pl.col("j").str.json_path_match("$.a"),
        pl.col("tz").dt.hour(),
        pl.col("a").list.sum(),
        pl.col("ua").list.first(),
    ).rows() == [("1", 10, 3, str(one))]
    [first, nothing] = found.to_pandas().itertuples()
    assert (UUID(first.u), json.loads(first.j), first.tz, [*first.a], [*first.ua]) == (
        one, {"a": 1}, at, [1, 2], [str(one)],
    )  # fmt: skip
    assert pd.isna([nothing.u, nothing.j, nothing.tz]).all()
    assert nothing.a is None
    select = (
        "SELECT u::UUID, (j::JSON->>'a')::INT, epoch(tz)::BIGINT, list_sum(a), ua[1] FROM found WHERE u IS NOT NULL"
    )
    assert duckdb.execute(select).fetchall() == [(one, 1, int(at.timestamp()), 3, str(one))]


def test_sums_and_averages_are_numbers_in_polars_pandas_and_duckdb(shop: DrivenWorker) -> None:
    orders = shop.query(
        "SELECT sum(x::bigint) AS s, avg(x) AS a, sum(x::numeric / 4) AS q FROM generate_series(1, 4) x"
    )
    found = orders.table
    assert found is not None
    assert pl.DataFrame(found).select(pl.all() * 2).rows() == [(20, 5.0, 5.0)]
    assert (found.to_pandas() * 2).to_numpy().tolist() == [[20, 5.0, 5.0]]
    assert duckdb.execute("SELECT s * 2, a * 2, q * 2 FROM found").fetchall() == [(20, 5.0, 5.0)]


@pytest.mark.slow
def test_a_number_that_is_fractional_late_makes_all_of_them_floats(shop: DrivenWorker) -> None:
    many = "SELECT x::numeric AS n FROM generate_series(1, 500000) x UNION ALL SELECT 0.5"
    answered = shop.query(many)
    assert answered.reply["columns"] == [["n", "double"]]
    assert pl.DataFrame(answered.table)["n"].sum() == 500000 * 500001 / 2 + 0.5


def test_a_result_is_cut_at_its_rows_and_at_its_bytes(shop: DrivenWorker) -> None:
    endless = "SELECT generate_series(1, 1000000000) AS n"
    assert shop.query(endless, rows=1234).reply | {"sha256": "", "bytes": 0} == snapshot(
        {
            "kind": "result",
            "rows": 1234,
            "bytes": 0,
            "cut": "rows",
            "columns": [["n", "int32"]],
            "sha256": "",
            "descriptors": 1,
        }
    )
    short = shop.query(endless, bytes=100_000).reply
    assert short["cut"] == "bytes"
    assert 90_000 < short["bytes"] < 101_000


def test_a_parameter_is_whatever_the_server_takes_it_for(shop: DrivenWorker) -> None:
    statement = "SELECT $1 + 1 AS i, $2::date AS d, $3 AS t, '$1' AS quoted, 5 = ANY($4) AS among WHERE $5 > 1.5"
    answered = shop.query(statement, 6, "2026-03-01", "o'clock", [4, 5], 2.5)
    assert answered.rows == [{"i": 7, "d": date(2026, 3, 1), "t": "o'clock", "quoted": "$1", "among": True}]
    assert shop.query("SELECT $1::int AS i", None).rows == [{"i": None}]


def test_a_mistake_is_told_in_the_servers_own_words_with_its_place(shop: DrivenWorker) -> None:
    assert shop.query("SELECT *\n  FRO orders").reply == snapshot(
        {
            "kind": "failed",
            "failure": "statement",
            "why": 'syntax error at or near "FRO" (line 2, character 3)',
            "hint": "",
        }
    )
    assert shop.query("SELECT lenght('a')").reply == snapshot(
        {
            "kind": "failed",
            "failure": "statement",
            "why": "function lenght(unknown) does not exist (line 1, character 8)",
            "hint": "No function matches the given name and argument types. You might need to add explicit type casts.",
        }
    )


def test_nothing_is_written_in_a_session_that_reads(shop: DrivenWorker) -> None:
    assert shop.query("CREATE TABLE x (i int)").failure[1] == snapshot(
        "cannot execute CREATE TABLE in a read-only transaction"
    )
    assert shop.query("SELECT 1; DROP TABLE x").failure[1] == snapshot(
        "cannot insert multiple commands into a prepared statement"
    )
    # What a statement sets is gone with it.
    shop.query("SELECT set_config('default_transaction_read_only', 'off', false)")
    assert shop.query("SHOW default_transaction_read_only").rows == [{"default_transaction_read_only": "on"}]
    assert shop.ask(kind="write", statement="CREATE TABLE x (i int)", seconds=5).failure[1] == snapshot(
        "This session only reads."
    )


def test_a_cancelled_statement_is_gone_from_the_server(shop: DrivenWorker, postgres_data: DataServer) -> None:
    shop.start(postgres_data.long_running)
    postgres_data.wait_until(lambda running: postgres_data.long_running in str(running))
    shop.send(kind="cancel")
    assert shop.answer().failure == ("cancelled", "It was cancelled.")
    postgres_data.wait_until(lambda running: not running)
    assert shop.query("SELECT 1 AS one").rows == [{"one": 1}]


def test_the_secret_is_in_no_reply_and_not_to_be_seen_from_outside(
    shop: DrivenWorker, postgres_data: DataServer
) -> None:
    assert SECRET.encode() not in seen_from_outside(shop.process.pid)
    with driven_worker() as other:
        refused = other.ask(**postgres_data.opening(secret=SECRET + "x"))
        assert refused.failure[0] == "login"
        assert SECRET not in str(refused.reply)
    echoed = shop.query(f"SELECT {SECRET.replace(chr(39), '')!r} FRO x").reply
    assert SECRET not in str(echoed)


def test_a_request_that_makes_no_sense_is_answered_and_the_next_one_too(shop: DrivenWorker) -> None:
    for request in ({"kind": "dance"}, {"kind": "query"}, {"kind": "query", "statement": 5, "rows": 1, "bytes": 1}, {}):
        assert shop.ask(**request).failure[0] == "other"
    assert shop.query("SELECT 1 AS one").rows == [{"one": 1}]
    limits = Path(f"/proc/{shop.process.pid}/limits").read_text()
    assert next(line.split()[4] for line in limits.splitlines() if "core file" in line) == "0"
