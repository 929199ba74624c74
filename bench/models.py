"""Models through the gateway, against the bare `openai` SDK and against litellm, at one server on loopback.

What the gateway adds has a bar, for a person waits for it; how it compares with clients that record nothing is told.

Ours is a caller (the bench itself) and a real gateway: every call is routed, recorded before it is sent and after it is
answered, counted and priced. The peers do none of that. CPU is that of all processes of a side, the server's never.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import anyio
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelRequest, PartDeltaEvent, PartStartEvent, UserPromptPart

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.memory import proportional_mb
from bench.peer import Peer
from bench.rows import Finding, Samples, compare, no_more_than, told
from bench.stage import Stage
from cellwright.models.calls import Choice, ModelAnswer, ModelCall, Outcome, Piece, Request, Update
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.names import CallId, ModelName
from cellwright.testing import ProviderProcess, Say, Tokens

_KEY: Final = "sk-bench-0123456789abcdef"
_QUESTION: Final = "How many rows has the table?"
_SHORT: Final = "The table has forty-two rows."
_TOKENS: Final = 256
_PACE_SECONDS: Final = 0.002
_SPOKEN_SECONDS: Final = 0.01
"""Between two tokens of a brisk model."""
_STREAMS: Final = 200
_TOKENS_EACH: Final = 20
_WAIT_SECONDS: Final = 120
_SDK: Final = "openai SDK"
_LITELLM: Final = "litellm"

_CONFIGURATION: Final = """
[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "required"
local = false
[models."near:one"]
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Took:
    """What one measured thing took."""

    ms: float
    cpu_ms: float
    pieces: int
    tokens: int


async def call(stage: Stage) -> list[Finding]:
    """One short answer, not streamed, on connections that are open already."""
    async with _sides(stage, Say(_SHORT)) as sides:

        def side(one: Callable[[], Awaitable[_Took]]) -> Callable[[], Awaitable[float]]:
            async def measure() -> float:
                return _checked(await one(), pieces=len(_SHORT.split()), tokens=15).ms

            return measure

        own, sdk, litellm = await interleave(
            [side(sides.ours.call), side(sides.sdk("call")), side(sides.litellm("call"))],
            rounds=stage.rounds(20, quick=4),
            burst=10,
            warm_ups=20,
        )
    name = "one call to a model"
    return [
        compare(name, ours=own, peer=sdk, peer_name=_SDK, unit="ms", bar=told("at most")),
        compare(name, ours=own, peer=litellm, peer_name=_LITELLM, unit="ms", bar=told("at most")),
    ]


async def token(stage: Stage) -> list[Finding]:
    """CPU of one streamed token: flat out, and as a model speaks, one after the other with pauses."""
    flat_out = await _token(stage, f"CPU per streamed token, {_TOKENS} at once", chunk_seconds=0)
    paced = await _token(stage, f"CPU per streamed token, one every {_PACE_SECONDS * 1e3:g} ms", _PACE_SECONDS)
    return [*flat_out, *paced]


async def _token(stage: Stage, name: str, chunk_seconds: float) -> list[Finding]:
    words, used = " ".join(f"w{number}" for number in range(_TOKENS)), Tokens(input_tokens=10, output_tokens=_TOKENS)
    async with _sides(stage, Say(words, chunk_seconds=chunk_seconds, tokens=used)) as sides:

        def side(one: Callable[[], Awaitable[_Took]]) -> Callable[[], Awaitable[float]]:
            async def measure() -> float:
                return _checked(await one(), pieces=_TOKENS, tokens=_TOKENS + 10).cpu_ms * 1e3 / _TOKENS

            return measure

        own, sdk, litellm = await interleave(
            [side(sides.ours.stream), side(sides.sdk("stream")), side(sides.litellm("stream"))],
            rounds=stage.rounds(12, quick=3),
            burst=2,
            warm_ups=3,
        )
    return [
        compare(name, ours=own, peer=sdk, peer_name=_SDK, unit="µs", bar=told("at most")),
        compare(name, ours=own, peer=litellm, peer_name=_LITELLM, unit="µs", bar=told("at most")),
    ]


async def streams(stage: Stage) -> list[Finding]:
    """Two hundred streams at once, from the first question to the last answer. A lost token is no result."""
    words = " ".join(f"w{number}" for number in range(_TOKENS_EACH))
    used = Tokens(input_tokens=10, output_tokens=_TOKENS_EACH)
    async with _sides(stage, Say(words, tokens=used)) as sides:

        def side(one: Callable[[], Awaitable[_Took]]) -> Callable[[], Awaitable[float]]:
            async def measure() -> float:
                took = await one()
                return _checked(took, pieces=_STREAMS * _TOKENS_EACH, tokens=_STREAMS * (_TOKENS_EACH + 10)).ms / 1e3

            return measure

        many = {"count": _STREAMS}
        own, sdk, litellm = await interleave(
            [side(sides.ours.streams), side(sides.sdk("streams", **many)), side(sides.litellm("streams", **many))],
            rounds=stage.rounds(10, quick=2),
        )
    name = f"{_STREAMS} streams of {_TOKENS_EACH} tokens at once, none lost"
    return [
        compare(name, ours=own, peer=sdk, peer_name=_SDK, unit="s", bar=told("at most")),
        compare(name, ours=own, peer=litellm, peer_name=_LITELLM, unit="s", bar=told("at most")),
    ]


async def gateway(stage: Stage) -> list[Finding]:
    """What the way through the gateway adds for whoever waits: to a short answer, and between the tokens of a long one.

    The same process asks the same server, by the SDK that the gateway uses too, through it and past it in turn.
    """
    async with AsyncExitStack() as stack:
        base_url, ours = await _our_gateway(stack, stage, Say(_SHORT))
        straight = _Straight(
            await stack.enter_async_context(AsyncOpenAI(base_url=base_url, api_key=_KEY, max_retries=0))
        )

        async def call() -> float:
            return _checked(await ours.call(), pieces=len(_SHORT.split()), tokens=15).ms

        through, past = await interleave([call, straight.call], rounds=stage.rounds(20, quick=4), burst=10, warm_ups=20)
    words = " ".join(f"w{number}" for number in range(_TOKENS))
    async with AsyncExitStack() as stack:
        base_url, ours = await _our_gateway(stack, stage, Say(words, chunk_seconds=_SPOKEN_SECONDS))
        straight = _Straight(
            await stack.enter_async_context(AsyncOpenAI(base_url=base_url, api_key=_KEY, max_retries=0))
        )
        between, between_past = await interleave(
            [ours.longest_usual_pause, straight.longest_usual_pause], rounds=stage.rounds(10, quick=3)
        )
    return [
        _added("what the gateway adds to an answer, p50", through, past, most_ms=15),
        _added("what it adds between two tokens, p95", between, between_past, most_ms=2),
    ]


def _added(name: str, through: Samples, past: Samples, *, most_ms: float) -> Finding:
    more = Samples(tuple(one - other for one, other in zip(through.values, past.values, strict=True)))
    allowed = Samples((most_ms,))
    bar = no_more_than(1)
    return compare(name, ours=more, peer=allowed, peer_name=f"{most_ms:g} ms, ours to keep", unit="ms", bar=bar)


async def imports(stage: Stage) -> list[Finding]:
    """CPU of importing what a program needs to ask a model, in a fresh process."""
    own, litellm = await interleave(
        [
            lambda: _import_seconds(Path(sys.executable), "cellwright.models.client.gateway_client"),
            lambda: _import_seconds(stage.python, "litellm"),
        ],
        rounds=stage.rounds(10, quick=3),
    )
    name = "CPU of the import"
    return [compare(name, ours=own, peer=litellm, peer_name=_LITELLM, unit="s", bar=told("at least"))]


async def memory(stage: Stage) -> list[Finding]:
    """The gateway at rest, a call answered and its provider's SDK loaded; a process in which litellm did the same."""
    own: list[float] = []
    theirs: list[float] = []
    for _ in range(stage.rounds(3, quick=1)):
        async with _sides(stage, Say(_SHORT)) as sides:
            await sides.ours.call()
            await sides.litellm("call")()
            try:
                own.append(proportional_mb([sides.ours.gateway]))
                theirs.append(proportional_mb([sides.litellm_pid]))
            except PermissionError as error:
                raise BenchFailed(f"this user may not read the gateway's memory figures: {error}") from error
    return [
        compare(
            "memory of the gateway at rest",
            ours=Samples(tuple(own)),
            peer=Samples(tuple(theirs)),
            peer_name="a process with litellm",
            unit="MB",
            bar=told("at most"),
        )
    ]


class _Ours:
    """A caller and its gateway."""

    def __init__(self, models: Models, gateway: int) -> None:
        self._models = models
        self.gateway = gateway
        self._calls = 0

    async def call(self) -> _Took:
        """One whole answer."""

        async def ask() -> tuple[int, int]:
            return _measure_answer(await self._models.ask(self._call(stream=False)))

        return await self._timed(ask)

    async def stream(self) -> _Took:
        """One answer in pieces."""
        return await self._timed(self._pieces)

    async def streams(self) -> _Took:
        """So many at once."""

        async def ask() -> tuple[int, int]:
            counts: list[tuple[int, int]] = []

            async def one() -> None:
                counts.append(await self._pieces())

            async with anyio.create_task_group() as tasks:
                for _ in range(_STREAMS):
                    tasks.start_soon(one)
            return sum(pieces for pieces, _ in counts), sum(tokens for _, tokens in counts)

        return await self._timed(ask)

    async def _timed(self, work: Callable[[], Awaitable[tuple[int, int]]]) -> _Took:
        cpu, began = self._cpu_seconds(), time.perf_counter()
        with anyio.fail_after(_WAIT_SECONDS):
            pieces, tokens = await work()
        ms = (time.perf_counter() - began) * 1e3
        return _Took(ms=ms, cpu_ms=(self._cpu_seconds() - cpu) * 1e3, pieces=pieces, tokens=tokens)

    async def longest_usual_pause(self) -> float:
        """Milliseconds between two tokens of an answer, p95."""
        came = list[float]()
        with anyio.fail_after(_WAIT_SECONDS):
            await self._pieces(came)
        return _p95_ms(came)

    async def _pieces(self, came: list[float] | None = None) -> tuple[int, int]:
        pieces, last = 0, None
        async with self._models.stream(self._call(stream=True)) as stream:
            async for item in stream:
                if _is_piece(item):
                    pieces += 1
                    if came is not None:
                        came.append(time.perf_counter())
                last = item
        if not isinstance(last, ModelAnswer):
            raise BenchFailed(f"no answer but {last!r}")
        return pieces, last.usage.tokens

    def _call(self, *, stream: bool) -> ModelCall:
        self._calls += 1
        request = Request(messages=[ModelRequest(parts=[UserPromptPart(_QUESTION)])])
        choice = Choice(models=(ModelName("near", "one"),))
        return ModelCall(id=CallId(f"bench/{self._calls}"), request=request, choice=choice, stream=stream)

    def _cpu_seconds(self) -> float:
        """Of this process and of the gateway, all threads, to the nanosecond."""
        return time.process_time() + time.clock_gettime(_cpu_clock(self.gateway))


class _Straight:
    """The same questions, past the gateway."""

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client

    async def call(self) -> float:
        """Milliseconds until one whole answer is there."""
        began = time.perf_counter()
        with anyio.fail_after(_WAIT_SECONDS):
            answer = await self._client.chat.completions.create(
                model="one", messages=[{"role": "user", "content": _QUESTION}]
            )
        ms = (time.perf_counter() - began) * 1e3
        if answer.choices[0].message.content != _SHORT:
            raise BenchFailed(f"no answer but {answer!r}")
        return ms

    async def longest_usual_pause(self) -> float:
        """Milliseconds between two tokens of an answer, p95."""
        came = list[float]()
        with anyio.fail_after(_WAIT_SECONDS):
            async with await self._client.chat.completions.create(
                model="one", messages=[{"role": "user", "content": _QUESTION}], stream=True
            ) as stream:
                async for chunk in stream:
                    if chunk.choices and chunk.choices[0].delta.content:
                        came.append(time.perf_counter())
        return _p95_ms(came)


def _p95_ms(came: list[float]) -> float:
    if len(came) != _TOKENS:
        raise BenchFailed(f"{len(came)} tokens of {_TOKENS}")
    return statistics.quantiles([(after - before) * 1e3 for before, after in pairwise(came)], n=20)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Everyone who is measured, connected to one server."""

    ours: _Ours
    peers: dict[str, Peer]
    litellm_pid: int

    def sdk(self, operation: str, **more: Any) -> Callable[[], Awaitable[_Took]]:
        """The SDK doing this."""
        return self._peer("openai_sdk", operation, more)

    def litellm(self, operation: str, **more: Any) -> Callable[[], Awaitable[_Took]]:
        """litellm doing this."""
        return self._peer("litellm_calls", operation, more)

    def _peer(self, name: str, operation: str, more: dict[str, Any]) -> Callable[[], Awaitable[_Took]]:
        async def ask() -> _Took:
            return _Took(**await self.peers[name].ask(operation, text=_QUESTION, **more))

        return ask


@asynccontextmanager
async def _sides(stage: Stage, answer: Say) -> AsyncGenerator[_Sides]:
    """One server that always answers so, in a process of its own; our gateway; both peers."""
    async with AsyncExitStack() as stack:
        base_url, ours = await _our_gateway(stack, stage, answer)
        peers = {name: await stack.enter_async_context(stage.peer(name)) for name in ("openai_sdk", "litellm_calls")}
        connected = {name: await peer.ask("connect", base_url=base_url, key=_KEY) for name, peer in peers.items()}
        yield _Sides(ours=ours, peers=peers, litellm_pid=int(connected["litellm_calls"]["pid"]))


async def _our_gateway(stack: AsyncExitStack, stage: Stage, answer: Say) -> tuple[str, _Ours]:
    """Where the server is, and our way to it."""
    provider = stack.enter_context(ProviderProcess.running())
    provider.always(answer)
    base_url = provider.base_url("openai-chat")
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=stage.folder)))
    (home / "models.toml").write_text(_CONFIGURATION.format(base_url=base_url))
    launch = GatewayLaunch(home=home, keys={"near": _KEY})
    models = await stack.enter_async_context(Models.open(home, launch=launch))
    stack.push_async_callback(models.stop_gateway, at_once=True)
    return base_url, _Ours(models, (await models.status()).pid)


async def _import_seconds(python: Path, module: str) -> float:
    code = f"import time; began = time.process_time(); import {module}; print(time.process_time() - began)"
    # Without its price list from the network.
    done = await anyio.run_process([str(python), "-c", code], env={"LITELLM_LOCAL_MODEL_COST_MAP": "True"})
    return float(done.stdout)


def _checked(took: _Took, *, pieces: int, tokens: int) -> _Took:
    """Every piece came, and every token was counted: a fast failure is no result."""
    if (took.pieces, took.tokens) != (pieces, tokens):
        raise BenchFailed(f"{took.pieces} pieces of {pieces}, {took.tokens} tokens counted of {tokens}")
    return took


def _measure_answer(outcome: Outcome) -> tuple[int, int]:
    if not isinstance(outcome, ModelAnswer):
        raise BenchFailed(f"no answer but {outcome!r}")
    return len((outcome.response.text or "").split()), outcome.usage.tokens


def _is_piece(item: Update | Outcome) -> bool:
    """A piece with words in it: the first comes as the start of its part."""
    return isinstance(item, Piece) and isinstance(item.event, PartStartEvent | PartDeltaEvent)


def _cpu_clock(pid: int) -> int:
    """The clock that shows another process's CPU time, as clock_getcpuclockid(3) makes it."""
    return (~pid << 3) | 2
