"""ClickHouse over HTTP by clickhouse-connect: a request for each statement, read as Arrow while it comes."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from uuid import uuid4

import clickhouse_connect
import pyarrow as pa
import urllib3.exceptions
from clickhouse_connect import common
from clickhouse_connect.driver.exceptions import ClickHouseError

from cellwright.data.catalogue import Catalogue
from cellwright.data.worker.clickhouse_catalogue import clickhouse_catalogue
from cellwright.data.worker.clickhouse_columns import set_right
from cellwright.data.worker.source import BatchStream, CostEstimate, FailureKind, SourceFailed, SourceLogin

_CONNECT_SECONDS: Final = 10
_NO_PLAN: Final = re.compile(r"\s*(?:explain|show|describe|desc|exists)\b", re.IGNORECASE)
_TLS_PORTS: Final = frozenset({"443", "8443"})
_CODES: Final[dict[int, FailureKind]] = {
    81: "login", 192: "login", 193: "login", 194: "login", 516: "login", 497: "statement",
    159: "time", 394: "cancelled",
}  # fmt: skip
_WORDS: Final[tuple[tuple[str, FailureKind], ...]] = (
    (r"CERTIFICATE|SSL|TLS|certificate", "tls"),
    (r"refused|Name or service|getaddrinfo|resolve|unreachable|No route|ConnectTimeout|connect timeout", "host"),
    (r"IncompleteRead|Connection broken|reset by peer|RemoteDisconnected|aborted|Broken pipe|Read timed out", "gone"),
)
_HINTS: Final[dict[FailureKind, str]] = {
    "login": "Look at its user, its secret and its database.",
    "host": "Look at its host and port.",
    "tls": "Look at the connection's tls and tls_ca.",
}
_NOISE: Final = re.compile(
    r"^.*?DB::Exception:\s*|^.*Caused by \w+\(|\s*\(version [^)]*\)\s*$|\s*\(for url [^)]*\)", re.DOTALL
)


class ClickhouseSource:
    """A client without a session: nothing that one statement set stays for the next."""

    def __init__(self, login: SourceLogin) -> None:
        self._login = login
        self._lock = threading.Lock()
        self._query_id = ""
        common.set_setting("autogenerate_session_id", False)
        # A user that may set nothing has these set already.
        common.set_setting("invalid_setting_action", "drop")
        with _told(opening=True):
            self._client = clickhouse_connect.get_client(
                host=login.options["host"],
                port=int(login.options.get("port", "8123")),
                username=login.user,
                password=login.secret,
                database=login.options.get("database") or "__default__",
                connect_timeout=_CONNECT_SECONDS,
                send_receive_timeout=int(login.seconds) + 60,
                compress=False,
                query_retries=0,
                show_clickhouse_errors="scrub",
                **_tls(login.options),
            )
            self.server = f"ClickHouse {self._client.server_version}"

    # ── what a worker asks ──

    @contextmanager
    def stream(self, statement: str, parameters: Sequence[Any], seconds: float) -> Generator[BatchStream]:
        """See `Source`."""
        if parameters:
            raise SourceFailed(
                "statement",
                "Statements for ClickHouse take no parameters here.",
                hint="Write the values into the statement.",
            )
        types = list[str]()
        if not _NO_PLAN.match(statement):
            types = self._types(statement)
        with self._running() as query_id, _told():
            settings = self._settings(seconds) | {"query_id": query_id}
            body: Any = self._client.raw_stream(statement, settings=settings, fmt="ArrowStream")
            try:
                reader = pa.ipc.open_stream(body)
            except (pa.ArrowInvalid, StopIteration):
                # A statement without columns, or without a result: nothing at all comes.
                yield BatchStream(schema=pa.schema([]), batches=iter(()))
                return
            ended = False

            def batches() -> Iterator[pa.RecordBatch]:
                nonlocal ended
                with _told():
                    for batch in reader:
                        yield set_right(batch, types)
                    ended = True

            try:
                empty = pa.RecordBatch.from_pylist([], schema=reader.schema)
                yield BatchStream(schema=set_right(empty, types).schema, batches=batches())
            finally:
                if not ended:
                    self._kill(query_id)
                with suppress(ClickHouseError, urllib3.exceptions.HTTPError, OSError):
                    body.close()

    def cancel(self) -> None:
        """See `Source`."""
        with self._lock:
            query_id = self._query_id
        if query_id:
            self._kill(query_id)

    def catalogue(self) -> Catalogue:
        """See `Source`."""
        return clickhouse_catalogue(self._rows, self.server)

    def estimate(self, statement: str, parameters: Sequence[Any] = ()) -> CostEstimate:
        """See `Source`."""
        if _NO_PLAN.match(statement):
            return CostEstimate()
        rows = self._rows(f"EXPLAIN ESTIMATE {statement}")
        return CostEstimate(rows=sum(int(row["rows"]) for row in rows) if rows else None)

    def doing_more(self, functions: Sequence[str]) -> tuple[str, ...]:
        """See `Source`."""
        defined = self._rows("SELECT lower(name) AS name FROM system.functions WHERE origin != 'System' LIMIT 100000")
        found = {row["name"] for row in defined}
        return tuple(name for name in functions if name.lower() in found)

    def close(self) -> None:
        """See `Source`."""
        self._client.close()

    def rehearse(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`: nothing can be undone here."""
        return None

    def write(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`."""
        with self._running() as query_id, _told():
            settings = {"max_execution_time": max(1, round(seconds)), "query_id": query_id}
            summary: Any = self._client.command(statement, settings=settings)
        written = getattr(summary, "summary", {}).get("written_rows")
        return int(written) if written is not None and re.match(r"\s*insert\b", statement, re.IGNORECASE) else None

    # ── a request ──

    def _settings(self, seconds: float) -> dict[str, Any]:
        return {
            "readonly": 1,
            "max_execution_time": max(1, round(seconds)),
            "output_format_arrow_string_as_string": 1,
            "output_format_arrow_low_cardinality_as_dictionary": 0,
            # A worker that is killed takes its statement with it.
            "cancel_http_readonly_queries_on_client_close": 1,
        }

    @contextmanager
    def _running(self) -> Generator[str]:
        with self._lock:
            self._query_id = query_id = str(uuid4())
        try:
            yield query_id
        finally:
            with self._lock:
                self._query_id = ""

    def _kill(self, query_id: str) -> None:
        with suppress(ClickHouseError, urllib3.exceptions.HTTPError, OSError):
            self._client.raw_query(f"KILL QUERY WHERE query_id = '{query_id}' ASYNC")

    def _types(self, statement: str) -> list[str]:
        """Of its columns, in the server's words. A mistake is told when the statement itself is sent."""
        try:
            return [row["type"] for row in self._rows(f"DESCRIBE TABLE (\n{statement}\n)")]
        except SourceFailed as failure:
            if failure.kind != "statement":
                raise
            return []

    def _rows(self, statement: str) -> list[dict[str, Any]]:
        with self._running() as query_id, _told():
            settings = {"readonly": 1, "query_id": query_id, "output_format_json_quote_64bit_integers": 0}
            body = self._client.raw_query(statement, settings=settings, fmt="JSONEachRow")
            return [json.loads(line) for line in body.splitlines() if line]


def _tls(options: Mapping[str, str]) -> dict[str, Any]:
    mode = options.get("tls", "prefer")
    # HTTP cannot ask whether there is TLS: what prefers it takes it where its port says so.
    secure = mode in {"require", "verify"} or (mode == "prefer" and options.get("port") in _TLS_PORTS)
    authority = options.get("tls_ca")
    return {"secure": secure, "verify": mode == "verify"} | ({"ca_cert": authority} if authority else {})


@contextmanager
def _told(*, opening: bool = False) -> Generator[None]:
    try:
        yield
    except (ClickHouseError, urllib3.exceptions.HTTPError, pa.ArrowException, OSError) as problem:
        failure = _failure_of(problem)
        # Who was there when the session was opened, and is not any more.
        kind: FailureKind = "gone" if failure.kind == "host" and not opening else failure.kind
        raise SourceFailed(kind, failure.why, hint=_HINTS.get(kind, "")) from None


def _failure_of(problem: Exception) -> SourceFailed:
    # It keeps what the network said to itself, for that names an address.
    text = str(problem.__cause__ or problem)
    found = re.search(r"Code: (\d+)|error code (\d+)", text)
    code = int(found[1] or found[2]) if found else getattr(problem, "code", None)
    why = _NOISE.sub("", text)
    if isinstance(code, int) and code:
        kind = _CODES.get(code, "statement")
        return SourceFailed(kind, why, hint=_HINTS.get(kind, ""))
    kind = next((kind for pattern, kind in _WORDS if re.search(pattern, text)), None)
    if kind is None:
        # Arrow that ends in its middle: the server ended the result, or itself, and did not say why.
        kind = "gone" if isinstance(problem, pa.ArrowException | OSError) else "other"
    return SourceFailed(kind, why.strip("\"'() "), hint=_HINTS.get(kind, ""))
