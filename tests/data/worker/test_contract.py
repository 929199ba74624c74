"""One suite for every source whose server can be had here: Postgres, MariaDB, ClickHouse."""

from __future__ import annotations

import re
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import duckdb
import polars as pl
import pytest

from cellwright.data.catalogue import CATALOGUE_JSON, Catalogue
from tests.data.worker.driving import DrivenWorker, driven_worker, peak_memory_mb
from tests.data.worker.servers import SECRET, DataServer, clickhouse_data_server, mariadb_server, postgres_data_server

pytestmark = pytest.mark.slow

ORDERS = {
    "postgres": (
        "CREATE TABLE customers (id int PRIMARY KEY, name text)",
        "CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES customers, price numeric(10,2), state text)",
        "CREATE VIEW dear AS SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer WHERE price > 20",
        "COMMENT ON TABLE orders IS 'what was sold'",
        "INSERT INTO customers VALUES (1, 'Ann')",
        "INSERT INTO orders SELECT n, 1, n / 4.0, CASE WHEN n % 2 = 0 THEN 'paid' ELSE 'open' END"
        " FROM generate_series(1, 1000) n",
        "ANALYZE",
        "ALTER TABLE customers OWNER TO ann",
        "ALTER TABLE orders OWNER TO ann",
        "ALTER VIEW dear OWNER TO ann",
        "CREATE FUNCTION touch() RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'",
    ),
    "mysql": (
        "CREATE TABLE customers (id int PRIMARY KEY, name varchar(40))",
        "CREATE TABLE orders (id int PRIMARY KEY, customer int, price decimal(10,2), state varchar(8),"
        " FOREIGN KEY (customer) REFERENCES customers (id)) COMMENT 'what was sold'",
        "CREATE VIEW dear AS SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer WHERE price > 20",
        "INSERT INTO customers VALUES (1, 'Ann')",
        "INSERT INTO orders SELECT seq, 1, seq / 4, IF(seq % 2 = 0, 'paid', 'open') FROM seq_1_to_1000",
        "CREATE TABLE forgetful (i int) ENGINE = MyISAM",
        "ANALYZE TABLE orders",
        "CREATE FUNCTION touch() RETURNS int RETURN 1",
    ),
    "clickhouse": (
        "CREATE TABLE shop.customers (id UInt32, name String) ENGINE = MergeTree ORDER BY id",
        "CREATE TABLE shop.orders (id UInt32, customer UInt32, price Decimal(10, 2), state LowCardinality(String))"
        " ENGINE = MergeTree ORDER BY id COMMENT 'what was sold'",
        "CREATE VIEW shop.dear AS SELECT o.id, c.name FROM shop.orders o JOIN shop.customers c ON c.id = o.customer"
        " WHERE price > 20",
        "INSERT INTO shop.customers VALUES (1, 'Ann')",
        "INSERT INTO shop.orders SELECT number + 1, 1, (number + 1) / 4, if(number % 2 = 1, 'paid', 'open')"
        " FROM numbers(1000)",
        "CREATE FUNCTION touch AS () -> 1",
    ),
}


@pytest.fixture
def shop(data_server: DataServer) -> Generator[DataServer]:
    """A server with tables in it, made when it is first asked for."""
    if data_server.kind not in _made:
        for statement in ORDERS[data_server.kind]:
            data_server.run(statement)
        _made.add(data_server.kind)
    yield data_server


_made = set[str]()


@contextmanager
def writer(server: DataServer) -> Generator[DrivenWorker]:
    with driven_worker() as driven:
        assert driven.ask(**server.opening(access="write")).reply["kind"] == "opened"
        yield driven


# ── results ──


def test_sums_averages_and_decimals_are_numbers(shop: DataServer, worker: DrivenWorker) -> None:
    statement = "SELECT sum(id) AS s, avg(id) AS a, sum(price) AS p, min(state) AS t, count(*) AS c FROM orders"
    found = worker.query(statement).table
    assert found is not None
    expected = (500500, 500.5, 125125.0, "open", 1000)
    assert pl.DataFrame(found).rows() == [expected]
    assert duckdb.execute("SELECT s + 0, a * 1, p * 1, t, c FROM found").fetchall() == [expected]
    assert (found.to_pandas()[["s", "a", "p"]] / 5).to_numpy().tolist() == [[100100, 100.1, 25025.0]]


