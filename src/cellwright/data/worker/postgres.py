"""Postgres, and Redshift, by ADBC: results come by COPY as Arrow; a statement is prepared first, so it is only one."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import adbc_driver_manager as adbc
import adbc_driver_postgresql
import pyarrow as pa

from cellwright.data.catalogue import Catalogue
from cellwright.data.worker.postgres_catalogue import postgres_catalogue
from cellwright.data.worker.postgres_columns import bound_parameters, readable, without_infinity
from cellwright.data.worker.postgres_failures import failure_of
from cellwright.data.worker.postgres_plan import plan_estimate
from cellwright.data.worker.source import BatchStream, CostEstimate, SourceFailed, SourceLogin

_CONNECT_SECONDS: Final = 10
_USE_COPY: Final = "adbc.postgresql.use_copy"
_BATCH_SIZE: Final = "adbc.postgresql.batch_size_hint_bytes"
_BATCH_BYTES: Final = 4 << 20
_NOT_COPIED: Final = re.compile(r"\s*(?:explain|show)\b", re.IGNORECASE)
_TLS: Final = {"off": "disable", "prefer": "prefer", "require": "require", "verify": "verify-full"}
_FETCHED_ROWS: Final = 20_000
_PLACE: Final = "$1"
"""Without it, in quotes or not, a statement takes no parameters."""
_ONLY_COMPUTE: Final = r"^(random\w*|uuidv\d+|gen_random_uuid|clock_timestamp|timeofday|array_sample|array_shuffle)$"
_READ_MORE: Final = r"_to_xml|^current_setting$|^pg_show_all_settings$"
_DOING_MORE: Final = f"""
    SELECT DISTINCT p.proname::text AS name
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE lower(p.proname::text) IN ({{names}})
      AND (p.proname ~ '{_READ_MORE}'
           OR p.provolatile = 'v' AND NOT (n.nspname = 'pg_catalog' AND p.proname ~ '{_ONLY_COMPUTE}'))
