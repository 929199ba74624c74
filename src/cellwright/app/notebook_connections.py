"""Connections for the cells of one notebook: what may be asked, from the broker or from what was asked before.

The cell says a connection's name and a statement; everything else about it stays on this side. Whether it may is for
rules, envelope and people to say; a person who opened the notebook themselves need not be asked to read.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import anyio.to_thread

from cellwright.app.api_documents import load_api_documents
from cellwright.app.exchange_cache import ExchangeCache
from cellwright.app.notebook_files import NotebookFiles
from cellwright.data.api_calls import ApiAnswer, CallApi, SendRequest, SentOutcome, call_api, send_request
from cellwright.data.api_operations import ApiDocument, BadApiDocument
from cellwright.data.broker_client import BrokerClient
from cellwright.data.catalogue import Catalogue
from cellwright.data.connection_options import API_METHODS, READ_METHODS, S3_METHODS, read_methods
from cellwright.data.connections import DataConnection, QueryLimits, connections_at, find_connection, require_way
from cellwright.data.dialects import Dialect
from cellwright.data.estimates import LET_MORE_PASS, costly_words
from cellwright.data.exchanges.requests import RefusedRequest, read_target
from cellwright.data.file_cache import FileCache
from cellwright.data.messages import (
    Asker,
    CostlyQuery,
    ListFiles,
    MakeWrite,
    QueryResult,
    ReadFile,
    ReadSchema,
    RehearsedWrite,
    RehearseWrite,
    RunQuery,
    StatFile,
    WriteOutcome,
    read_broker_request,
)
from cellwright.data.result_cache import ResultCache
from cellwright.data.sealed_memory import sealed
from cellwright.data.source_kinds import WEB_KINDS
from cellwright.data.told_secrets import secret_mark
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.framing import BadFrame
from cellwright.kernel.process.host_calls import HostService, ServiceAnswer
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy.actions import Action, QueryConnection
from cellwright.remedies import remedy
from cellwright.runs.verify.proof import ProvenQuery
from cellwright.secrets import file_stamp

MayQuery = Callable[[QueryConnection], bool]
"""Whether nobody need be asked."""
_LONGEST_ANSWER: Final = 900_000
NOT_APPROVED: Final = "is not approved for this notebook"
"""By which a repair knows what to ask for."""


@dataclass(slots=True, kw_only=True)
class NotebookConnections:
    """What a notebook's cells may ask. Made by `open_notebook_connections`."""

    client: BrokerClient
    asker: Asker
    may_query: MayQuery = lambda _: True
    cache: ResultCache | None = field(default_factory=ResultCache)
    """None: every query is asked anew."""
    queried: list[ProvenQuery] = field(default_factory=list[ProvenQuery])
    """What was asked of servers, in order, where it is kept for a proof."""
    named: tuple[str, ...] = ()
    """Connections that a person named for the work: they may be read."""
    api_documents: Mapping[str, ApiDocument | BadApiDocument] = field(default_factory=lambda: MappingProxyType({}))
    """What the named APIs say that they can be asked."""
    changeable: tuple[str, ...] = ()
    """Those of the named APIs and object stores that take requests which change something."""
    kept: Path | None = None
    """Where what was granted outlasts the process."""
    _granted: list[str] = field(default_factory=list[str])
    files: NotebookFiles = field(init=False)
    """Of the connections that have files."""
    answers: ExchangeCache | None = field(init=False)
    """Of the connections that requests are sent to; None: each is sent."""

    def __post_init__(self) -> None:
        cache = FileCache() if self.cache is not None else None
        self.answers = ExchangeCache() if self.cache is not None else None
        self.files = NotebookFiles(client=self.client, asker=self.asker, stamp=self.stamp, cache=cache)

    @property
    def services(self) -> dict[str, HostService]:
        """For a kernel's options."""
        return {"data": self.serve}

    async def grant(self, action: Action) -> None:
        """From now on the notebook's code may read this connection; other actions change nothing here."""
        if not isinstance(action, QueryConnection) or action.access != "read" or action.connection in self._granted:
            return
        self._granted.append(action.connection)
        if self.kept is not None:
            await anyio.to_thread.run_sync(_write_granted, self.kept, self._granted)

    async def restore(self) -> None:
        """Grant again what was granted before this process."""
        if self.kept is not None:
            self._granted = await anyio.to_thread.run_sync(_read_granted, self.kept)

    async def serve(self, body: bytes) -> ServiceAnswer:
        """Answer a cell. What it says is a stranger's."""
        try:
            request = read_broker_request(body)
        except BadFrame:
            raise UserError("The host does not understand this question.", hint="Use cellwright.connection.") from None
        match request:
            case RunQuery():
                return await self._query(replace(request, asker=self.asker, agreed_rows=0, agreed_bytes=0))
            case ListFiles() | StatFile() | ReadFile():
                self._check(request.connection, file_words(request))
                return await self.files.answer(request, _answer)
            case ReadSchema():
                self._check(request.connection, "")
                reply = await self.client.schema_reply(request)
                return await anyio.to_thread.run_sync(_answer, reply)
            case _:
                raise RefusedByPolicy("A cell can only read.", hint=remedy("ask_for_write"))

    async def query(self, asked: RunQuery) -> QueryResult:
        """Rows for a tool, by the same rules as for a cell. The descriptor is the caller's to close."""
        self._check(asked.connection, asked.statement)
        key = await self._key(asked)
        known = self.cache.find(key) if self.cache is not None and not asked.fresh else None
        if known is not None:
            return known
        writes = self.cache.writes if self.cache is not None else 0
        found = await self.client.query(replace(asked, asker=self.asker))
        if isinstance(found, CostlyQuery):
            raise RefusedByPolicy(costly_words(found), hint=LET_MORE_PASS)
        self.queried.append(
            ProvenQuery(
                connection=asked.connection,
                statement=asked.statement,
                sha256=found.sha256,
                rows=found.rows,
                at=found.at,
            )
        )
        if self.cache is not None:
            self.cache.keep(key, found, writes)
        return found

    async def foresee(self, asked: RunQuery) -> CostlyQuery | None:
        """What a query would take, if a person has to agree to it first; None where it may not be asked at all."""
        if not self.may_use(asked.connection, statement=asked.statement):
            return None
        if self.cache is not None and (known := self.cache.find(await self._key(asked))) is not None:
            os.close(known.descriptor)
            return None
        return await self.client.foresee(replace(asked, asker=self.asker))

    async def _query(self, asked: RunQuery) -> ServiceAnswer:
        found = await self.query(asked)
        plain: dict[str, Any] = {"kind": "result", **asdict(replace(found, descriptor=-1))}
        del plain["descriptor"]
        return ServiceAnswer(body=json.dumps(plain | {"descriptors": 1}).encode(), descriptors=(found.descriptor,))

    async def schema(self, asked: ReadSchema) -> Catalogue:
        """What a connection shows, for a tool or a prompt."""
        self._check(asked.connection, "")
        return await self.client.schema(asked)

    @property
    def documents(self) -> Mapping[str, ApiDocument]:
        """Of the named APIs, those whose document can be read."""
        return {name: each for name, each in self.api_documents.items() if isinstance(each, ApiDocument)}

    async def call(self, connection: str, target: str, *, pages: int) -> ApiAnswer:
        """What an API answers to a tool."""
        self._check(connection, f"GET {target}")
        known = await self._exchanging(connection)
        return await call_api(self.client, CallApi(connection=known, target=target, pages=pages, asker=self.asker))

    async def check_request(self, connection: str, method: str, target: str) -> None:
        """Whether the connection takes a request that changes something. Raises `UserError`."""
        known = await self._exchanging(connection)
        methods = allowed_methods(known)
        if method not in methods:
            raise UserError(
                f"{connection!r} does not take {method}: it takes {', '.join(methods)}.",
                hint=remedy("allow_method", name=connection, methods=",".join(dict.fromkeys([*methods, method]))),
            )
        if connection not in self.named:
            raise UserError(f"{connection!r} was not named for this work.", hint="A person names it for the work.")
        if isinstance(problem := read_target(target), RefusedRequest):
            raise UserError(f"It cannot be sent: {problem.why}.", hint="Write a plain path.")

    async def send(self, connection: str, method: str, target: str, body: str, content_type: str) -> SentOutcome:
        """Send a request that a person agreed to; nothing that was read there before counts any more."""
        known = await self._exchanging(connection)
        asked = SendRequest(
            connection=known,
            method=method,
            target=target,
            body=body.encode(),
            content_type=content_type,
            asker=self.asker,
        )
        self.forget(connection)
        try:
            return await send_request(self.client, asked)
        finally:
            # What was asked for while it was made may be of before, also where nobody heard what came of it.
            self.forget(connection)

    async def _exchanging(self, connection: str) -> DataConnection:
        known = await anyio.to_thread.run_sync(find_connection, self.client.launch.home, connection)
        require_way(known, "exchange")
        return known

    async def dialect(self, connection: str) -> Dialect:
        """What its statements are written in."""
        return (await anyio.to_thread.run_sync(find_connection, self.client.launch.home, connection)).dialect

    async def limits(self, connection: str) -> QueryLimits:
        """How much one result of it may be."""
        return (await anyio.to_thread.run_sync(find_connection, self.client.launch.home, connection)).limits

    async def rehearse(self, asked: RehearseWrite) -> RehearsedWrite:
        """What a write would change."""
        return await self.client.rehearse(replace(asked, asker=self.asker))

    async def write(self, asked: MakeWrite) -> WriteOutcome:
        """Make a change that a person agreed to; nothing that was read before counts any more."""
        self._forget_results()
        try:
            return await self.client.write(replace(asked, asker=self.asker))
        finally:
            self._forget_results()

    def _forget_results(self) -> None:
        if self.cache is not None:
            self.cache.clear()

    def forget(self, name: str) -> None:
        """A request may have changed something there: what was read of it is asked anew."""
        if self.answers is not None:
            self.answers.forget(name)
        if self.files.cache is not None:
            self.files.cache.clear()

    def may_use(self, name: str, *, access: Literal["read", "write"] = "read", statement: str = "") -> bool:
        """Whether nobody need be asked. What was named or granted may be read."""
        if access == "read" and name in (*self.named, *self._granted):
            return True
        return self.may_query(QueryConnection(connection=name, access=access, statement=statement))

    def _check(self, name: str, statement: str) -> None:
        if not self.may_use(name, statement=statement):
            raise RefusedByPolicy(
                f"The connection {name[:80]!r} {NOT_APPROVED}.", hint="Leave is asked for if somebody is there."
            )

    async def _key(self, asked: RunQuery) -> Hashable:
        """Another one for whatever could make the answer another."""
        settings = await self.stamp(asked.connection)
        limits = (asked.rows, asked.megabytes, asked.seconds, asked.form)
        return (asked.connection, settings, asked.statement.strip(), asked.parameters, limits)

    async def stamp(self, name: str) -> Hashable:
        """Another one whenever the connection leads elsewhere, masks more, or has another secret or file."""
        stamp, is_known = await anyio.to_thread.run_sync(_settings_stamp, self.client.launch.home, name)
        if not is_known:
            await self.client.settle_secret(name)
            stamp, _ = await anyio.to_thread.run_sync(_settings_stamp, self.client.launch.home, name)
        return stamp


