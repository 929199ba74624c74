"""Every fault, streamed or not, in every wire format: what comes of it stands in one table.

Real SDKs against a real server on loopback. The first model has the fault, the second is well.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

import anyio
import pytest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import FailureKind, Piece, Request, Restarted, Started, Update
from cellwright.models.config.configuration import KINDS, Configuration, Endpoint, Kind, ModelOverrides
from cellwright.models.config.names import ModelName
from cellwright.models.providers.providers import Providers
from cellwright.models.routing.breaker import BreakerRules, Breakers
from cellwright.models.routing.fallback import Attempts, Deadlines, RouteAnswer, RoutedCall, RouteExhausted
from cellwright.models.routing.route import Route
from cellwright.testing import FAULTS, Answer, CallTool, Fault, FaultKind, ProviderServer, Received, Say
from tests.leaping import leap
from tests.sampling import every


@dataclass(frozen=True)
class Answers:
    """It is no failure at all: the first model's answer arrives whole."""


@dataclass(frozen=True)
class Fails:
    """The first model is tried so often and fails so each time; then the second answers."""

    failing: FailureKind
    tries: int
    restarts: bool = False
    """Pieces had been told, and are taken back."""


Stated = Answers | Fails

REJECTED = Fails("rejected", 1)
UNAUTHORISED = Fails("unauthorised", 1)
NOT_FOUND = Fails("not-found", 1)
TOO_LONG = Fails("context-too-long", 1)
LIMITED = Fails("rate-limited", 3)
ERROR = Fails("server-error", 3)
OVERLOADED = Fails("overloaded", 3)
SILENT = Fails("timed-out", 2)
CUT_OFF = Fails("connection", 3)
BROKEN = Fails("broken-answer", 2)
ERROR_MIDWAY = Fails("server-error", 3, restarts=True)
OVERLOADED_MIDWAY = Fails("overloaded", 3, restarts=True)
SILENT_MIDWAY = Fails("timed-out", 2, restarts=True)
CUT_OFF_MIDWAY = Fails("connection", 3, restarts=True)
BROKEN_MIDWAY = Fails("broken-answer", 2, restarts=True)
WHOLE = Answers()

TABLE: Final[dict[FaultKind, tuple[Stated, Stated]]] = {
    #                      in one       streamed
    "bad-request":        (REJECTED,     REJECTED),
    "unauthorised":       (UNAUTHORISED, UNAUTHORISED),
    "not-found":          (NOT_FOUND,    NOT_FOUND),
    "context-too-long":   (TOO_LONG,     TOO_LONG),
    "rate-limited":       (LIMITED,      LIMITED),
    "server-error":       (ERROR,        ERROR),
    "overloaded":         (OVERLOADED,   OVERLOADED),
    "slow-first-byte":    (SILENT,       SILENT),
    "stall":              (SILENT,       SILENT_MIDWAY),
    "drop":               (CUT_OFF,      CUT_OFF_MIDWAY),
    "truncated-stream":   (CUT_OFF,      BROKEN_MIDWAY),
    "bad-json":           (BROKEN,       BROKEN_MIDWAY),
    "error-event":        (BROKEN,       ERROR_MIDWAY),
    "wrong-usage":        (WHOLE,        WHOLE),
    "huge":               (WHOLE,        WHOLE),
    "split-tool-call":    (WHOLE,        WHOLE),
    "cut-unicode":        (WHOLE,        WHOLE),
}  # fmt: skip

EXCEPTIONS: Final[dict[tuple[FaultKind, Kind, bool], Stated]] = {
    # Its SDK reads the error in the body of a response.
    ("error-event", "openai-responses", False): ERROR,
    # What its error event says is that it is overloaded.
    ("error-event", "anthropic", True): OVERLOADED_MIDWAY,
    # Its SDK knows no error events.
    ("error-event", "mistral", True): BROKEN_MIDWAY,
    # Its SDK takes no answer without usage.
    ("wrong-usage", "mistral", False): BROKEN,
}
"""Where a wire format differs: (fault, wire format, streamed)."""


def stated(fault: FaultKind, kind: Kind, stream: bool) -> Stated:
    return EXCEPTIONS.get((fault, kind, stream)) or TABLE[fault][stream]


Case = tuple[FaultKind, Kind, bool]
CASES: list[Case] = [(fault, kind, stream) for fault in FAULTS for kind in KINDS for stream in (False, True)]
FAILING_CASES = [case for case in CASES if isinstance(stated(*case), Fails)]
# No factor of the fourteen cases of a fault: each fault, wire format and way of asking comes up in the quick run.
SAMPLE_STEP = 5


def name(value: object) -> str:
    """`streamed` or `whole` in a test's id."""
    return str(value) if isinstance(value, str) else "streamed" if value else "whole"


