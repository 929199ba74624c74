"""What a broker does for SQL: judge a statement, send it through a worker, record it, hand the result on.

Three walls stand before a server: the statement as it is read, functions by the server's own word, and the settings of
the session. Masks are part of the statement that is sent. A file goes to a cage instead of a worker.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
import anyio.to_thread

from cellwright.data.broker.audit import StatementAudit
from cellwright.data.broker.crash import AtBrokerCrash, BrokerCrash, carry_on
from cellwright.data.broker.function_verdicts import FunctionVerdicts
from cellwright.data.broker.known_catalogues import KnownCatalogues
from cellwright.data.broker.recording import UnsureOutcome, recorded, uncut
from cellwright.data.broker.worker_pool import WorkerPool
from cellwright.data.broker.worker_process import WorkerFailed
from cellwright.data.catalogue import CATALOGUE_JSON, Catalogue
from cellwright.data.connections import DataConnection, QueryLimits
from cellwright.data.estimates import expected_cost, expected_words, is_too_much
from cellwright.data.failure_words import failure_error, hint_after_failure, writer_error
from cellwright.data.lineage import columns_read
from cellwright.data.masks import mask_statement
from cellwright.data.messages import (
    CostlyQuery,
    MakeWrite,
    QueryResult,
    ReadSchema,
    RehearsedWrite,
    RehearseWrite,
    ResultForm,
    RunQuery,
    SentStatement,
    WriteOutcome,
)
from cellwright.data.source_kinds import FILE_KINDS, SOURCE_TRAITS
from cellwright.data.statements import RefusedSql, SqlStatement, read_statement
from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.remedies import remedy

_GRACE_SECONDS: Final = 10.0
"""Beyond a statement's own limit, for a worker to say that it was reached."""
_CATALOGUE_SECONDS: Final = 300.0
_VOLATILE: Final = re.compile(
    r"rand\w*|\w*uuid\w*|now\w*|clock_timestamp|timeofday|current_(?:timestamp|time|date|datetime)|localtime\w*|sysdate"
    r"|getdate|utc_\w+|curdate|curtime|array_sample|array_shuffle|today|yesterday|unix_timestamp"
)
"""Functions by which a query asked again may differ."""


class FileSource(Protocol):
    """Databases that are files, read in a cage."""

    async def query(
        self, kind: str, path: Path, statement: str, parameters: Sequence[Any], limits: QueryLimits, form: ResultForm
    ) -> QueryResult:
        """Rows."""
        ...

    async def catalogue(self, kind: str, path: Path) -> Catalogue:
        """What it shows."""
        ...