def test_limits_hold_and_memory_stays_flat(data_server: DataServer, worker: DrivenWorker) -> None:
    wide = data_server.numbers.replace("SELECT ", "SELECT repeat('x', 200) AS filler, ", 1) % 50_000_000
    worker.query(wide, rows=10_000)
    before = peak_memory_mb(worker.process.pid)
    by_rows = worker.query(wide, rows=1_000_000).reply
    assert (by_rows["rows"], by_rows["cut"]) == (1_000_000, "rows")
    by_bytes = worker.query(wide, bytes=200 << 20).reply
    assert by_bytes["cut"] == "bytes"
    assert 199 << 20 < by_bytes["bytes"] < 201 << 20
    # Two results of 200 MB, and nothing of them in the worker's own memory.
    assert peak_memory_mb(worker.process.pid) - before < 100


def test_no_rows_have_columns_too(shop: DataServer, worker: DrivenWorker) -> None:
    found = worker.query("SELECT id, state FROM orders WHERE id < 0")
    assert (found.rows, [name for name, _ in found.reply["columns"]]) == ([], ["id", "state"])


def test_two_columns_of_one_name_are_two(shop: DataServer, worker: DrivenWorker) -> None:
    found = worker.query("SELECT o.id AS x, c.id AS y FROM orders o JOIN customers c ON c.id = o.customer LIMIT 1")
    assert [name for name, _ in found.reply["columns"]] == ["x", "y"]
    if shop.kind != "clickhouse":
        twice = worker.query("SELECT 1 AS a, 2 AS a")
        assert twice.rows == [{"a": 1, "a_1": 2}]


def test_a_plan_and_a_list_of_tables_can_be_read(shop: DataServer, worker: DrivenWorker) -> None:
    assert worker.query("EXPLAIN SELECT * FROM orders").reply["rows"] > 0
    shown = "SHOW server_version" if shop.kind == "postgres" else "SHOW TABLES"
    assert worker.query(shown).reply["rows"] > 0


def test_parameters_are_bound_or_refused(shop: DataServer, worker: DrivenWorker) -> None:
    if shop.kind == "postgres":
        assert worker.query("SELECT count(*) AS c FROM orders WHERE id <= $1", 3).rows == [{"c": 3}]
    else:
        assert "take no parameters" in worker.query("SELECT ?", 3).failure[1]


# ── what goes wrong ──


def test_a_mistake_is_one_line_and_the_session_goes_on(shop: DataServer, worker: DrivenWorker) -> None:
    kind, why = worker.query(shop.mistake).failure
    assert kind == "statement"
    assert re.search("syntax", why, re.IGNORECASE)
    assert worker.query("SELECT * FROM nowhere").failure[0] == "statement"
    assert worker.query("SELECT 1 AS one").rows == [{"one": 1}]


def test_a_name_of_64_kb_and_a_statement_of_1_mb_end_with_an_answer(
    data_server: DataServer, worker: DrivenWorker
) -> None:
    for statement in (
        f"SELECT 1 AS {data_server.quote('n' * 65_536)}",
        f"SELECT length('{'x' * 1_000_000}') AS c",
    ):
        answered = worker.query(statement)
        if answered.table is None:
            assert answered.failure[0] == "statement"
    assert worker.query("SELECT 1 AS one").rows == [{"one": 1}]


def test_two_statements_in_one_text_are_refused(data_server: DataServer, worker: DrivenWorker) -> None:
    assert worker.query("SELECT 1; SELECT 2").failure[0] == "statement"


def test_a_session_that_reads_writes_nothing(shop: DataServer, worker: DrivenWorker) -> None:
    for statement in ("DROP TABLE orders", "DELETE FROM orders WHERE id = 1", "INSERT INTO orders (id) VALUES (5000)"):
        assert worker.query(statement).failure[0] == "statement"
        assert worker.ask(kind="write", statement=statement, seconds=5).failure == ("other", "This session only reads.")
    assert worker.query("SELECT count(*) AS c FROM orders").rows == [{"c": 1000}]


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"secret": "wrong"}, {"login"}),
        ({"user": "nobody"}, {"login"}),
        ({"options": {"host": "no-such-host.invalid"}}, {"host"}),
        ({"options": {"host": "127.0.0.1", "port": "1"}}, {"host"}),
        ({"options": {"database": "nowhere"}}, {"login"}),
    ],
    ids=["password", "user", "host", "port", "database"],
)
def test_what_keeps_a_session_from_opening_is_told_apart(
    data_server: DataServer, changes: dict[str, Any], kinds: set[str]
) -> None:
    changed = changes | {"options": data_server.options | changes.get("options", {})}
    with driven_worker() as driven:
        refused = driven.ask(**data_server.opening(**changed))
        assert refused.failure[0] in kinds, refused
        assert refused.reply["hint"]
        assert driven.process.wait(30) == 0