SECOND = ModelName("second", "well")
FIRST_IS_BACK = "The first model is back."
SECOND_SAYS = "The second model speaks."
SEARCH = ToolDefinition(
    name="search",
    parameters_json_schema={
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
)
FAULT_SCRIPTS: Final[dict[FaultKind, Fault]] = {
    "rate-limited": Fault("rate-limited", retry_after_seconds=2),
    "split-tool-call": Fault("split-tool-call", answer=CallTool("search", {"query": "ü"})),
}
DEADLINES = Deadlines(first_piece_seconds=30, next_piece_seconds=30, answer_seconds=30)
LEAP_SECONDS = 40
"""Past any of these deadlines."""
numbers = count()


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[ProviderServer]:
    async with ProviderServer.open() as opened:
        yield opened


@pytest.fixture(scope="module")
async def providers(server: ProviderServer) -> AsyncGenerator[Providers]:
    endpoints = [
        Endpoint(name=kind, kind=kind, base_url=server.base_url(kind), local=True, key="none") for kind in KINDS
    ]
    second = Endpoint(
        name="second", kind="openai-chat", base_url=server.base_url("openai-chat"), local=True, key="none"
    )
    names = [*(ModelName(kind, "ill") for kind in KINDS), SECOND]
    configuration = Configuration(
        tiers={},
        endpoints={endpoint.name: endpoint for endpoint in [*endpoints, second]},
        models={name: ModelOverrides(tools=True, schema=True) for name in names},
    )
    opened = Providers(configuration)
    yield opened
    await opened.aclose()


@dataclass
class Trial:
    """One call, the ill model first, the well one second. Time leaps where somebody would wait: no test does."""

    server: ProviderServer
    providers: Providers
    fault: FaultKind
    kind: Kind
    stream: bool
    for_ever: bool = True
    now: float = 0
    told: list[Update] = field(default_factory=list[Update])
    silence: anyio.Event = field(default_factory=anyio.Event)
    """The ill model has said all it will: nothing but a deadline comes next."""

    def __post_init__(self) -> None:
        self.first = ModelName(self.kind, "ill")
        self.prompt = f"{self.fault} {self.kind} {self.stream} {next(numbers)}"
        self.attempts = Attempts(
            ask=partial(self.providers.ask, key=None),
            breakers=Breakers(clock=self.clock, rules=BreakerRules(failures_in_a_row=100)),
            deadlines=DEADLINES,
            clock=self.clock,
            sleep=self.sleep,
            jitter=lambda: 0.0,
        )

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def run(self) -> RouteAnswer | RouteExhausted:
        fault = FAULT_SCRIPTS.get(self.fault) or Fault(self.fault)
        script: list[Answer] = [fault] * 3 if self.for_ever else [fault, Say(FIRST_IS_BACK)]
        self.server.when(partial(self.is_for, "ill"), *script)
        self.server.when(partial(self.is_for, "well"), Say(SECOND_SAYS))
        return await self.along(self.first, SECOND)

    async def along(self, *models: ModelName) -> RouteAnswer | RouteExhausted:
        route = Route(order=models, reasons={}, refused={})
        async with anyio.create_task_group() as group:
            group.start_soon(self.leap_over_silence)
            with anyio.fail_after(10 * LEAP_SECONDS):
                outcome = await self.attempts.run(
                    RoutedCall(
                        request=self.request(), route=route, stream=self.stream, deadline_seconds=60, emit=self.emit
                    )
                )
            group.cancel_scope.cancel()
            return outcome
        raise AssertionError("the group ends by itself only if the call has")

    async def leap_over_silence(self) -> None:
        while True:
            await self.silence.wait()
            self.silence = anyio.Event()
            leap(LEAP_SECONDS)

    def emit(self, update: Update) -> None:
        self.told.append(update)
        if isinstance(update, Piece) and self.fault == "stall" and self.is_ill_now():
            self.silence.set()

    def is_for(self, model: str, received: Received) -> bool:
        is_it = (received.model, received.prompt) == (model, self.prompt)
        is_silent_from_the_start = self.fault == "slow-first-byte" or (self.fault == "stall" and not self.stream)
        if is_it and is_silent_from_the_start and self.is_ill_now():
            self.silence.set()
        return is_it

    def is_ill_now(self) -> bool:
        tried = [update.model for update in self.told if isinstance(update, Started)]
        return tried[-1] == str(self.first) and (self.for_ever or len(tried) == 1)

    def request(self) -> Request:
        return Request(
            messages=[ModelRequest(parts=[UserPromptPart(content=self.prompt)])],
            tools=[SEARCH] if self.fault == "split-tool-call" else [],
        )

    def asked(self) -> list[str]:
        """Which models the server was asked for, so that no SDK retries behind our back."""
        return [it.model for it in self.server.requests if it.prompt == self.prompt]

    def restarts(self) -> int:
        return sum(isinstance(update, Restarted) for update in self.told)

    def last_text(self) -> str:
        """The text of the pieces since the last restart."""
        text = ""
        for update in self.told:
            match update:
                case Restarted():
                    text = ""
                case Piece(event=PartStartEvent(part=TextPart(content=content))):
                    text += content
                case Piece(event=PartDeltaEvent(delta=TextPartDelta(content_delta=content))):
                    text += content
                case _:
                    pass
        return text


def text_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def calls_of(response: ModelResponse) -> Sequence[tuple[str, Any]]:
    return [(part.tool_name, part.args_as_dict()) for part in response.parts if isinstance(part, ToolCallPart)]


def test_every_fault_has_a_stated_outcome() -> None:
    assert set(TABLE) == set(FAULTS)


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize(("fault", "kind", "stream"), every(CASES, SAMPLE_STEP), ids=name)
async def test_a_fault_that_stays_has_its_stated_outcome(
    server: ProviderServer, providers: Providers, fault: FaultKind, kind: Kind, stream: bool
) -> None:
    trial = Trial(server, providers, fault, kind, stream)
    outcome = await trial.run()
    assert isinstance(outcome, RouteAnswer), outcome
    match stated(fault, kind, stream):
        case Answers():
            assert (outcome.attempts, outcome.model) == ((), trial.first)
            assert trial.asked() == ["ill"]
            the_answer_is_whole(trial, outcome.response)
        case Fails(failing=failing, tries=tries, restarts=restarts):
            assert [attempt.failing for attempt in outcome.attempts] == [failing] * tries, outcome.attempts
            assert trial.asked() == [*["ill"] * tries, "well"]
            assert trial.restarts() == (tries if restarts else 0)
            assert (outcome.model, text_of(outcome.response)) == (SECOND, SECOND_SAYS)
            assert trial.last_text() == (SECOND_SAYS if stream else "")


def the_answer_is_whole(trial: Trial, response: ModelResponse) -> None:
    match trial.fault:
        case "huge":
            assert len(text_of(response)) >= 1_000_000
        case "split-tool-call":
            assert calls_of(response) == [("search", {"query": "ü"})]
        case "cut-unicode":
            assert text_of(response) == "Grüße 🌍 Ελλάδα 日本語 👩‍🚀"
        case _:
            assert text_of(response) == "one two three four five"
    if trial.stream:
        assert trial.last_text() == text_of(response)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("fault", "kind", "stream"), every(FAILING_CASES, SAMPLE_STEP), ids=name)
