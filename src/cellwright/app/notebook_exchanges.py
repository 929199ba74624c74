"""Exchanges of one notebook: requests of its cells to object stores and APIs, completed by the broker.

Here is decided which connection a request belongs to and whether this notebook may use it; what the connection itself
allows is for the broker's worker to say. No secret passes through here, and answers only as cells get them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import anyio.to_thread

from cellwright.app.exchange_cache import AnswerRecording
from cellwright.app.notebook_connections import NOT_APPROVED, NotebookConnections
from cellwright.data.connection_options import DEFAULT_REGION, READ_METHODS, WebAddress, read_address, read_buckets
from cellwright.data.connections import DataConnection, connections_at
from cellwright.data.messages import OpenExchange
from cellwright.data.source_kinds import WEB_KINDS
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.runs.verify.proof import ProvenExchange
from cellwright.sandbox.egress import (
    AnswerDigest,
    AnswerHead,
    AnswerListener,
    CageAuthority,
    Completed,
    CompletedAnswer,
    Denied,
    Egress,
    EgressCaps,
    ExchangeLine,
    KeptAnswer,
    WantedExchange,
)
from cellwright.sandbox.egress.completed_requests import OWN_PORT
from cellwright.sandbox.egress.destinations import Target
from cellwright.sandbox.spec import Tier
from cellwright.secrets import file_stamp

BY_BUCKET: Final = "by-bucket"
"""The access key that stands for whichever connection has the bucket; no connection can be called so."""
_STAND_IN: Final = re.compile(r"cellwright-secret:([a-z][a-z0-9_]{0,39})")
_CAPS: Final = EgressCaps(requests=1_000_000, bytes_in=64 << 30, bytes_in_per_host=64 << 30)
"""Data is read here, and the broker bounds each request: more than a notebook may have of hosts of others."""
_READS: Final = frozenset({*READ_METHODS, "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _UsableConnections:
    """As they are named now."""

    all: tuple[DataConnection, ...] = ()
    named: object = ""
    """Another one whenever something was named."""


@dataclass(slots=True, kw_only=True)
class NotebookExchanges:
    """What a notebook's requests may be completed with. Made by `open_notebook_exchanges`."""

    connections: NotebookConnections
    project: Path
    is_proof: bool = False
    """Every answer is kept as what a proof rests on, and nothing is changed anywhere."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """What object libraries in the cage find in their environment."""
    most_named: int = 10_000
    """So many answers a proof names."""
    exchanged: dict[ProvenExchange, ProvenExchange] = field(default_factory=dict[ProvenExchange, ProvenExchange])
    """What a proof rests on: each answer once, as it came first, under what it is without its time."""
    unnamed: int = 0
    """Answers that came beyond those."""
    _known: _UsableConnections = field(default_factory=_UsableConnections)

    def egress_options(self) -> dict[str, Any]:
        """For an `Egress` of this notebook. Blocking: where there are APIs, it makes an authority for the cage."""
        hosts = {_address(each).host for each in self._known.all if each.kind == "api"}
        return {
            "completed": self.find,
            "objects": self.open_object,
            "authority": CageAuthority(hosts) if hosts else None,
            "variables": self.variables,
        }

    async def find(self, target: Target) -> Completed | Denied | None:
        """Whether requests there are completed: where one of the connections that lead there may be used."""
        there = [each for each in await self._usable() if each.kind == "api" and _leads_to(each, target)]
        if not there:
            return None
        if not any(self.connections.may_use(each.name) for each in there):
            return Denied(why=f"the connection {there[0].name!r} {NOT_APPROVED}, and leads to host {target.host!r}")
        return Completed(open=partial(self._open_api, there))

    async def open_object(self, wanted: WantedExchange) -> ExchangeLine | KeptAnswer:
        """A line for a request to an object store, which names its connection as its access key."""
        stores = [each for each in await self._usable() if each.kind == "s3"]
        names = ", ".join(each.name for each in stores) or "none"
        if wanted.key_id == BY_BUCKET:
            bucket = unquote(wanted.path.partition("?")[0]).removeprefix("/").partition("/")[0]
            stores = [each for each in stores if any(bucket == one.bucket for one in read_buckets(_buckets(each)))]
            stores = [each for each in stores if self.connections.may_use(each.name)] or stores
            if len(stores) != 1:
                raise UserError(
                    f"{'No' if not stores else 'More than one'} connection has the bucket {bucket[:80]!r}. "
                    f"Give a connection's name as the access key id; there is {names}."
                )
            return await self._open(stores[0], wanted)
        found = next((each for each in stores if each.name == wanted.key_id), None)
        if found is None:
            raise UserError(
                f"No object store is called {wanted.key_id[:80]!r}: the access key id is a connection's name. "
                f"There is {names}."
            )
        return await self._open(found, wanted)

    async def _open_api(self, there: list[DataConnection], wanted: WantedExchange) -> ExchangeLine | KeptAnswer:
        named = _stand_ins(wanted.headers)
        names = ", ".join(each.name for each in there)
        if foreign := named - {each.name for each in there}:
            raise RefusedByPolicy(
                f"The secret of {min(foreign)!r} is not sent to host {wanted.target.host!r}; "
                f"the connection that leads there is {names}."
            )
        unnamed = [each for each in there if self.connections.may_use(each.name)] or there
        chosen = [each for each in there if each.name in named] if named else unnamed
        if len(chosen) != 1:
            raise UserError(
                f"Several connections lead to host {wanted.target.host!r}: {names}. "
                "Name one of them as cellwright-secret:NAME where the secret belongs."
            )
        return await self._open(chosen[0], wanted)

    async def _open(self, connection: DataConnection, wanted: WantedExchange) -> ExchangeLine | KeptAnswer:
        self._check(connection.name, wanted)
        listener = await self._listener(connection, wanted)
        if isinstance(listener, KeptAnswer):
            return listener
        asked = OpenExchange(connection=connection.name, asker=self.connections.asker)
        return ExchangeLine(
            socket=await self.connections.client.exchange(asked),
            name=f"the connection {connection.name!r}",
            headers=listener.headers if isinstance(listener, AnswerRecording) else (),
            listener=listener,
        )

    async def _listener(self, connection: DataConnection, wanted: WantedExchange) -> AnswerListener | KeptAnswer | None:
        """Who hears the answer; or the answer, where it is known."""
        if self.is_proof:
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            return AnswerDigest(partial(self._keep, connection.name, wanted, at))
        if wanted.method not in _READS:
            return _WriteListener(self.connections, connection.name)
        if (answers := self.connections.answers) is None:
            return None
        return answers.ask(connection.name, await self.connections.stamp(connection.name), wanted)

    def _check(self, name: str, wanted: WantedExchange) -> None:
        statement = f"{wanted.method} {wanted.path.partition('?')[0]}"
        is_read = wanted.method in _READS
        if self.is_proof and not is_read:
            raise RefusedByPolicy(f"A proof changes nothing: {statement[:200]!r} is not sent to {name!r}.")
        if self.connections.may_use(name, access="read" if is_read else "write", statement=statement):
            return
        if is_read or not self.connections.may_use(name):
            raise RefusedByPolicy(f"The connection {name!r} {NOT_APPROVED}.")
        raise RefusedByPolicy(
            f"This notebook may only read the connection {name!r}: {statement[:200]!r} would change something. "
            "Agents change it with the tool `send`, which asks a person; a person lets cells do it by a rule of theirs."
        )

    def _keep(self, name: str, wanted: WantedExchange, at: str, answer: CompletedAnswer) -> None:
        found = ProvenExchange(
            connection=name,
            method=wanted.method,
            path=wanted.path,
            range=dict(wanted.headers).get("range", ""),
            status=answer.status,
            sha256=answer.sha256,
            bytes=answer.bytes,
            at="",
        )
        if found in self.exchanged or len(self.exchanged) < self.most_named:
            self.exchanged.setdefault(found, replace(found, at=at))
        else:
            self.unnamed += 1

    async def _usable(self) -> list[DataConnection]:
        """Connections for exchanges that notebooks of this folder may use, as they are named now."""
        self._known = await anyio.to_thread.run_sync(
            _read_usable, self.connections.client.launch.home, self.project, self._known
        )
        return list(self._known.all)


class _WriteListener(AnswerListener):
    """Nothing that was read of a connection counts any more: when a change is sent, and when it was made."""

    def __init__(self, connections: NotebookConnections, name: str) -> None:
        self._forget = partial(connections.forget, name)
        self._forget()

    def begin(self, head: AnswerHead) -> None:
        """Its head."""

    def take(self, data: bytes) -> None:
        """The next piece of its body."""

    def end(self, *, is_whole: bool) -> None:
        """It has passed, or was broken off."""
        del is_whole
        self._forget()


async def open_notebook_exchanges(
    connections: NotebookConnections, *, project: Path, is_proof: bool = False
) -> NotebookExchanges | None:
    """Exchanges for a notebook; None where no connection takes any."""
    exchanges = NotebookExchanges(connections=connections, project=project, is_proof=is_proof)
    usable = await exchanges._usable()
    if not usable:
        return None
    stores = [each for each in usable if each.kind == "s3"]
    exchanges.variables = object_variables([each for each in stores if connections.may_use(each.name)] or stores)
    return exchanges


async def exchange_egress(exchanges: NotebookExchanges) -> Egress:
    """A way out that leads to these connections and nowhere else."""
    return await anyio.to_thread.run_sync(lambda: Egress(caps=_CAPS, **exchanges.egress_options()))


def no_exchanges_text(tier: Tier) -> str:
    """Why cells send no requests on this tier, and what they do instead."""
    return (
        f"no requests to object stores and APIs from cells on tier {tier}: it has no network of its own. "
        'cellwright.files("NAME") reads files and objects of a connection without one'
    )


def object_variables(stores: Iterable[DataConnection]) -> dict[str, str]:
    """By which object libraries find the proxy, and say which connection they mean; nothing where there is no store."""
    known = list(stores)
    if not known:
        return {}
    regions = {each.options.get("region", DEFAULT_REGION) for each in known}
    region = regions.pop() if len(regions) == 1 else DEFAULT_REGION
    return {
        "AWS_ENDPOINT_URL": f"http://{OWN_PORT.host}:{OWN_PORT.port}",
        "AWS_ACCESS_KEY_ID": known[0].name if len(known) == 1 else BY_BUCKET,
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ALLOW_HTTP": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _read_usable(home: Path, project: Path, known: _UsableConnections) -> _UsableConnections:
    if (named := file_stamp(home / "connections.toml")) == known.named:
        return known
    found = connections_at(home).values()
    usable = tuple(each for each in found if each.kind in WEB_KINDS and each.may_be_used_in(project))
    return _UsableConnections(all=usable, named=named)


def _leads_to(connection: DataConnection, target: Target) -> bool:
    address = _address(connection)
    return (address.host, address.port) == (target.host, target.port)


def _address(connection: DataConnection) -> WebAddress:
    return read_address(connection.options["url"], tls=connection.options.get("tls", ""))


def _buckets(connection: DataConnection) -> str:
    return connection.options["buckets"]


def _stand_ins(headers: Iterable[tuple[str, str]]) -> set[str]:
    """Connections whose secret a request wants in its place."""
    texts = [text for _, value in headers for text in (value, _basic(value))]
    return {name for text in texts for name in _STAND_IN.findall(text)}


def _basic(value: str) -> str:
    """What user and password are in HTTP's own scheme; empty if it is another."""
    scheme, _, code = value.partition(" ")
    try:
        return base64.b64decode(code).decode("latin-1") if scheme.lower() == "basic" else ""
    except (binascii.Error, ValueError):
        return ""
