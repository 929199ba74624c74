"""The broker, as everything but itself sees it: one question, one answer, and rows as sealed memory."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import UNIXSocketStream
from pydantic import TypeAdapter, ValidationError

from cellwright.data.broker_process import BrokerLaunch, connect_broker, connect_or_start_broker
from cellwright.data.catalogue import CATALOGUE_JSON, Catalogue
from cellwright.data.descriptor_frames import receive_frame, send_frame
from cellwright.data.dialects import MAX_CHARACTERS
from cellwright.data.messages import (
    MAX_STATEMENT,
    BrokerRequest,
    CostlyQuery,
    FileEntry,
    FileList,
    FilePart,
    ForeseeQuery,
    GiveSecrets,
    ListFiles,
    ListStatements,
    MakeWrite,
    OpenExchange,
    QueryResult,
    ReadFile,
    ReadSchema,
    RehearsedWrite,
    RehearseWrite,
    RunQuery,
    SentStatement,
    SettleSecret,
    StatFile,
    StopBroker,
    TriedConnection,
    TryConnection,
    WriteOutcome,
    broker_request_json,
    failure_of,
)
from cellwright.errors import Unavailable, UserError
from cellwright.framing import BadFrame

_RESULT: Final = TypeAdapter(QueryResult)
_COSTLY: Final = TypeAdapter(CostlyQuery)
_TRIED: Final = TypeAdapter(TriedConnection)
_REHEARSED: Final = TypeAdapter(RehearsedWrite)
_WRITTEN: Final = TypeAdapter(WriteOutcome)
_LISTED: Final = TypeAdapter(FileList)
_ENTRY: Final = TypeAdapter(FileEntry)
_PART: Final = TypeAdapter(FilePart)
_STATEMENTS: Final = TypeAdapter(list[SentStatement])


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerClient:
    """The way to every connection. Each question has a connection of its own; leaving one cancels it at the server."""

    launch: BrokerLaunch

    async def query(self, asked: RunQuery) -> QueryResult | CostlyQuery:
        """Rows. Raises what the broker raised; the descriptor of a result is the caller's to close."""
        reply, descriptor = await self._ask(asked)
        if reply["kind"] == "costly":
            return _COSTLY.validate_python(_fields(reply))
        return _RESULT.validate_python(_fields(reply) | {"descriptor": descriptor})

    async def foresee(self, asked: RunQuery) -> CostlyQuery | None:
        """What a query would take, if a person has to agree to it first; it is not sent. Raises as `query` does."""
        reply, _ = await self._ask(ForeseeQuery(query=asked))
        return _COSTLY.validate_python(_fields(reply)) if reply["kind"] == "costly" else None

    async def schema(self, asked: ReadSchema) -> Catalogue:
        """What a connection shows."""
        reply, _ = await self._ask(asked)
        return CATALOGUE_JSON.validate_python(
            {name: value for name, value in _fields(reply).items() if name != "dialect"}
        )

    async def schema_reply(self, asked: ReadSchema) -> dict[str, Any]:
        """The same in the words of the reply: for a notebook's cells."""
        return (await self._ask(asked))[0]

    async def try_connection(self, name: str) -> TriedConnection:
        """Open it anew."""
        return _TRIED.validate_python(_fields((await self._ask(TryConnection(connection=name)))[0]))

    async def rehearse(self, asked: RehearseWrite) -> RehearsedWrite:
        """What a write would change."""
        return _REHEARSED.validate_python(_fields((await self._ask(asked))[0]))

    async def write(self, asked: MakeWrite) -> WriteOutcome:
        """Make a change that a person agreed to; asked again under the same id, what came of it."""
        return _WRITTEN.validate_python(_fields((await self._ask(asked))[0]))

    async def files(self, asked: ListFiles) -> FileList:
        """What is in a folder."""
        return _LISTED.validate_python(_fields((await self._ask(asked))[0]))

    async def stat(self, asked: StatFile) -> FileEntry:
        """A file or folder."""
        return _ENTRY.validate_python(_fields((await self._ask(asked))[0]))

    async def read(self, asked: ReadFile) -> FilePart:
        """Bytes of a file; the descriptor is the caller's to close."""
        reply, descriptor = await self._ask(asked)
        return _PART.validate_python(_fields(reply) | {"descriptor": descriptor})

    async def exchange(self, asked: OpenExchange) -> socket.socket:
        """A line on which one HTTP/1.1 exchange is spoken; closing it cancels that. The caller closes it.

        The request has an origin-form target and says `Connection: close`. What is refused is answered with 403.
        """
        _, descriptor = await self._ask(asked)
        if descriptor < 0:
            raise Unavailable("The data broker answered what makes no sense.", hint="Stop it, and ask again.")
        return socket.socket(fileno=descriptor)

    async def statements(self, asked: ListStatements) -> Sequence[SentStatement]:
        """What was sent, the latest first."""
        return _STATEMENTS.validate_python((await self._ask(asked))[0]["statements"])

    async def secrets_changed(self, name: str) -> None:
        """Let a running broker read this connection's secret anew; one that does not run will."""
        await self._ask(GiveSecrets(forget=(name,)), only_running=True)

    async def settle_secret(self, name: str) -> None:
        """Let the broker find this connection's secret: then `secret_mark` is that of the secret in use."""
        await self._ask(SettleSecret(connection=name))

    async def stop(self) -> bool:
        """End it; whether one ran."""
        return (await self._ask(StopBroker(), only_running=True))[0]["kind"] == "done"

    async def _ask(self, request: BrokerRequest, *, only_running: bool = False) -> tuple[dict[str, Any], int]:
        _check_length(request)
        connect = partial(connect_broker, self.launch.home) if only_running else self._connect
        connection = await anyio.to_thread.run_sync(connect)
        if connection is None:
            return {"kind": "absent"}, -1
        connection.setblocking(False)
        async with await UNIXSocketStream.from_socket(connection) as stream:
            try:
                await send_frame(stream, broker_request_json(request, self.launch.network))
                reply, descriptor = await receive_frame(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                raise Unavailable("The data broker ended before it answered.", hint="Try again.") from None
            except (BadFrame, ValidationError):
                raise Unavailable(
                    "The data broker answered what makes no sense.", hint="Stop it, and ask again."
                ) from None
        if (error := failure_of(reply)) is not None:
            raise error
        return reply, descriptor

    def _connect(self) -> socket.socket:
        return connect_or_start_broker(self.launch)


def _check_length(request: BrokerRequest) -> None:
    """What no frame takes is not sent: the broker would hang up in its middle."""
    if isinstance(request, RunQuery | RehearseWrite | MakeWrite) and len(request.statement) > MAX_STATEMENT:
        raise UserError(
            f"A statement has at most {MAX_CHARACTERS:,} characters; this one has {len(request.statement):,}.",
            hint="Ask for less at once; many values are better joined in the notebook.",
        )


def _fields(reply: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reply.items() if name not in {"kind", "descriptors"}}
