"""Types and limits without a server: what widens, what is sliced, what is masked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from cellwright.data.worker.failures import SecretMask
from cellwright.data.worker.mysql_plan import nested_estimate, written_tables
from cellwright.data.worker.postgres_columns import bound_parameters
from cellwright.data.worker.results import SealedResult, write_result
from cellwright.data.worker.rows import row_batches
from cellwright.data.worker.source import BatchStream, SourceFailed
from cellwright.data.worker.tidy import unique_names

NUMERIC = pa.opaque(pa.string(), "numeric", "PostgreSQL")


def numbers(*texts: str | None) -> pa.Array:
    return pa.ExtensionArray.from_storage(NUMERIC, pa.array(texts, pa.string()))


def written(batches: Iterable[dict[str, pa.Array]], rows: int = 1000, size: int = 1 << 20) -> tuple[SealedResult, Any]:
    ready = [pa.RecordBatch.from_pydict(batch) for batch in batches]
    result = write_result(BatchStream(schema=ready[0].schema, batches=iter(ready)), rows=rows, size=size)
    try:
        with pa.memory_map(f"/proc/self/fd/{result.descriptor}") as file:
            return result, pa.ipc.open_file(file).read_all()
    finally:
        os.close(result.descriptor)


def test_whole_numbers_are_integers_until_one_is_not() -> None:
    first = {"a": numbers("1", "2"), "b": numbers("3", None), "c": pa.array([1, 2])}
    later = {"a": numbers("9223372036854775808"), "b": numbers("4"), "c": pa.array([3])}
    last = {"a": numbers("1"), "b": numbers("0.5"), "c": pa.array([4])}
    assert written([first])[1].schema.types == [pa.int64(), pa.int64(), pa.int64()]
    table = written([first, later, last])[1]
    assert table.schema.types == [pa.float64(), pa.float64(), pa.int64()]
    assert table.to_pydict() == {"a": [1.0, 2.0, 2.0**63, 1.0], "b": [3.0, None, 4.0, 0.5], "c": [1, 2, 3, 4]}


def test_what_is_no_number_of_this_world_is_a_float() -> None:
    table = written([{"n": numbers("nan", "inf", "-inf", None)}])[1]
    assert str(table.to_pylist()) == "[{'n': nan}, {'n': inf}, {'n': -inf}, {'n': None}]"


def test_lists_structures_and_dictionaries_are_tidied_inside() -> None:
    ids = [UUID(int=1), None]
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([each and each.bytes for each in ids], pa.binary(16)))
    lists = pa.ListArray.from_arrays([0, 1, 2], uuids)
    prices = pa.array([[Decimal("1.5")], None], pa.list_(pa.decimal128(10, 2)))
    parts = pa.StructArray.from_arrays([pa.array([Decimal("2"), None], pa.decimal128(10, 0))], names=["n"])
    words = pa.array(["x", "y"]).dictionary_encode()
    spans = pa.array([pa.MonthDayNano([14, 2, 5000]), None])
    given = {"l": lists, "p": prices, "s": parts, "w": words, "i": spans, "u": uuids}
    # In the middle of a batch, too: offsets count.
    table = written([given, {name: array.slice(1) for name, array in given.items()}])[1]
    assert table.slice(0, 1).to_pylist() == [
        {
            "l": ["00000000-0000-0000-0000-000000000001"],
            "p": [1.5],
            "s": {"n": 2.0},
            "w": "x",
            "i": timedelta(days=365.25 + 62, microseconds=5),
            "u": "00000000-0000-0000-0000-000000000001",
        }
    ]
    last = {"l": [None], "p": None, "s": {"n": None}, "w": "y", "i": None, "u": None}
    assert table.slice(1).to_pylist() == [last, last]


def test_a_result_is_sealed_open_for_reading_only_and_no_longer_than_allowed() -> None:
    result = write_result(
        BatchStream(schema=pa.schema([("n", pa.int64())]), batches=iter([pa.record_batch({"n": range(100_000)})])),
        rows=1000_000,
        size=80_000,
    )
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(result.descriptor, b"x")
    # Who may open anything opens it anew, and still writes nothing.
    with Path(f"/proc/self/fd/{result.descriptor}").open("r+b", buffering=0) as again, pytest.raises(PermissionError):
        again.write(b"x")
    os.close(result.descriptor)
    assert result.cut == "bytes"
    assert 9_000 < result.rows < 10_000
    assert result.bytes < 81_000


def test_exactly_as_many_rows_as_allowed_are_not_cut() -> None:
    batch = {"n": pa.array([1, 2])}
    assert [written([batch, batch], rows=rows)[0].cut for rows in (3, 4, 5)] == ["rows", "", ""]
    assert written([batch, batch], rows=2)[0].rows == 2


def test_a_result_whose_names_are_too_long_is_refused_before_it_is_read() -> None:
    schema = pa.schema([("n" * (9 << 20), pa.int64())])
    with pytest.raises(SourceFailed, match="names are too long"):
        write_result(BatchStream(schema=schema, batches=iter(())), rows=1, size=1)


def test_every_name_is_once() -> None:
    assert unique_names(["a", "a", "a_1", "a", "b"]) == ["a", "a_2", "a_1", "a_3", "b"]


def test_a_secret_is_masked_however_it_is_spelt() -> None:
    secret = "p@ss w/rd'\\é%"
    mask = SecretMask("ann", secret)
    spelt = [
        secret, "p%40ss%20w/rd%27%5C%C3%A9%25", "p%40ss%20w%2Frd%27%5C%C3%A9%25", "p%40ss+w%2Frd%27%5c%c3%a9%25",
        "p@ss w/rd\\'\\\\é%",
    ]  # fmt: skip
    for text in spelt:
        line = mask.reply(SourceFailed("login", f"no\n{text} here"))["why"]
        assert line == "no [secret] here", text
    assert SecretMask("ann", "").line("a  b\n c") == "a b c"
    assert len(mask.line("x" * 5000)) == 2000


def test_parameters_are_cast_outside_quotes_only() -> None:
    text, values = bound_parameters("SELECT '$1', \"$2\", $2, $1", [True, [1, 'a"b']], ["boolean", "text[]"])
    assert text == "SELECT '$1', \"$2\", CAST($2::text AS text[]), CAST($1::text AS boolean)"
    assert values == ["true", '{"1","a\\"b"}']
    with pytest.raises(SourceFailed, match="2 parameters, and 1 were given"):
        bound_parameters("SELECT $1, $2", [1], ["int", "int"])


def test_tables_in_one_loop_of_a_plan_are_multiplied() -> None:
    plan = '{"query_block": {"nested_loop": [{"table": {"rows": 1000}}, {"table": {"rows": 500, "filtered": 50}}]}}'
    assert nested_estimate(plan) == 250_000
    assert nested_estimate("no plan") is None


def test_only_statements_about_rows_name_the_tables_they_write() -> None:
    assert written_tables("UPDATE shop.a SET x = (SELECT max(y) FROM b)") == ("b", "shop.a")
    assert written_tables("CREATE TABLE a (i int)") is None
    assert written_tables("no sql at (") is None


def test_rows_become_columns_of_what_the_first_of_them_are() -> None:
    parts = [[(1, Decimal("1.5"), None, "x")], [("odd", None, 3, 4)], []]
    schema, batches = row_batches(["i", "d", "n", "d"], lambda _count: parts.pop(0))
    assert schema.names == ["i", "d", "n", "d_1"]
    assert pa.Table.from_batches(list(batches)).to_pylist() == [
        {"i": 1, "d": 1.5, "n": None, "d_1": "x"},
        {"i": None, "d": None, "n": "3", "d_1": "4"},
    ]