async def test_a_fault_that_strikes_once_is_over_after_a_retry_where_one_can_help(
    server: ProviderServer, providers: Providers, fault: FaultKind, kind: Kind, stream: bool
) -> None:
    trial = Trial(server, providers, fault, kind, stream, for_ever=False)
    outcome = await trial.run()
    expected = stated(fault, kind, stream)
    assert isinstance(expected, Fails)
    assert isinstance(outcome, RouteAnswer), outcome
    assert [attempt.failing for attempt in outcome.attempts] == [expected.failing], outcome.attempts
    is_retried = expected.tries > 1
    answer = FIRST_IS_BACK if is_retried else SECOND_SAYS
    assert (outcome.model, text_of(outcome.response)) == (trial.first if is_retried else SECOND, answer)
    assert trial.asked() == ["ill", "ill" if is_retried else "well"]
    assert trial.restarts() == expected.restarts
    assert trial.last_text() == (answer if stream else "")


@pytest.mark.slow
async def test_with_nobody_to_reach_the_model_on_this_machine_still_answers(server: ProviderServer) -> None:
    with socket.socket() as nobody:
        # Bound but not listening: whoever connects is refused.
        nobody.bind(("127.0.0.1", 0))
        endpoints = [
            Endpoint(
                name=kind, kind=kind, base_url=f"http://127.0.0.1:{nobody.getsockname()[1]}", local=True, key="none"
            )
            for kind in KINDS
        ]
        here = Endpoint(
            name="second", kind="openai-chat", base_url=server.base_url("openai-chat"), local=True, key="none"
        )
        lonely = Providers(
            Configuration(
                tiers={}, endpoints={one.name: one for one in [*endpoints, here]}, models={SECOND: ModelOverrides()}
            )
        )
        trial = Trial(server, lonely, "drop", "openai-chat", True)
        server.when(partial(trial.is_for, "well"), Say(SECOND_SAYS))
        outcome = await trial.along(*(ModelName(kind, "far") for kind in KINDS), SECOND)
        await lonely.aclose()
    assert isinstance(outcome, RouteAnswer), outcome
    assert (outcome.model, text_of(outcome.response)) == (SECOND, SECOND_SAYS)
    assert [attempt.failing for attempt in outcome.attempts] == ["connection"] * 3 * len(KINDS)
