"""One program in an interpreter of its own: run it until it needs an answer, is done, or fails."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from typing import Any, TypedDict, assert_never

from . import requests
from .binding import Parameters, bind
from .checking import problems
from .events import (
    Awaiting,
    Call,
    Complete,
    Done,
    Dumped,
    Event,
    Fatal,
    Lookup,
    Mistyped,
    Printed,
    Raised,
    Sleep,
    SystemCall,
)
from .interpreter import Interpreter, InterpreterLost, Interpreters
from .plain import NotPlain, describe, plain, refuse
from .state import BadState, Progress, pack, unpack

Outcome = dict[str, Any]

_MESSAGE_CHARACTERS = 2000
_RECURSION_DEPTH = 500
_LOOKUPS = 10_000
"""Names looked up and modules asked for, over all."""
_GRACE_SECONDS = 1.0
"""For an interpreter to notice that a program's time is over; one that does not is stuck, and is ended."""
_CHECKING_SECONDS = 20.0
_STATE_SECONDS = 20.0
"""To write or read a state of megabytes."""
_LIMIT_WORDS = re.compile(r"(feed time|turn time|memory) limit exceeded: ")
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Limits(TypedDict):
    """What the program may use; the host checks what it can see of it again."""

    seconds: float
    sleep_seconds: float
    memory_bytes: int
    output_bytes: int
    tool_calls: int
    argument_bytes: int
    value_bytes: int
    state_bytes: int