@pytest.mark.parametrize("tls", ["require", "verify"])
def test_a_server_without_tls_is_not_spoken_to_where_it_is_asked_for(data_server: DataServer, tls: str) -> None:
    if data_server.kind == "postgres":
        # libpq has no TLS on a socket of this machine; test_tls.py goes over the network.
        return
    with driven_worker() as driven:
        refused = driven.ask(**data_server.opening(options=data_server.options | {"tls": tls}))
        assert refused.failure[0] == "tls"


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [
        ("postgres", "adbc_driver_postgresql", "postgres"),
        ("redshift", "adbc_driver_postgresql", "postgres"),
        ("mysql", "pymysql", "mysql"),
        ("clickhouse", "clickhouse_connect", "clickhouse"),
        ("snowflake", "adbc_driver_snowflake", "snowflake"),
        ("bigquery", "adbc_driver_bigquery", "bigquery"),
        ("databricks", "databricks", "databricks"),
        ("trino", "trino", "trino"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_what_installs_it(kind: str, module: str, extra: str) -> None:
    with driven_worker(without=module) as driven:
        refused = driven.ask(kind="open", source=kind, options={}, user="", secret="", access="read", seconds=5).reply
    assert refused == {
        "kind": "failed",
        "failure": "driver",
        "why": f"The driver for {kind} is not installed here.",
        "hint": f"pip install 'cellwright[{extra}]'",
    }


@pytest.mark.parametrize("start", [postgres_data_server, mariadb_server, clickhouse_data_server])
def test_a_server_killed_in_the_middle_of_a_result_is_gone_and_nothing_hangs(start: Any) -> None:
    with start() as server, driven_worker() as driven:
        assert driven.ask(**server.opening()).reply["kind"] == "opened"
        driven.start(server.numbers % 2_000_000_000, rows=2_000_000_000, bytes=1 << 40)
        server.wait_until(_is_at_it)
        server.kill()
        kind, _why = driven.answer().failure
        assert kind == "gone"


def _is_at_it(running: list[str]) -> bool:
    return any("2000000000" in statement and "DESCRIBE" not in statement for statement in running)


# ── ending ──


def test_a_cancelled_statement_is_gone_from_the_server(data_server: DataServer, worker: DrivenWorker) -> None:
    worker.start(data_server.long_running)
    data_server.wait_until(lambda running: _is_among(data_server, running))
    worker.send(kind="cancel")
    assert worker.answer().failure == ("cancelled", "It was cancelled.")
    wait_until_gone(data_server)
    assert worker.query("SELECT 1 AS one").rows == [{"one": 1}]


def test_a_statement_beyond_its_time_is_gone_from_the_server(data_server: DataServer, worker: DrivenWorker) -> None:
    assert worker.query(data_server.long_running, seconds=1).failure == ("time", "It took more than 1 seconds.")
    wait_until_gone(data_server)
    assert worker.query("SELECT 1 AS one").rows == [{"one": 1}]


def test_a_cancel_without_a_statement_does_nothing(data_server: DataServer, worker: DrivenWorker) -> None:
    for _ in range(5):
        worker.send(kind="cancel")
        assert worker.query("SELECT 1 AS one").reply["kind"] in {"result", "failed"}
    assert worker.query("SELECT 1 AS one").rows == [{"one": 1}]


def test_a_broker_that_hangs_up_ends_the_worker_and_its_statement(data_server: DataServer) -> None:
    with driven_worker() as driven:
        assert driven.ask(**data_server.opening()).reply["kind"] == "opened"
        driven.start(data_server.long_running)
        data_server.wait_until(lambda running: _is_among(data_server, running))
        driven.connection.close()
        wait_until_gone(data_server)
        assert driven.process.wait(30) == 0


def test_a_killed_worker_takes_its_statement_with_it(postgres_data: DataServer) -> None:
    with driven_worker() as driven:
        assert driven.ask(**postgres_data.opening()).reply["kind"] == "opened"
        driven.start(postgres_data.long_running)
        postgres_data.wait_until(lambda running: _is_among(postgres_data, running))
        driven.process.send_signal(signal.SIGKILL)
        wait_until_gone(postgres_data)


def wait_until_gone(server: DataServer) -> None:
    """By the server's own list, two seconds after what ended it at most."""
    server.wait_until(lambda running: not _is_among(server, running), seconds=2)


def _is_among(server: DataServer, running: list[str]) -> bool:
    return any(server.long_running in statement.replace("\\'", "'") for statement in running)


# ── what else is asked ──


def test_the_catalogue_has_tables_columns_keys_and_views(shop: DataServer, worker: DrivenWorker) -> None:
    catalogue = _catalogue(worker)
    assert catalogue.server.startswith(shop.server)
    orders, dear = catalogue.table("orders"), catalogue.table("dear")
    assert orders is not None and dear is not None
    assert [column.name for column in orders.columns] == ["id", "customer", "price", "state"]
    assert [column.name for column in orders.columns if column.is_key] == ["id"]
    assert orders.comment == "what was sold"
    assert orders.rows is not None and 900 <= orders.rows <= 1100
    assert dear.kind == "view"
    assert set(dear.reads) == {f"{orders.schema}.orders", f"{orders.schema}.customers"}
    if shop.kind != "clickhouse":
        assert [(key.columns, key.table, key.target) for key in orders.foreign_keys] == [
            (("customer",), f"{orders.schema}.customers", ("id",))
        ]
    if shop.kind == "postgres":
        assert sorted(orders.columns[3].samples) == ["open", "paid"]
    assert {table.schema for table in catalogue.tables} <= {orders.schema, "public"}


def _catalogue(worker: DrivenWorker) -> Catalogue:
    return CATALOGUE_JSON.validate_python(worker.ask(kind="catalogue").reply["catalogue"])


def test_an_estimate_says_how_much_is_read(shop: DataServer, worker: DrivenWorker) -> None:
    estimate = worker.ask(kind="estimate", statement="SELECT state FROM orders").reply
    assert estimate["kind"] == "estimate"
    assert 900 <= estimate["rows"] <= 1100
    if shop.kind != "clickhouse":
        crossed = worker.ask(kind="estimate", statement="SELECT a.id FROM orders a, orders b, orders c").reply
        assert crossed["rows"] > 100_000_000
    assert worker.ask(kind="estimate", statement="SELECT * FROM nowhere").failure[0] == "statement"


def test_functions_of_the_servers_own_are_doing_more(shop: DataServer, worker: DrivenWorker) -> None:
    asked = ["count", "lower", "touch", "no_such_function"]
    assert worker.ask(kind="functions", names=asked).reply == {"kind": "functions", "doing_more": ["touch"]}
    if shop.kind == "postgres":
        names = ["random", "nextval", "pg_read_file", "query_to_xml", "current_setting", "date_trunc", "sum"]
        told = worker.ask(kind="functions", names=names).reply["doing_more"]
        assert told == ["nextval", "pg_read_file", "query_to_xml", "current_setting"]


def test_a_rehearsal_changes_nothing_and_a_write_changes_once(shop: DataServer, worker: DrivenWorker) -> None:
    delete = "DELETE FROM customers WHERE id = 77"
    insert = "INSERT INTO customers (id, name) VALUES (77, 'Bob')"
    count = "SELECT count(*) AS c FROM customers WHERE id = 77"
    with writer(shop) as writing:
        rehearsed = writing.ask(kind="rehearse", statement=insert, seconds=10).reply
        assert rehearsed == {"kind": "rehearsed", "rows": None if shop.kind == "clickhouse" else 1}
        assert worker.query(count).rows == [{"c": 0}]
        assert writing.ask(kind="write", statement=insert, seconds=10).reply["kind"] == "written"
        assert worker.query(count).rows == [{"c": 1}]
        assert writing.ask(kind="write", statement=delete, seconds=10).reply["kind"] == "written"
        assert worker.query(count).rows == [{"c": 0}]
        assert writing.ask(kind="write", statement="DELETE FROM nowhere", seconds=10).failure[0] == "statement"


def test_what_mysql_cannot_undo_is_not_rehearsed(mysql_data: DataServer) -> None:
    mysql_data.run("CREATE TABLE IF NOT EXISTS forgetful (i int) ENGINE = MyISAM")
    with writer(mysql_data) as writing:
        for statement in ("INSERT INTO forgetful VALUES (1)", "CREATE TABLE other (i int)", "DROP TABLE forgetful"):
            reply = writing.ask(kind="rehearse", statement=statement, seconds=10).reply
            assert reply == {"kind": "rehearsed", "rows": None}
        assert writing.query("SELECT count(*) AS c FROM forgetful").rows == [{"c": 0}]


# ── the secret ──


def test_the_secret_is_in_nothing_that_a_worker_says(shop: DataServer, worker: DrivenWorker) -> None:
    worker.query(f"SELECT '{quote(SECRET)}' FRO x")
    worker.query(f"SELECT nothing AS {shop.quote(SECRET.replace('%', ''))}, {SECRET}")
    worker.ask(kind="catalogue")
    with driven_worker() as other:
        other.ask(**shop.opening(options=shop.options | {"host": "no-such-host.invalid"}))
        other_said = other.heard
    for spelling in (SECRET, quote(SECRET), quote(SECRET, safe=""), SECRET.encode().decode("latin-1")):
        for said in (worker.heard, other_said):
            assert spelling not in said
