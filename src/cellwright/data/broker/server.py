"""The broker at its socket: each connection is greeted, asks one thing, and is answered; one that leaves cancels it."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, assert_never

import anyio
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketListener, SocketStream, UNIXSocketStream

from cellwright.data import messages
from cellwright.data.broker.broker import Broker
from cellwright.data.broker.request_network import connecting_by
from cellwright.data.broker.secret_finder import SecretFinder
from cellwright.data.broker.worker_process import close_descriptor
from cellwright.data.catalogue import CATALOGUE_JSON
from cellwright.data.connections import find_connection
from cellwright.data.descriptor_frames import receive_frame, send_frame
from cellwright.data.estimates import expected_words
from cellwright.data.messages import BrokerRequest, failure_json
from cellwright.errors import CellwrightError, Defect, UserError
from cellwright.framing import MAX_GREETING, BadFrame, peer_uid
from cellwright.idle import IdleTimer

logger = logging.getLogger(__name__)
_GREETING_SECONDS: Final = 10
_MAX_REQUEST: Final = 4 << 20
_FILE_REPLIES: Final[Mapping[type, str]] = {
    messages.FileList: "listed",
    messages.FileEntry: "file",
    messages.FilePart: "part",
}
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


@dataclass(eq=False, kw_only=True)
class BrokerServer:
    """Speaks with every client at once."""

    broker: Broker
    secrets: SecretFinder
    idle: IdleTimer
    stopping: anyio.Event
    uid: int
    """Whose processes are heard."""

    async def serve(self, listener: socket.socket) -> None:
        """Until it is told to stop, or nobody has needed it for a while."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.broker.web.serve, started := anyio.Event())
            await started.wait()
            tasks.start_soon(self._listen, listener)
            tasks.start_soon(self.broker.workers.sweep)
            tasks.start_soon(self._heed_signals)
            await _first_of(self.idle.wait, self.stopping.wait)
            tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await self.broker.workers.close()
            await self.broker.web.close()

    async def _listen(self, listener: socket.socket) -> None:
        async with await SocketListener.from_socket(listener) as opened:
            await opened.serve(self._welcome)

    async def _heed_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self.stopping.set()

    async def _welcome(self, stream: SocketStream) -> None:
        async with stream:
            if peer_uid(stream.extra(SocketAttribute.raw_socket)) != self.uid:
                logger.warning("a process of another user was turned away")
                return
            assert isinstance(stream, UNIXSocketStream)
            with self.idle.busy():
                try:
                    await self._converse(stream)
                except (TimeoutError, *_GONE):
                    logger.debug("a client left")

    async def _converse(self, stream: UNIXSocketStream) -> None:
        try:
            with anyio.fail_after(_GREETING_SECONDS):
                hello, _ = await receive_frame(stream, MAX_GREETING)
            if hello.get("kind") != "hello" or hello.get("version") != messages.VERSION:
                raise BadFrame(f"version {hello.get('version')!r} of the protocol, but speaks {messages.VERSION}")
            await send_frame(stream, {"kind": "welcome", "version": messages.VERSION, "pid": os.getpid()})
            plain, descriptor = await receive_frame(stream, _MAX_REQUEST)
            close_descriptor(descriptor)
            network = messages.read_request_network(plain)
            request = messages.read_broker_request(_json(plain))
        except BadFrame as problem:
            logger.warning("a client sent a malformed message: %s", problem)
            error = UserError(
                f"The data broker read {problem}.", hint="Is it of the same version? Stop it, and ask again."
            )
            await send_frame(stream, failure_json(error))
            return
        with connecting_by(network):
            reply, descriptor = await self._while_connected(stream, request)
        try:
            await send_frame(stream, reply, descriptor)
        finally:
            close_descriptor(descriptor)
        if isinstance(request, messages.StopBroker):
            # Whoever said so has heard it now.
            self.stopping.set()

    async def _while_connected(self, stream: UNIXSocketStream, request: BrokerRequest) -> tuple[dict[str, Any], int]:
        """The answer; a client that leaves, or says another word, takes its request back."""
        answered: list[tuple[dict[str, Any], int]] = []
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                try:
                    await stream.receive(1)
                except _GONE:
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            answered.append(await self._answer(request))
            tasks.cancel_scope.cancel()
        if not answered:
            raise anyio.EndOfStream
        return answered[0]

    async def _answer(self, request: BrokerRequest) -> tuple[dict[str, Any], int]:
        try:
            return await self._reply(request)
        except CellwrightError as error:
            return failure_json(error), -1
        except Exception as error:
            defect = Defect(f"The data broker failed: {type(error).__name__}.")
            logger.exception("defect %s", defect.report_id)
            return failure_json(defect), -1

    async def _reply(self, request: BrokerRequest) -> tuple[dict[str, Any], int]:
        broker = self.broker
        match request:
            case messages.RunQuery():
                found = await broker.query(request)
                if isinstance(found, messages.CostlyQuery):
                    # In words, too: cells have none of ours.
                    return _plain("costly", found) | {"expected": expected_words(found)}, -1
                reply = _plain("result", found)
                del reply["descriptor"]
                return reply, found.descriptor
            case messages.ForeseeQuery(query=query):
                costly = await broker.foresee(query)
                return ({"kind": "unasked"} if costly is None else _plain("costly", costly)), -1
            case messages.ReadSchema():
                connection, catalogue = await broker.schema(request)
                shown: dict[str, Any] = CATALOGUE_JSON.dump_python(catalogue, mode="json")
                return {"kind": "schema", "dialect": connection.dialect, **shown}, -1
            case messages.TryConnection():
                return _plain("tried", await broker.try_connection(request)), -1
            case messages.RehearseWrite():
                return _plain("rehearsed", await broker.rehearse(request)), -1
            case messages.MakeWrite():
                return _plain("written", await broker.write(request)), -1
            case messages.OpenExchange():
                return {"kind": "line"}, await broker.exchange(request)
            case messages.ListFiles() | messages.StatFile() | messages.ReadFile():
                found = await broker.file_words(request)
                reply = _plain(_FILE_REPLIES[type(found)], found)
                return reply, reply.pop("descriptor", -1)
            case messages.ListStatements():
                lines = [_plain("", line) for line in await broker.statements(request)]
                return {"kind": "statements", "statements": lines}, -1
            case messages.GiveSecrets(secrets=secrets, forget=forget):
                await anyio.to_thread.run_sync(self.secrets.forget, forget)
                await anyio.to_thread.run_sync(self.secrets.take, secrets)
                for name in (*secrets, *forget):
                    await broker.workers.forget(name)
                    await broker.web.forget(name)
                return {"kind": "done"}, -1
            case messages.SettleSecret(connection=name):
                connection = await anyio.to_thread.run_sync(find_connection, broker.home, name)
                await anyio.to_thread.run_sync(self.secrets.find, connection)
                return {"kind": "done"}, -1
            case messages.StopBroker():
                return {"kind": "done"}, -1
            case _:
                assert_never(request)


async def _first_of(*waits: Callable[[], Any]) -> None:
    async with anyio.create_task_group() as tasks:

        async def until(wait: Callable[[], Any]) -> None:
            await wait()
            tasks.cancel_scope.cancel()

        for wait in waits:
            tasks.start_soon(until, wait)


def _plain(kind: str, value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {name: _listed(item) for name, item in asdict(value).items()}
    return {"kind": kind} | plain if kind else plain


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _json(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain).encode()