def _read_granted(kept: Path) -> list[str]:
    try:
        return [str(name) for name in json.loads(kept.read_text())]
    except FileNotFoundError:
        return []


def _write_granted(kept: Path, names: list[str]) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(kept, json.dumps(names).encode())


def _settings_stamp(home: Path, name: str) -> tuple[Hashable, bool]:
    connection = connections_at(home).get(name)
    if connection is None:
        return None, True
    path = connection.options.get("path")
    mark, is_known = secret_mark(home, connection)
    return (repr(connection), mark, file_stamp(Path(path)) if path else None), is_known


def file_words(asked: ListFiles | StatFile | ReadFile) -> str:
    """What is asked of files, in one line for whoever is asked for leave."""
    verb = {"files": "LIST", "stat": "STAT", "read": "READ"}[asked.kind]
    return f"{verb} {asked.path[:500]}"


def allowed_methods(connection: DataConnection) -> tuple[str, ...]:
    """Methods that an API or an object store takes."""
    return read_methods(connection.options, S3_METHODS if connection.kind == "s3" else API_METHODS)


def _answer(reply: dict[str, Any]) -> ServiceAnswer:
    """A reply; what is more than a message may say goes in memory of its own. Blocking."""
    body = json.dumps(reply).encode()
    if len(body) <= _LONGEST_ANSWER:
        return ServiceAnswer(body=body)
    short = json.dumps({"kind": reply["kind"], "descriptors": 1}).encode()
    return ServiceAnswer(body=short, descriptors=(sealed([body]).descriptor,))