@dataclass(slots=True, kw_only=True)
class SqlWords:
    """The databases of a broker's connections."""

    workers: WorkerPool
    files: FileSource
    audit: StatementAudit
    at_crash: AtBrokerCrash = carry_on
    _catalogues: KnownCatalogues = field(init=False)
    _functions: FunctionVerdicts = field(init=False)

    def __post_init__(self) -> None:
        self._catalogues = KnownCatalogues(self._read_catalogue)
        self._functions = FunctionVerdicts(self._ask_functions)

    async def query(self, asked: RunQuery, connection: DataConnection) -> QueryResult | CostlyQuery:
        """The rows of a statement that only reads. Raises `UserError`, `RefusedByPolicy` or `Unavailable`."""
        judged = await self._judged_read(asked, connection)
        expected = await self._expected_cost(asked, judged, connection)
        if expected is not None and is_too_much(expected, connection, asked):
            await self._record_costly(asked, judged, f"{expected_words(expected)} would be read")
            return expected
        limits = QueryLimits(
            rows=asked.rows or connection.limits.rows,
            megabytes=asked.megabytes or connection.limits.megabytes,
            seconds=asked.seconds or connection.limits.seconds,
        ).within(connection.limits)
        return await self._send(asked, judged, connection, limits, price=expected.price if expected else "")

    async def foresee(self, asked: RunQuery, connection: DataConnection) -> CostlyQuery | None:
        """What it would take, if that is more than passes unasked. Raises as `query` does."""
        judged = await self._judged_read(asked, connection)
        expected = await self._expected_cost(asked, judged, connection)
        return expected if expected is not None and is_too_much(expected, connection, asked) else None

    async def schema(self, asked: ReadSchema, connection: DataConnection) -> Catalogue:
        """What the connection shows."""
        catalogue = await self._catalogues.find(connection, is_fresh=asked.fresh)
        if asked.tables is None:
            return catalogue
        found = [catalogue.table(name) for name in asked.tables]
        tables = tuple(dict.fromkeys(table for table in found if table is not None))
        return replace(catalogue, tables=tables)

    async def try_connection(self, connection: DataConnection) -> Catalogue:
        """What it shows, from a session opened anew; that of its writer is opened, too."""
        await self.workers.forget(connection.name)
        catalogue = await self._catalogues.find(connection, is_fresh=True)
        if connection.writer:
            await self._try_writer(connection)
        return catalogue

    async def rehearse(self, asked: RehearseWrite, connection: DataConnection) -> RehearsedWrite:
        """What a write would change, by doing and undoing it."""
        judged = await self._judged_write(asked, connection)
        if await self._functions.doing_more(judged.functions, connection):
            # What such a function does, nothing may undo: a person is asked before it runs, not after.
            return RehearsedWrite(statement=judged.text, tables=judged.tables)
        reply = await self._ask_writer(connection, {"kind": "rehearse", "statement": judged.text}, judged)
        return RehearsedWrite(statement=judged.text, tables=judged.tables, rows=_count(reply.get("rows")))

    async def made_before(self, asked: MakeWrite) -> WriteOutcome | None:
        """What came of the write of this id; None: it was never sent."""
        before = await uncut(partial(self.audit.write, asked.id))
        return None if before is None else _outcome_of(before)

    async def write(self, asked: MakeWrite, connection: DataConnection) -> WriteOutcome:
        """Make a change that was never sent: recorded first, and only once under its id."""
        judged = await self._judged_write(asked, connection)
        self.at_crash(BrokerCrash.WRITE_JUDGED)
        begin = partial(
            self.audit.begin, connection.name, "write", judged.text, asked.asker,
            tables=judged.tables, write_id=asked.id,
        )  # fmt: skip
        try:
            async with recorded(self.audit, begin, cut_off="unknown") as told:
                self.at_crash(BrokerCrash.WRITE_RECORDED)
                reply = await self._ask_writer(connection, {"kind": "write", "statement": judged.text}, judged)
                rows = told["rows"] = _count(reply.get("rows"))
                self._forget(connection.name)
                self.at_crash(BrokerCrash.WRITE_MADE)
        except (sqlite3.IntegrityError, UnsureOutcome):
            # The id was sent by somebody else meanwhile, or nobody knows what came of this one.
            return WriteOutcome(outcome="unknown")
        self.at_crash(BrokerCrash.WRITE_ENDED)
        return WriteOutcome(outcome="done", rows=rows)

    # ── judging ──

    async def _judged_read(self, asked: RunQuery, connection: DataConnection) -> SqlStatement:
        judged = await self._recording_refusal(asked, connection, self._judge(asked.statement, connection))
        if judged.access == "write":
            why = f"It changes data, and {connection.name!r} is read here."
            await self._record_refusal(asked, why)
            raise RefusedByPolicy(f"{why} A write is asked about first.", hint=remedy("ask_for_write"))
        return judged

    async def _judge(self, text: str, connection: DataConnection) -> SqlStatement | RefusedSql:
        judged = await _read(text, connection)
        if isinstance(judged, RefusedSql) or judged.access == "write":
            return judged
        if more := await self._functions.doing_more(judged.functions, connection):
            names = ", ".join(more)
            return RefusedSql(why=f"The server does not say that {names} only computes; a person can list it.")
        if not connection.masked:
            return judged
        return await self._masked(judged, connection)

    async def _masked(self, judged: SqlStatement, connection: DataConnection) -> SqlStatement | RefusedSql:
        catalogue = await self._catalogues.find(connection)
        mask = partial(mask_statement, functions=connection.functions)
        return await anyio.to_thread.run_sync(mask, judged, connection.dialect, catalogue, connection.masked)

    async def _ask_functions(self, connection: DataConnection, names: list[str]) -> set[str]:
        reply = await self._ask(connection, {"kind": "functions", "names": names}, _CATALOGUE_SECONDS)
        return {str(name) for name in reply.get("doing_more", ())}

    async def _expected_cost(
        self, asked: RunQuery, judged: SqlStatement, connection: DataConnection
    ) -> CostlyQuery | None:
        """What the server expects; None: it does not say."""
        if judged.is_plan or connection.kind in FILE_KINDS:
            return None
        message = {"kind": "estimate", "statement": judged.text, "parameters": list(asked.parameters)}
        try:
            reply = await self._ask(connection, message, _CATALOGUE_SECONDS)
        except UserError:
            # What cannot be planned cannot be run either: then the query itself says why.
            return None
        return expected_cost(_count(reply.get("rows")), _count(reply.get("bytes")), connection.price_per_terabyte)

    async def _judged_write(self, asked: RehearseWrite | MakeWrite, connection: DataConnection) -> SqlStatement:
        if connection.kind in FILE_KINDS:
            raise RefusedByPolicy("A file is only read.", hint="Copy it, and change the copy in a notebook.")
        judged = await _read(asked.statement, connection)
        if isinstance(judged, SqlStatement) and judged.access == "read":
            judged = RefusedSql(why="It changes nothing: ask for its rows instead.")
        if isinstance(judged, SqlStatement) and connection.masked:
            judged = await self._masked(judged, connection)
        if isinstance(judged, RefusedSql):
            await self._record_refusal(asked, judged.why)
            raise UserError(f"The statement was not sent. {judged.why}", hint="Write one statement that can be read.")
        return judged

    # ── sending ──

    async def _send(
        self, asked: RunQuery, judged: SqlStatement, connection: DataConnection, limits: QueryLimits, *, price: str
    ) -> QueryResult:
        begin = await self._line(asked, judged, connection)
        began, at = time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
        async with recorded(self.audit, begin) as told:
            result = await self._rows(asked, judged, connection, limits)
            seconds = round(time.monotonic() - began, 3)
            told |= {"rows": result.rows, "bytes": result.bytes, "seconds": seconds, "price": price}
        cut = [_cut_words(result.cut, limits)] if result.cut else []
        return replace(
            result,
            notices=(*cut, *result.notices),
            tables=judged.tables,
            at=at,
            seconds=seconds,
            is_volatile=any(_VOLATILE.fullmatch(name) for name in judged.functions),
        )

    async def _rows(
        self, asked: RunQuery, judged: SqlStatement, connection: DataConnection, limits: QueryLimits
    ) -> QueryResult:
        if connection.kind in FILE_KINDS:
            return await self._rows_of_file(asked, judged, connection, limits)
        message = {
            "kind": "query",
            "statement": judged.text,
            "parameters": list(asked.parameters),
            "form": asked.form,
            "rows": limits.rows,
            "bytes": limits.megabytes << 20,
            "seconds": limits.seconds,
        }
        reply, descriptor = await self._ask_whole(connection, message, limits.seconds, judged)
        return QueryResult(
            rows=int(reply["rows"]),
            bytes=int(reply["bytes"]),
            cut=reply["cut"],
            columns=tuple((str(name), str(type_)) for name, type_ in reply["columns"]),
            sha256=str(reply["sha256"]),
            descriptor=descriptor,
        )

    async def _rows_of_file(
        self, asked: RunQuery, judged: SqlStatement, connection: DataConnection, limits: QueryLimits
    ) -> QueryResult:
        path = Path(connection.options["path"])
        try:
            return await self.files.query(connection.kind, path, judged.text, asked.parameters, limits, asked.form)
        except UserError as problem:
            hint = hint_after_failure(problem.message, problem.hint, judged, self._catalogues.known(connection))
            raise UserError(problem.message, hint=hint) from None

    def _forget(self, name: str) -> None:
        """What was known of a database that was changed."""
        self._catalogues.forget(name)
        self._functions.forget(name)

    async def _read_catalogue(self, connection: DataConnection) -> Catalogue:
        if connection.kind in FILE_KINDS:
            read = await self.files.catalogue(connection.kind, Path(connection.options["path"]))
        else:
            reply = await self._ask(connection, {"kind": "catalogue"}, _CATALOGUE_SECONDS)
            read = CATALOGUE_JSON.validate_python(reply["catalogue"])
        return replace(read, read_at=datetime.now(UTC).isoformat(timespec="seconds"))

    async def _ask(self, connection: DataConnection, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        reply, _ = await self._ask_whole(connection, message, seconds, None)
        return reply

    async def _ask_whole(
        self, connection: DataConnection, message: dict[str, Any], seconds: float, judged: SqlStatement | None
    ) -> tuple[dict[str, Any], int]:
        try:
            async with self.workers.worker(connection) as worker:
                reply, descriptor = await worker.ask(message, seconds + _GRACE_SECONDS)
                if reply.get("kind") == "failed":
                    raise WorkerFailed(reply)
                return reply, descriptor
        except WorkerFailed as failed:
            if failed.failure == "gone":
                # What ended this session ended the others, too, or will.
                await self.workers.forget(connection.name)
            known = self._catalogues.known(connection)
            if failed.failure == "statement" and judged is not None:
                # What is told of the tables may be out of date: whoever looks next reads them anew.
                self._catalogues.forget(connection.name)
            raise failure_error(failed.failure, failed.why, failed.hint, connection, judged, known) from None

    async def _ask_writer(
        self, connection: DataConnection, message: dict[str, Any], judged: SqlStatement
    ) -> dict[str, Any]:
        seconds, is_sent = connection.limits.seconds, False
        try:
            async with self.workers.worker(connection, "write") as worker:
                is_sent = True
                reply, _ = await worker.ask(message | {"seconds": seconds}, seconds + _GRACE_SECONDS)
        except WorkerFailed as failed:
            if failed.failure == "login":
                raise writer_error(failed.failure, failed.why, failed.hint, connection) from None
            raise failure_error(failed.failure, failed.why, failed.hint, connection, judged, None) from None
        except CellwrightError as problem:
            if is_sent and message["kind"] == "write":
                raise UnsureOutcome(problem.message, hint=problem.advice) from None
            raise
        if reply.get("kind") == "failed":
            failed = WorkerFailed(reply)
            if message["kind"] == "write" and failed.failure in {"gone", "other"}:
                raise UnsureOutcome(failed.why)
            raise failure_error(failed.failure, failed.why, failed.hint, connection, judged, None)
        return reply

    async def _try_writer(self, connection: DataConnection) -> None:
        try:
            async with self.workers.worker(connection, "write"):
                pass
        except WorkerFailed as failed:
            raise writer_error(failed.failure, failed.why, failed.hint, connection) from None

    # ── recording ──

    async def _recording_refusal(self, asked: RunQuery, connection: DataConnection, judging: Any) -> SqlStatement:
        judged = await judging
        if isinstance(judged, RefusedSql):
            await self._record_refusal(asked, judged.why)
            dialect = SOURCE_TRAITS[connection.kind].dialect
            raise UserError(f"The statement was not sent. {judged.why}", hint=f"Write one {dialect} query.")
        return judged

    async def _record_refusal(self, asked: RunQuery | RehearseWrite | MakeWrite, why: str) -> None:
        access = "read" if isinstance(asked, RunQuery) else "write"
        begin = partial(self.audit.begin, asked.connection, access, asked.statement[:100_000], asked.asker)
        await uncut(lambda: self.audit.end(begin(), "refused", why=why))

    async def _record_costly(self, asked: RunQuery, judged: SqlStatement, why: str) -> None:
        begin = partial(self.audit.begin, asked.connection, "read", judged.text, asked.asker, tables=judged.tables)
        await uncut(lambda: self.audit.end(begin(), "costly", why=why))

    async def _line(self, asked: RunQuery, judged: SqlStatement, connection: DataConnection) -> Callable[[], int]:
        """What makes the statement's line in the audit."""
        known = self._catalogues.known(connection)
        columns = ()
        if known is not None:
            columns = await anyio.to_thread.run_sync(columns_read, judged, connection.dialect, known)
        return partial(
            self.audit.begin, connection.name, "read", judged.text, asked.asker, tables=judged.tables, columns=columns
        )


async def _read(text: str, connection: DataConnection) -> SqlStatement | RefusedSql:
    # In a thread: a long statement takes seconds to read, and others wait for an answer meanwhile.
    return await anyio.to_thread.run_sync(read_statement, text, connection.dialect)


def _outcome_of(before: SentStatement) -> WriteOutcome:
    match before.outcome:
        case "done":
            return WriteOutcome(outcome="done", rows=before.rows)
        case "failed":
            raise UserError(f"This write failed before: {before.why}", hint="Ask for it anew.")
        case _:
            return WriteOutcome(outcome="unknown")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _cut_words(cut: str, limits: QueryLimits) -> str:
    most = f"{limits.rows:,} rows" if cut == "rows" else f"{limits.megabytes:,} MB"
    return f"Only the first {most} are here: that is the limit. Ask for less, or let the database sum up."
