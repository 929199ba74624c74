"""A provider of models on this machine: real HTTP, scripted answers, faults on demand, its own accounts."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Self

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketStream

from cellwright.testing.accounting import Charge, Counter, Received
from cellwright.testing.answers import Answer
from cellwright.testing.http_connection import ClientGone, HttpConnection
from cellwright.testing.responder import Responder
from cellwright.testing.scripts import Predicate, ScriptFile
from cellwright.testing.wire.formats import BASE_PATHS, WireKind


class ProviderServer:
    """One server that speaks every provider's wire format on loopback.

    Clients of any thread or process may ask it; `script`, `when`, `release` and the accounts may be used from any
    thread too.
    """

    def __init__(self, *, address: str, responder: Responder, counter: Counter) -> None:
        self.address = address
        """Where it listens, such as `http://127.0.0.1:40123`."""
        self._responder = responder
        self._counter = counter
        self._thread = threading.get_ident()
        self._loop = anyio.lowlevel.current_token()

    @classmethod
    @asynccontextmanager
    async def open(cls, *, port: int = 0, honours_idempotency_keys: bool = False) -> AsyncGenerator[Self]:
        """Serve until the block is left; port 0 takes a free one.

        With `honours_idempotency_keys` a request that repeats an `Idempotency-Key` gets the first one's answer and is
        not charged again.
        """
        counter = Counter()
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener,
            anyio.create_task_group() as clients,
        ):
            responder = Responder(counter=counter, work=clients, honours_idempotency_keys=honours_idempotency_keys)
            host, own_port = listener.extra(SocketAttribute.local_address)
            server = cls(address=f"http://{host}:{own_port}", responder=responder, counter=counter)
            clients.start_soon(listener.serve, server._attend, clients)
            yield server
            clients.cancel_scope.cancel()

    @classmethod
    @contextmanager
    def running(cls, *, port: int = 0, honours_idempotency_keys: bool = False) -> Generator[Self]:
        """The same from code without an event loop: serves from a thread of its own."""
        with (
            anyio.from_thread.start_blocking_portal() as portal,
            portal.wrap_async_context_manager(
                cls.open(port=port, honours_idempotency_keys=honours_idempotency_keys)
            ) as server,
        ):
            yield server

    def base_url(self, kind: WireKind) -> str:
        """What to give a provider's SDK as its base URL."""
        return self.address + BASE_PATHS[kind]

    def script(self, *answers: Answer) -> None:
        """Answer the next requests so, one each in this order, after what is scripted already.

        A request that finds nothing scripted is answered with its own last words.
        """
        self._responder.script.add(*answers)

    def when(self, predicate: Predicate, *answers: Answer, for_ever: bool = False) -> None:
        """Answer requests like these so, before anything scripted in line; `for_ever` goes round and round."""
        self._responder.script.add_rule(predicate, *answers, for_ever=for_ever)

    def always(self, *answers: Answer) -> None:
        """Answer so whatever finds nothing scripted in line, round and round."""
        self.script_file(ScriptFile(always=answers))

    def script_file(self, script: ScriptFile) -> None:
        """Answer as a script read with `read_script` says."""
        self._responder.script.add_file(script)

    @property
    def unasked(self) -> int:
        """How many scripted answers no request has taken."""
        return self._responder.script.left

    @property
    def requests(self) -> tuple[Received, ...]:
        """Every request for an answer, in the order they came; refused ones too."""
        return tuple(self._counter.requests)

    @property
    def charged(self) -> tuple[Charge, ...]:
        """What was charged, in the order it was begun. Refused requests cost nothing and are not here."""
        return self._counter.charged

    def forget(self) -> None:
        """Forget every request, charge and scripted answer, as if it were fresh; for one server for many tests."""
        self._responder.script.forget()
        self._counter.forget()

    @property
    def silent(self) -> int:
        """How many answers wait to be released now."""
        return self._responder.barrier.waiting

    def release(self) -> None:
        """Let every answer that is silent now (`slow-first-byte`, `stall`) go on."""
        if threading.get_ident() == self._thread:
            self._responder.barrier.open()
        else:
            anyio.from_thread.run_sync(self._responder.barrier.open, token=self._loop)

    def wait_until(self, predicate: Callable[[Self], bool], *, timeout_seconds: float = 60) -> None:
        """Block until it holds. Not for the thread that serves: there use `until`. Raises `TimeoutError`."""
        self._counter.wait_until(lambda: predicate(self), timeout_seconds=timeout_seconds)

    async def until(self, predicate: Callable[[Self], bool], *, timeout_seconds: float = 60) -> None:
        """Wait until it holds, such as `lambda server: len(server.requests) == 2`. Raises `TimeoutError`."""
        await anyio.to_thread.run_sync(
            lambda: self.wait_until(predicate, timeout_seconds=timeout_seconds), abandon_on_cancel=True
        )

    async def _attend(self, stream: SocketStream) -> None:
        async with stream:
            connection = HttpConnection(stream)
            try:
                while (request := await connection.next_request()) is not None:
                    await self._responder.answer(request, connection)
            except ClientGone:
                return