@asynccontextmanager
async def open_notebook_connections(
    client: BrokerClient,
    *,
    notebook: Path,
    project: Path,
    person: str = "",
    run: str = "",
    named: tuple[str, ...] = (),
    may_query: MayQuery = lambda _: True,
    kept: Path | None = None,
    is_cached: bool = True,
) -> AsyncGenerator[NotebookConnections]:
    """Connections for one open notebook; what is kept of results goes when it closes.

    What people grant outlasts the process in `kept`. Without a cache every query is asked anew: for a proof.
    """
    asker = Asker(person=person, run=run, notebook=str(notebook), project=str(project))
    cache = ResultCache() if is_cached else None
    connections = NotebookConnections(
        client=client, asker=asker, may_query=may_query, cache=cache, named=named, kept=kept
    )
    await connections.restore()
    known = await anyio.to_thread.run_sync(connections_at, client.launch.home) if named else {}
    of_the_work = [known[name] for name in named if name in known]
    connections.api_documents = await load_api_documents(client, of_the_work, asker)
    takes = [each.name for each in of_the_work if each.kind in WEB_KINDS and {*allowed_methods(each)} - {*READ_METHODS}]
    connections.changeable = tuple(takes)
    try:
        yield connections
    finally:
        for each in (cache, connections.files.cache, connections.answers):
            if each is not None:
                each.clear()
