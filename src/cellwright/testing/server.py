"""A provider of models on this machine: real HTTP, scripted answers, faults on demand, its own accounts.

The responder takes one request and sees it answered, charged and written down. Besides completions there are lists of
models, embeddings, and the server's own requests under `/_`.
"""

from __future__ import annotations

import base64
import hashlib
import math
import secrets
import struct
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, Self, cast
from urllib.parse import parse_qs

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketStream, TaskGroup

from cellwright.errors import UserError
from cellwright.testing.accounting import Charge, Counter, OpenCharge, Received
from cellwright.testing.answers import Answer, Fault, Spoken
from cellwright.testing.background import Background
from cellwright.testing.http_connection import ClientGone, HttpConnection, HttpRequest
from cellwright.testing.playback import Playback, SilenceBarrier, play, reply_for
from cellwright.testing.scripts import Predicate, Script, ScriptFile, read_script
from cellwright.testing.wire.formats import BASE_PATHS, WIRES, WireKind, kind_of
from cellwright.testing.wire.openai_chat import error_body
from cellwright.testing.wire.reply import REFUSALS, Json, Refusal, Reply, Wire, dump

MODELS = ("small", "large")
"""What every list of models names."""


def answer_side_request(request: HttpRequest) -> tuple[int, Json]:
    """Status and body for a request that asks for no answer of a model."""
    body = request.json() or {}
    match request.method, request.path:
        case "GET", ("/openai/v1/models" | "/ollama/v1/models" | "/groq/openai/v1/models" | "/mistral/v1/models"):
            alike = {"object": "model", "created": 1_700_000_000, "owned_by": "cellwright"}
            return 200, {"object": "list", "data": [{"id": name} | alike for name in MODELS]}
        case "GET", "/anthropic/v1/models":
            alike = {"type": "model", "created_at": "2025-01-01T00:00:00Z"}
            models = [alike | {"id": name, "display_name": name} for name in MODELS]
            return 200, {"data": models, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
        case "GET", "/google/v1beta/models":
            return 200, {"models": [{"name": f"models/{name}", "displayName": name} for name in MODELS]}
        case "POST", ("/openai/v1/embeddings" | "/ollama/v1/embeddings" | "/mistral/v1/embeddings"):
            return 200, _embeddings(body)
        case "POST", path if path.endswith(":batchEmbedContents"):
            texts = ["".join(part["text"] for part in each["content"]["parts"]) for each in body["requests"]]
            return 200, {"embeddings": [{"values": vector(text, 8)} for text in texts]}
        case method, path:
            return 404, error_body(f"Unknown request: {method} {path}", code="unknown_url")


def vector(text: str, dimensions: int) -> list[float]:
    """The embedding of a text: always the same, between -1 and 1."""
    digests = [hashlib.sha256(f"{index}:{text}".encode()).digest() for index in range(dimensions)]
    numbers = [int.from_bytes(digest[:4], "big") / 2**31 - 1 for digest in digests]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _embeddings(body: Json) -> Json:
    given: Any = body.get("input")
    texts = given if isinstance(given, list) else [given]
    vectors = [vector(str(text), int(body.get("dimensions") or 8)) for text in texts]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode() for numbers in vectors]
    used = sum(len(str(text)) // 4 + 1 for text in texts)
    return {
        "id": "embd-cellwright",
        "object": "list",
        "model": body.get("model"),
        "data": [
            {"object": "embedding", "index": index, "embedding": numbers} for index, numbers in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": used, "total_tokens": used, "completion_tokens": 0},
    }


_LONGEST_WAIT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Answers requests about the server itself."""

    script: Script
    barrier: SilenceBarrier
    counter: Counter

    def owns(self, path: str) -> bool:
        """Whether a path is about the server itself."""
        return path.startswith("/_")

    async def answer(self, request: HttpRequest) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        match request.method, request.path:
            case "GET", "/_charges":
                return 200, {"charges": [asdict(charge) for charge in self.counter.charged]}
            case "GET", "/_requests":
                return 200, {"requests": [asdict(received) for received in self.counter.requests]}
            case "GET", "/_wait":
                return await self._wait(parse_qs(request.query))
            case "POST", "/_script":
                try:
                    self.script.add_file(read_script(request.body))
                except UserError as error:
                    return 400, {"error": str(error)}
                return 200, {}
            case "POST", "/_release":
                self.barrier.open()
                return 200, {}
            case method, path:
                return 404, {"error": f"Unknown request: {method} {path}"}

    async def _wait(self, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Until so many requests came in, charges were begun, and charges were finished."""
        requests, charges, finished = (int(query.get(name, ["0"])[0]) for name in ("requests", "charges", "finished"))
        seconds = min(float(query.get("seconds", ["10"])[0]), _LONGEST_WAIT_SECONDS)

        def holds() -> bool:
            charged = self.counter.charged
            return (
                len(self.counter.requests) >= requests
                and len(charged) >= charges
                and sum(charge.is_finished for charge in charged) >= finished
            )

        wait = partial(self.counter.wait_until, holds, timeout_seconds=seconds)
        try:
            await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)
        except TimeoutError as error:
            return 408, {"error": str(error)}
        return 200, {}


class Responder:
    """Where requests are answered."""

    def __init__(self, *, counter: Counter, work: TaskGroup, honours_idempotency_keys: bool) -> None:
        self.script = Script()
        self.barrier = SilenceBarrier(on_change=counter.notify)
        self._counter = counter
        self._background = Background(work=work, barrier=self.barrier, counter=counter)
        self._control = Control(script=self.script, barrier=self.barrier, counter=counter)
        self._remembered: dict[str, tuple[Spoken, Reply, OpenCharge]] | None = {} if honours_idempotency_keys else None
        """What was answered to requests with an idempotency key."""

    async def answer(self, request: HttpRequest, connection: HttpConnection) -> None:
        """One request, whatever it is for."""
        kind = kind_of(request.path) if request.method == "POST" else None
        if kind is not None:
            return await self._answer_model(kind, request, connection)
        if self._background.owns(request.path):
            return await self._background.answer(request, connection)
        is_ours = self._control.owns(request.path)
        status, body = await self._control.answer(request) if is_ours else answer_side_request(request)
        await connection.respond(status, dump(body))

    async def _answer_model(self, kind: WireKind, request: HttpRequest, connection: HttpConnection) -> None:
        wire, body = WIRES[kind], request.json()
        try:
            asked = wire.asked(request.path, body or {})
        except (AttributeError, KeyError, TypeError):
            # A shape the provider would not read either.
            asked = None
        if body is None or asked is None:
            return await _refuse(Fault("bad-request"), "", wire, connection, {})
        came = {"path": request.path, "body": body, "headers": dict(request.headers)}
        received = Received(**asdict(asked), **came, id=secrets.token_hex(12), kind=kind)
        headers = {"x-request-id": f"req_{received.id}", "request-id": f"req_{received.id}"}
        self._counter.receive(received)
        playback = Playback(connection=connection, wire=wire, asked=received, headers=headers, barrier=self.barrier)
        await self._play(playback)

    async def _play(self, playback: Playback) -> None:
        asked = playback.asked
        key = asked.idempotency_key
        if self._remembered is not None and key in self._remembered:
            spoken, reply, account = self._remembered[key]
            return await self._finish(spoken, reply, playback, account)
        answer = self.script.next_for(asked)
        if isinstance(answer, Fault) and answer.kind in REFUSALS:
            return await _refuse(answer, asked.model, playback.wire, playback.connection, playback.headers)
        reply = reply_for(answer, asked, id=asked.id, created=int(time.time()))
        account = self._counter.open_account(asked, reply.tokens)
        if self._remembered is not None and key is not None:
            spoken = answer.answer if isinstance(answer, Fault) else answer
            self._remembered[key] = spoken, reply, account
        if asked.is_background:
            return await self._background.begin(answer, reply, playback, account)
        await self._finish(answer, reply, playback, account)

    async def _finish(self, answer: Answer, reply: Reply, playback: Playback, account: OpenCharge) -> None:
        try:
            await play(answer, reply, playback, account)
        except ClientGone:
            account.lose()
            raise
        finally:
            self._counter.notify()


async def _refuse(fault: Fault, model: str, wire: Wire, connection: HttpConnection, headers: dict[str, str]) -> None:
    status, body = wire.refusal(cast("Refusal", fault.kind), model, fault.message, fault.retry_after_seconds)
    if fault.retry_after_seconds is not None:
        seconds = fault.retry_after_seconds
        headers = headers | {"retry-after": str(math.ceil(seconds)), "retry-after-ms": str(int(seconds * 1000))}
    await connection.respond(fault.status or status, dump(body), headers)


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