class _Over(Exception):
    """The program used up something we count ourselves."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


def configuration(version: str, limits: Limits | None = None, stubs: str = "") -> bytes:
    """How an interpreter begins a program with these limits."""
    return requests.configure(
        version=version,
        memory_bytes=limits["memory_bytes"] if limits else 1 << 20,
        recursion_depth=_RECURSION_DEPTH,
        suspensions=_LOOKUPS,
        seconds=limits["seconds"] if limits else 1.0,
        stubs=stubs,
    )


class Program:
    """A program that can be started or loaded once, and resumed whenever it is paused."""

    def __init__(self, interpreters: Interpreters, version: str, tools: dict[str, Parameters], limits: Limits) -> None:
        self._interpreters = interpreters
        self._version = version
        self._tools = tools
        self._limits = limits
        self._progress = Progress()
        self._configuration = b""
        self._interpreter: Interpreter | None = None
        self._stops = 0
        self._state: Event | None = None
        self._printed: list[str] = []
        self._room = limits["output_bytes"]
        self._seconds = limits["seconds"] + _GRACE_SECONDS
        self._code = ""
        self._is_checked = False

    def start(self, code: str, stubs: str) -> Outcome:
        """Run it from the beginning; with stubs, only if its calls fit them."""
        self._code, self._is_checked = code, bool(stubs)
        self._begin(stubs)
        return self._drive(lambda: self._first(requests.feed(code, is_checked=self._is_checked)))

    def load(self, state: bytes) -> Outcome:
        """Be where the state was taken; what is open then is asked again, and nothing else."""
        try:
            self._progress, dump = unpack(state, self._version)
        except BadState as error:
            return _failed("state", "BadState", f"The state cannot be continued: {error}.")
        self._room -= len(self._progress.output.encode())
        self._begin("")
        return self._drive(lambda: self._turn(requests.load(dump), _STATE_SECONDS), is_loading=True)

    def resume(self, answers: dict[str, Any]) -> Outcome:
        """Go on with some or all open calls answered."""
        for number in answers:
            self._progress.open.pop(int(number), None)
        settled = [(int(number), _settled(answer)) for number, answer in answers.items()]
        return self._drive(lambda: self._turn(_awaited(settled)))

    def close(self) -> None:
        """Give the interpreter back; what it held is gone."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            self._interpreters.give_back(interpreter, self._configuration)

    def abandon(self) -> None:
        """End the interpreter: nobody knows where it stands."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            interpreter.end()

    def _begin(self, stubs: str) -> None:
        self._configuration = configuration(self._version, self._limits, stubs)
        self._interpreter = self._interpreters.take(self._configuration)

    @property
    def _output(self) -> str:
        return self._progress.output + "".join(self._printed)

    def _drive(self, step: Callable[[], Event], *, is_loading: bool = False) -> Outcome:
        """Let it go on until it ends or waits."""
        try:
            event = step()
            if is_loading and not isinstance(event, Call | Awaiting):
                told = event.message if isinstance(event, Raised) else "it waits for nothing"
                return _failed("state", "BadState", f"The state cannot be continued: {told}")
            outcome = self._outcome(event)
        except _Over as error:
            outcome = _failed("limit", "LimitReached", str(error), limit=error.limit)
        except InterpreterLost as error:
            self.abandon()
            kind = "limit" if error.limit else "crash"
            outcome = _failed(kind, "InterpreterLost", str(error), limit=error.limit)
        if outcome["type"] != "paused":
            outcome["output"] = self._output
        return outcome

    def _first(self, request: bytes) -> Event:
        """Its first turn. Most stop at a call, and then their state is wanted: asking for both saves a turn."""
        seconds = self._seconds + (_CHECKING_SECONDS if self._is_checked else 0.0)
        if "await" not in self._code:
            return self._turn(request, seconds)
        event = self._turn(request + requests.DUMP, seconds)
        self._state = self._said(_STATE_SECONDS)
        return event

    def _turn(self, request: bytes, seconds: float | None = None) -> Event:
        """What it says to a request, once it has printed what it had to."""
        assert self._interpreter is not None
        self._state = None
        self._interpreter.ask(request)
        return self._said(seconds or self._seconds)

    def _said(self, seconds: float) -> Event:
        assert self._interpreter is not None
        while isinstance(event := self._interpreter.event(seconds=seconds), Printed):
            self._print(event.text)
        return event

    def _print(self, text: str) -> None:
        encoded = text.encode()
        self._printed.append(text if len(encoded) <= self._room else encoded[: self._room].decode(errors="ignore"))
        self._room -= len(encoded)
        if self._room < 0:
            # It goes on printing: there is no way to stop it but to end it.
            self.abandon()
            raise _Over("output_bytes", f"more than {self._limits['output_bytes']:,} bytes of output")

    def _outcome(self, event: Event) -> Outcome:
        while True:
            match event:
                case Call():
                    if event.id in self._progress.open or self._waits_at(event):
                        return self._paused([event.id])
                    event = self._call(event)
                case Awaiting():
                    return self._paused(sorted(event.ids))
                case Lookup():
                    is_tool = not event.is_attribute and event.name in self._tools
                    event = self._answer(requests.answer_name(event.name if is_tool else None))
                case Sleep():
                    event = self._sleep(event)
                case SystemCall():
                    event = self._answer(requests.answer_not_here(event.id))
                case Mistyped():
                    if found := problems(event.report, self._tools):
                        lines = "\n".join(f"line {problem.line}: {problem.message}" for problem in found)
                        return _failed("types", found[0].rule, lines, found[0].line)
                    event = self._turn(requests.feed(self._code, is_checked=False))
                case Complete():
                    return self._finished(event)
                case Raised():
                    return self._raised(event)
                case Done() | Dumped() | Printed() | Fatal():
                    raise InterpreterLost(f"it said {type(event).__name__}, which nobody asked for")
                case _:
                    assert_never(event)

    def _answer(self, request: bytes) -> Event:
        """Go on after a stop the host knows nothing of; there is an end to those too."""
        self._stops += 1
        if self._stops > (most := _LOOKUPS + 2 * self._limits["tool_calls"]):
            raise _Over("lookups", f"more than {most:,} names, modules and system calls asked for")
        return self._turn(request)

    def _waits_at(self, call: Call) -> bool:
        """Whether the program awaits this call and nothing else; then it is asked for where it stands."""
        return call.is_awaited and not self._progress.open and self._open(call) is None

    def _call(self, call: Call) -> Event:
        """Note a call, to be answered when it is awaited; or raise in the program what is wrong with it."""
        wrong = self._open(call)
        return self._answer(requests.answer_call(call.id, wrong) if wrong else requests.answer_later(call.id))

    def _open(self, call: Call) -> requests.Outcome | None:
        """Note a call that is to be answered; or what is wrong with it."""
        if call.is_method or call.name not in self._tools:
            return {"type": "NameError", "message": f"name '{call.name}' is not defined"}
        if call.nodes > (most := self._limits["argument_bytes"]):
            raise _Over("argument_bytes", f"{call.nodes:,} values for {call.name}(), of at most {most:,} bytes")
        try:
            bound = bind(call.name, self._tools[call.name], *call.arguments())
            arguments = {parameter: _argument(parameter, value) for parameter, value in bound.items()}
        except TypeError as error:
            return {"type": "TypeError", "message": str(error)}
        self._count(call.name, arguments)
        self._progress.open[call.id] = {"name": call.name, "arguments": arguments}
        return None

    def _sleep(self, sleep: Sleep) -> Event:
        self._progress.slept += max(0.0, sleep.seconds)
        if self._progress.slept > (most := self._limits["sleep_seconds"]):
            raise _Over("sleep_seconds", f"{self._progress.slept:g} s of sleep, of at most {most:g}")
        time.sleep(max(0.0, sleep.seconds))
        return self._answer(requests.answer_call(sleep.id, {"value": None}))

    def _count(self, name: str, arguments: dict[str, Any]) -> None:
        self._progress.calls += 1
        if self._progress.calls > (most := self._limits["tool_calls"]):
            raise _Over("tool_calls", f"more than {most} tool calls")
        size = len(_encode(arguments).encode())
        if size > (most := self._limits["argument_bytes"]):
            raise _Over("argument_bytes", f"{size:,} bytes of arguments for {name}(), of at most {most:,}")

    def _paused(self, numbers: list[int]) -> Outcome:
        dumped = self._state or self._turn(requests.DUMP, _STATE_SECONDS)
        if not isinstance(dumped, Dumped):
            raise InterpreterLost("it did not write its state down")
        state = pack(self._progress, self._output, dumped.state, self._version)
        if len(state) > (most := self._limits["state_bytes"]):
            raise _Over("state_bytes", f"{len(state):,} bytes of live values at a tool call, of at most {most:,}")
        calls = [{"id": number, **self._progress.open[number]} for number in numbers]
        return {"type": "paused", "calls": calls, "state": base64.b64encode(state).decode()}

    def _finished(self, complete: Complete) -> Outcome:
        if self._progress.open:
            name = next(iter(self._progress.open.values()))["name"]
            return _failed("error", "NeverAwaited", f"{name}() was called but never awaited, so it did not happen")
        most = self._limits["value_bytes"]
        if complete.nodes > 4 * most:
            raise _Over("value_bytes", f"a result of {complete.nodes:,} values")
        try:
            value = plain(complete.value(), describe, most=most)
        except NotPlain as error:
            raise _Over("value_bytes", f"a result that is too large: {error}") from error
        size = len(_encode(value).encode())
        if size > most:
            raise _Over("value_bytes", f"a result of {size:,} bytes, of at most {most:,}")
        return {"type": "finished", "value": value}

    def _raised(self, raised: Raised) -> Outcome:
        if raised.kind == "SyntaxError":
            return _failed("syntax", raised.kind, raised.message, raised.line)
        limit = _limit_of(raised)
        return _failed("limit" if limit else "error", raised.kind, raised.message, raised.line, limit)


def _awaited(settled: list[tuple[int, requests.Outcome]]) -> bytes:
    try:
        return requests.answer_awaited(settled)
    except RecursionError:
        deep: requests.Outcome = {"type": "ValueError", "message": "the result is nested too deep"}
        return requests.answer_awaited([(number, deep) for number, _ in settled])


def _settled(answer: dict[str, Any]) -> requests.Outcome:
    if "value" in answer or answer["type"] in requests.EXCEPTIONS:
        return answer
    return {"type": "RuntimeError", "message": f"{answer['type']}: {answer['message']}"}


def _argument(parameter: str, value: Any) -> Any:
    try:
        return plain(value, refuse)
    except NotPlain as error:
        raise TypeError(f"argument '{parameter}' cannot be given to a tool: {error}") from error


def _limit_of(raised: Raised) -> str | None:
    """Which limit made monty stop, from its own words: it has no code for it."""
    if raised.kind == "RecursionError":
        return "recursion"
    found = _LIMIT_WORDS.match(raised.message)
    if found is None:
        return None
    return "memory" if found[1] == "memory" else "seconds"


def _failed(kind: str, error: str, message: str, line: int | None = None, limit: str | None = None) -> Outcome:
    return {
        "type": "failed", "kind": kind, "error": error[:200], "message": message[:_MESSAGE_CHARACTERS], "line": line,
        "limit": limit, "output": "",
    }  # fmt: skip