"""


class PostgresSource:
    """One session; each query is a transaction of its own, which is rolled back: nothing it set stays."""

    def __init__(self, login: SourceLogin, kind: Literal["postgres", "redshift"] = "postgres") -> None:
        self._kind, self._access = kind, login.access
        self._lock = threading.Lock()
        self._running: adbc.AdbcStatement | None = None
        self._prepared = 0
        try:
            self._database = adbc_driver_postgresql.connect(_address(login))
            self._connection = adbc.AdbcConnection(self._database)
        except adbc.Error as problem:
            raise failure_of(problem, opening=True) from None
        self._set_up(login)
        said = str(self._rows("SELECT version() AS it")[0]["it"])
        found = re.search(r"Redshift [\d.]+", said) or re.match(r"\S+ \S+", said)
        self.server = found.group() if found else kind

    def _set_up(self, login: SourceLogin) -> None:
        settings = [f"statement_timeout = {_milliseconds(login.seconds)}", "datestyle = 'ISO'"]
        if schema := login.options.get("schema"):
            settings.append(f"search_path = {_quoted(schema)}, public")
        if login.access == "read":
            settings.append("default_transaction_read_only = on")
        # Without it, a statement goes on for a worker that was killed.
        settings.append("client_connection_check_interval = 1000")
        for setting in settings:
            try:
                self._do(f"SET {setting}")
            except SourceFailed as failure:
                # Redshift, and Postgres before 14, do not have all of them.
                if failure.kind != "statement":
                    raise

    # ── what a worker asks ──

    @contextmanager
    def stream(self, statement: str, parameters: Sequence[Any], seconds: float) -> Generator[BatchStream]:
        """See `Source`."""
        with self._transaction("READ ONLY", seconds):
            if _NOT_COPIED.match(statement):
                with self._result(statement, copied=False) as stream:
                    yield stream
            elif parameters or _PLACE in statement or self._kind == "redshift":
                with self._fetched(statement, parameters) as stream:
                    yield stream
            else:
                names = self._schema(statement)
                with self._result(readable(statement, names)) as stream:
                    yield BatchStream(
                        schema=_named(stream.schema, names), batches=(without_infinity(b) for b in stream.batches)
                    )

    def cancel(self) -> None:
        """See `Source`."""
        with self._lock:
            running = self._running
        if running is not None:
            with suppress(adbc.Error):
                running.cancel()

    def catalogue(self) -> Catalogue:
        """See `Source`."""
        with self._transaction("READ ONLY"):
            return postgres_catalogue(self._rows, self.server)

    def estimate(self, statement: str, parameters: Sequence[Any] = ()) -> CostEstimate:
        """See `Source`."""
        if _NOT_COPIED.match(statement):
            return CostEstimate()
        with self._transaction("READ ONLY"):
            text, values = self._bound(statement, parameters)
            return plan_estimate(self._rows(f"EXPLAIN (FORMAT JSON) {text}", copied=False, bound=values))

    def doing_more(self, functions: Sequence[str]) -> tuple[str, ...]:
        """See `Source`."""
        # Names of a judged statement; what has a quote or a backslash in it is no function's.
        names = [name.lower() for name in functions if name.replace("_", "").isalnum()]
        if not names:
            return ()
        statement = _DOING_MORE.format(names=", ".join(f"'{name}'" for name in names))
        with self._transaction("READ ONLY"):
            found = {row["name"].lower() for row in self._rows(statement)}
        return tuple(name for name in functions if name.lower() in found)

    def close(self) -> None:
        """See `Source`."""
        with suppress(adbc.Error):
            self._connection.close()
            self._database.close()

    def rehearse(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`."""
        with self._transaction("READ WRITE", seconds):
            return self._do(statement)

    def write(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`."""
        with self._transaction("READ WRITE", seconds, end="COMMIT"):
            return self._do(statement)

    # ── a transaction, a statement, a result ──

    @contextmanager
    def _transaction(
        self, access: str, seconds: float | None = None, *, end: Literal["ROLLBACK", "COMMIT"] = "ROLLBACK"
    ) -> Generator[None]:
        self._do(f"BEGIN {access}")
        try:
            if seconds is not None:
                self._do(f"SET LOCAL statement_timeout = {_milliseconds(seconds)}")
            yield
        except BaseException:
            with suppress(SourceFailed):
                self._do("ROLLBACK")
            raise
        self._do(end)

    @contextmanager
    def _statement(self, text: str, *, copied: bool = True, bound: Sequence[Any] = ()) -> Generator[adbc.AdbcStatement]:
        """What `cancel` ends, as long as this block lasts."""
        try:
            statement = adbc.AdbcStatement(self._connection)
        except adbc.Error as problem:
            raise failure_of(problem) from None
        try:
            statement.set_options(**{_USE_COPY: "true" if copied else "false", _BATCH_SIZE: _BATCH_BYTES})
            statement.set_sql_query(text)
            if bound:
                statement.bind(*_bindable(bound))
            with self._lock:
                self._running = statement
            yield statement
        except (adbc.Error, pa.ArrowException, OSError) as problem:
            raise failure_of(problem, text) from None
        finally:
            with self._lock:
                self._running = None
            with suppress(adbc.Error):
                statement.close()

    @contextmanager
    def _result(self, text: str, *, copied: bool = True, bound: Sequence[Any] = ()) -> Generator[BatchStream]:
        with self._statement(text, copied=copied, bound=bound) as statement:
            handle, _count = statement.execute_query()
            reader = pa.RecordBatchReader.from_stream(handle)
            ended = False

            def batches() -> Iterator[pa.RecordBatch]:
                nonlocal ended
                # Here, not around the block: what the reader of this does with a batch is no failure of the server.
                try:
                    yield from reader
                    ended = True
                except (pa.ArrowException, OSError) as problem:
                    ended = True
                    raise failure_of(problem, text) from None

            try:
                yield BatchStream(schema=reader.schema, batches=batches())
            finally:
                if not ended:
                    # The rest of a COPY would be read to its end before the session can go on.
                    with suppress(adbc.Error):
                        statement.cancel()
                with suppress(pa.ArrowException, OSError):
                    reader.close()

    @contextmanager
    def _fetched(self, statement: str, parameters: Sequence[Any]) -> Generator[BatchStream]:
        """By a cursor, so that not all of a result lies in the driver's memory: COPY takes no parameters, and Redshift
        has none that leads to us.
        """
        names = self._schema(statement)  # Its mistakes are told of the text as it was written.
        text, values = self._bound(statement, parameters)
        if values:
            self._do("SET LOCAL cursor_tuple_fraction = 1")
        text = readable(text, names)
        schema = self._schema(text)
        self._do(f"DECLARE cellwright NO SCROLL CURSOR FOR {text}", bound=values)
        fetch = f"FETCH FORWARD {_FETCHED_ROWS} FROM cellwright"

        def batches() -> Iterator[pa.RecordBatch]:
            while True:
                with self._result(fetch, copied=False) as part:
                    found = [without_infinity(batch) for batch in part.batches]
                yield from found
                if sum(batch.num_rows for batch in found) < _FETCHED_ROWS:
                    return

        yield BatchStream(schema=_named(schema, names), batches=batches())

    def _schema(self, text: str) -> pa.Schema:
        """What a statement would give; the server reads it, and runs nothing."""
        with self._statement(text) as statement:
            return pa.schema(statement.execute_schema())

    def _bound(self, statement: str, parameters: Sequence[Any]) -> tuple[str, list[str | None]]:
        """The statement as its parameters can be bound to it, and those."""
        if not parameters and _PLACE not in statement:
            return statement, []
        return bound_parameters(statement, parameters, self._parameter_types(statement))

    def _parameter_types(self, statement: str) -> list[str]:
        """What the server takes $1, $2, … for."""
        self._prepared += 1
        name = f"cellwright_{self._prepared}"
        self._do(f"PREPARE {name} AS {statement}")
        types = f"SELECT unnest(parameter_types)::text AS type FROM pg_prepared_statements WHERE name = '{name}'"
        found = [row["type"] for row in self._rows(types)]
        self._do(f"DEALLOCATE {name}")
        return found

    def _do(self, text: str, *, bound: Sequence[Any] = ()) -> int | None:
        with self._statement(text, copied=False, bound=bound) as statement:
            count = statement.execute_update()
        return count if isinstance(count, int) and count >= 0 else None

    def _rows(self, text: str, *, copied: bool = True, bound: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self._result(text, copied=copied and self._kind != "redshift", bound=bound) as stream:
            return [row for batch in stream.batches for row in batch.to_pylist()]


def _address(login: SourceLogin) -> str:
    """As libpq takes it: words in quotes, never an address that something could be hidden in."""
    options = login.options
    words = {
        "host": options["host"],
        "port": options.get("port", ""),
        "dbname": options["database"],
        "user": login.user,
        "password": login.secret,
        "sslmode": _TLS[options.get("tls", "prefer")],
        "sslrootcert": options.get("tls_ca", "") or ("system" if options.get("tls") == "verify" else ""),
        "connect_timeout": str(_CONNECT_SECONDS),
        "application_name": "cellwright",
        # Nothing of the person's own libpq settings.
        "passfile": "/dev/null",
        "gssencmode": "disable",
        "target_session_attrs": "any",
    }
    quoted = ((key, value.replace("\\", "\\\\").replace("'", "\\'")) for key, value in words.items() if value)
    return " ".join(f"{key}='{value}'" for key, value in quoted)


def _bindable(values: Sequence[Any]) -> tuple[Any, Any]:
    arrays = [pa.array([value], pa.string()) for value in values]
    batch = pa.RecordBatch.from_arrays(arrays, names=[str(place) for place in range(len(values))])
    schema, array = batch.__arrow_c_array__()
    return array, schema


def _named(schema: pa.Schema, names: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_name(name) for field, name in zip(schema, names.names, strict=True)])


def _milliseconds(seconds: float) -> int:
    return max(1, min(int(seconds * 1000), 2**31 - 1))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
