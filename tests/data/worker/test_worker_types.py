"""The types of MariaDB and ClickHouse as people use them. Those of Postgres are in `test_postgres_worker.py`."""

from __future__ import annotations

import zoneinfo
from collections.abc import Generator
from datetime import date, datetime, timedelta

import polars as pl
import pytest
from inline_snapshot import snapshot

from tests.data.worker.driving import DrivenWorker, driven_worker
from tests.data.worker.servers import DataServer

pytestmark = pytest.mark.slow

MYSQL = (
    "CREATE TABLE kinds (i int, yes tinyint(1), small tinyint unsigned, big bigint unsigned, filled int(5) zerofill,"
    " price decimal(10,2), whole decimal(30,0), f float, d double, code char(3), name varchar(20), raw varbinary(5),"
    " day date, moment datetime(6), stamp timestamp NULL, span time, yr year, mood enum('a','b'), tags set('x','y'),"
    " doc json, bits bit(3), flag bit(1), u uuid)",
    "INSERT INTO kinds VALUES (-1, 1, 255, 18446744073709551615, 7, 1.5, 12345678901234567890, 1.5, 2.5, 'ab', 'vä',"
    " x'00ff', '2026-03-01', '2026-03-01 12:00:00.000005', '2026-03-01 12:00:00', '-838:59:59', 2026, 'b', 'x,y',"
    " '{\"a\": 1}', b'101', b'1', '7c9e6679-7425-40de-944b-e07fc1f90ae7')",
    "INSERT INTO kinds (i, day, moment) VALUES (NULL, '0000-00-00', '2026-00-00 00:00:00')",
)
CLICKHOUSE = """
    SELECT 1::Int8 AS i, 18446744073709551615::UInt64 AS big, toDecimal64(1.5, 2) AS price, toInt128(-5) AS wide,
           toUUID('7c9e6679-7425-40de-944b-e07fc1f90ae7') AS u, toIPv4('10.0.0.1') AS ip, toIPv6('::1') AS ip6,
           toDate('2026-03-01') AS day, toDateTime('2026-03-01 12:00:00', 'UTC') AS moment,
           toDateTime64('2026-03-01 12:00:00.5', 3, 'UTC') AS fine, [1, 2] AS a, (1, 'x') AS pair,
           toLowCardinality('lc') AS word, CAST('b', 'Enum8(\\'a\\' = 1, \\'b\\' = 2)') AS mood, true AS yes,
           CAST(NULL, 'Nullable(String)') AS nothing, unhex('ff') AS bytes, sum(number) AS s, avg(number) AS m
    FROM numbers(3)
"""


@pytest.fixture
def maria(mysql_data: DataServer) -> Generator[DrivenWorker]:
    with driven_worker() as driven:
        assert driven.ask(**mysql_data.opening()).reply["kind"] == "opened"
        yield driven


def test_every_type_of_mysql_is_one_that_people_compute_with(maria: DrivenWorker, mysql_data: DataServer) -> None:
    for statement in MYSQL:
        mysql_data.run(statement)
    answered = maria.query("SELECT * FROM kinds")
    row, nulls = answered.rows
    # Dates of zeros among them.
    assert set(nulls.values()) == {None}
    assert dict(answered.reply["columns"]) == snapshot(
        {
            "i": "int32",
            "yes": "int8",
            "small": "uint8",
            "big": "uint64",
            "filled": "uint32",
            "price": "double",
            "whole": "double",
            "f": "float",
            "d": "double",
            "code": "string",
            "name": "string",
            "raw": "binary",
            "day": "date32[day]",
            "moment": "timestamp[us]",
            "stamp": "timestamp[us]",
            "span": "duration[us]",
            "yr": "int16",
            "mood": "string",
            "tags": "string",
            "doc": "string",
            "bits": "uint64",
            "flag": "bool",
            "u": "string",
        }
    )
    assert row == snapshot(
        {
            "i": -1,
            "yes": 1,
            "small": 255,
            "big": 18446744073709551615,
            "filled": 7,
            "price": 1.5,
            "whole": 1.2345678901234567e19,
            "f": 1.5,
            "d": 2.5,
            "code": "ab",
            "name": "vä",
            "raw": b"\x00\xff",
            "day": date(2026, 3, 1),
            "moment": datetime(2026, 3, 1, hour=12, microsecond=5),
            "stamp": datetime(2026, 3, 1, hour=12),
            "span": timedelta(days=-35, seconds=3601),
            "yr": 2026,
            "mood": "b",
            "tags": "x,y",
            "doc": '{"a": 1}',
            "bits": 5,
            "flag": True,
            "u": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        }
    )
    assert pl.DataFrame(answered.table).height == 2


def test_a_value_of_20_mb_and_thousands_of_columns_are_read(maria: DrivenWorker, mysql_data: DataServer) -> None:
    mysql_data.run("SET GLOBAL max_allowed_packet = 67108864")
    with driven_worker() as fresh:
        assert fresh.ask(**mysql_data.opening()).reply["kind"] == "opened"
        assert fresh.query("SELECT length(repeat('x', 20000000)) AS l, repeat('x', 20000000) AS v").rows == [
            {"l": 20_000_000, "v": "x" * 20_000_000}
        ]
    many = ", ".join(f"{place} AS c{place}" for place in range(3000))
    assert len(maria.query(f"SELECT {many}").reply["columns"]) == 3000


def test_every_type_of_clickhouse_is_one_that_people_compute_with(clickhouse_data: DataServer) -> None:
    with driven_worker() as driven:
        assert driven.ask(**clickhouse_data.opening()).reply["kind"] == "opened"
        answered = driven.query(CLICKHOUSE)
    assert dict(answered.reply["columns"]) == snapshot(
        {
            "i": "int8",
            "big": "uint64",
            "price": "double",
            "wide": "int64",
            "u": "string",
            "ip": "string",
            "ip6": "string",
            "day": "date32[day]",
            "moment": "timestamp[us, tz=UTC]",
            "fine": "timestamp[ms, tz=UTC]",
            "a": "list<item: uint8 not null>",
            "pair": "struct<1: uint8, 2: string>",
            "word": "string",
            "mood": "string",
            "yes": "bool",
            "nothing": "string",
            "bytes": "string",
            "s": "uint64",
            "m": "double",
        }
    )
    assert answered.rows == snapshot(
        [
            {
                "i": 1,
                "big": 18446744073709551615,
                "price": 1.5,
                "wide": -5,
                "u": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
                "ip": "10.0.0.1",
                "ip6": "::1",
                "day": date(2026, 3, 1),
                "moment": datetime(2026, 3, 1, hour=12, tzinfo=zoneinfo.ZoneInfo(key="UTC")),
                "fine": datetime(2026, 3, 1, hour=12, microsecond=500000, tzinfo=zoneinfo.ZoneInfo(key="UTC")),
                "a": [1, 2],
                "pair": {"1": 1, "2": "x"},
                "word": "lc",
                "mood": "b",
                "yes": True,
                "nothing": None,
                "bytes": "�",
                "s": 3,
                "m": 1.0,
            }
        ]
    )
    assert pl.DataFrame(answered.table).height == 1
