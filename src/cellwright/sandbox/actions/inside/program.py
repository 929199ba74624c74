"""One program in an interpreter of its own: run it until it needs an answer, is done, or fails."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypedDict, cast, get_args

from pydantic_monty import (
    CollectString,
    ExcType,
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    MontyTypingError,
    NameLookupSnapshot,
    SyncSnapshot,
    __version__,
)

from .binding import Parameters, bind
from .checking import problems
from .plain import NotPlain, describe, plain, refuse
from .state import BadState, Progress, pack, unpack

Outcome = dict[str, Any]

_MESSAGE_CHARACTERS = 2000
_RECURSION_DEPTH = 500
_LOOKUPS = 10_000
"""Names looked up and modules asked for, over all."""
_SLEEPS = {"asyncio.sleep", "time.sleep"}
_EXCEPTIONS = frozenset[str](get_args(ExcType))
_LIMIT_WORDS = re.compile(r"(feed time|turn time|memory) limit exceeded: \S+(?: bytes)? > (\d*)")


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


class Program:
    """A program that can be started or loaded once, and resumed whenever it is paused."""

    def __init__(self, pool: Monty, tools: dict[str, Parameters], limits: Limits) -> None:
        self._pool = pool
        self._tools = tools
        self._limits = limits
        self._progress = Progress()
        self._session: MontySession | None = None
        self._snapshot: FutureSnapshot | None = None
        self._printed = CollectString(max_bytes=0)
        self._code = ""

    def start(self, code: str, stubs: str) -> Outcome:
        """Run it from the beginning; with stubs, only if its calls fit them."""
        session = self._checkout(stubs)
        self._printed = self._collector()
        self._code = code
        return self._drive(lambda: session.feed_start(code, print_callback=self._printed))

    def load(self, state: bytes) -> Outcome:
        """Be where the state was taken; what is open then is asked again, and nothing else."""
        try:
            self._progress, dump = unpack(state, __version__)
        except BadState as error:
            return _failed("state", "BadState", f"The state cannot be continued: {error}.")
        session = self._checkout("")
        self._printed = self._collector()
        try:
            snapshot = session.load_snapshot(dump, print_callback=self._printed)
        except MontyError as error:
            return _failed("state", "BadState", f"The state cannot be continued: {error}")
        return self._drive(lambda: snapshot)

    def resume(self, answers: dict[str, Any]) -> Outcome:
        """Go on with some or all open calls answered."""
        snapshot = self._snapshot
        assert snapshot is not None
        settled = {int(number): _settled(answer) for number, answer in answers.items()}
        for number in settled:
            self._progress.open.pop(number, None)
        return self._drive(lambda: snapshot.resume(cast("Any", settled)))

    def close(self) -> None:
        """Give the interpreter back; what it held is gone."""
        session, self._session = self._session, None
        if session is not None:
            session.__exit__(None, None, None)

    def _checkout(self, stubs: str) -> MontySession:
        limits = self._limits
        session = self._pool.checkout(
            limits={
                "max_feed_duration_secs": limits["seconds"],
                "max_memory": limits["memory_bytes"],
                "max_recursion_depth": _RECURSION_DEPTH,
                "max_suspensions": _LOOKUPS + 3 * limits["tool_calls"],
            },
            type_check=bool(stubs),
            type_check_stubs=stubs or None,
            type_check_format="jsonlines",
            os_policy={"sleep": "call_host"},
        )
        self._session = session.__enter__()
        return self._session

    def _collector(self) -> CollectString:
        # Odd, so that its complaint is never mistaken for one about memory.
        return CollectString(max_bytes=max(1, self._limits["output_bytes"] - len(self._progress.output.encode())) | 1)

    @property
    def _output(self) -> str:
        return self._progress.output + self._printed.output

    def _feed_unchecked(self) -> SyncSnapshot:
        assert self._session is not None
        return self._session.feed_start(self._code, print_callback=self._printed, skip_type_check=True)

    def _drive(self, step: Callable[[], SyncSnapshot]) -> Outcome:
        try:
            outcome = self._outcome(step())
        except _Over as error:
            outcome = _failed("limit", "LimitReached", str(error), limit=error.limit)
        except MontyTypingError as error:
            if not (found := problems(error.display(), self._tools)):
                return self._drive(self._feed_unchecked)
            lines = "\n".join(f"line {problem.line}: {problem.message}" for problem in found)
            outcome = _failed("types", found[0].rule, lines, found[0].line)
        except MontyCrashedError as error:
            limit = "seconds" if error.timed_out else None
            outcome = _failed("limit" if limit else "crash", "InterpreterLost", str(error), limit=limit)
        except MontySyntaxError as error:
            outcome = _failed("syntax", *_words(error), _line(error))
        except MontyRuntimeError as error:
            outcome = self._raised(error)
        except MontyError as error:
            outcome = _failed("error", type(error).__name__, str(error))
        if outcome["type"] != "paused":
            outcome["output"] = self._output
        return outcome

    def _outcome(self, snapshot: SyncSnapshot) -> Outcome:
        while True:
            match snapshot:
                case NameLookupSnapshot():
                    snapshot = self._look_up(snapshot)
                case FunctionSnapshot():
                    snapshot = self._call(snapshot)
                case FutureSnapshot():
                    return self._paused(snapshot)
                case MontyComplete():
                    return self._finished(snapshot.output)

    def _look_up(self, snapshot: NameLookupSnapshot) -> SyncSnapshot:
        name = snapshot.variable_name
        if snapshot.object_id is not None or name not in self._tools:
            return snapshot.resume()

        def tool() -> None: ...

        tool.__name__ = tool.__qualname__ = name
        return snapshot.resume(value=tool)

    def _call(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        name = str(snapshot.function_name)
        if snapshot.is_os_function:
            return self._sleep(snapshot) if name in _SLEEPS else snapshot.resume_not_handled()
        if snapshot.object_id is not None or name not in self._tools:
            return snapshot.resume({"exc_type": "NameError", "message": f"name '{name}' is not defined"})
        try:
            bound = bind(name, self._tools[name], snapshot.args, snapshot.kwargs)
            arguments = {parameter: _argument(parameter, value) for parameter, value in bound.items()}
        except TypeError as error:
            return snapshot.resume({"exc_type": "TypeError", "message": str(error)})
        self._count(name, arguments)
        self._progress.open[snapshot.call_id] = {"name": name, "arguments": arguments}
        return snapshot.resume({"future": ...})

    def _sleep(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        seconds = next((float(value) for value in snapshot.args if isinstance(value, int | float) and value > 0), 0.0)
        self._progress.slept += seconds
        if self._progress.slept > (most := self._limits["sleep_seconds"]):
            raise _Over("sleep_seconds", f"{self._progress.slept:g} s of sleep, of at most {most:g}")
        time.sleep(seconds)
        return snapshot.resume({"return_value": None})

    def _count(self, name: str, arguments: dict[str, Any]) -> None:
        self._progress.calls += 1
        if self._progress.calls > (most := self._limits["tool_calls"]):
            raise _Over("tool_calls", f"more than {most} tool calls")
        size = len(json.dumps(arguments, ensure_ascii=False).encode())
        if size > (most := self._limits["argument_bytes"]):
            raise _Over("argument_bytes", f"{size:,} bytes of arguments for {name}(), of at most {most:,}")

    def _paused(self, snapshot: FutureSnapshot) -> Outcome:
        self._snapshot = snapshot
        # `_printed` goes on collecting; a state holds what was printed until it was taken.
        state = pack(replace(self._progress, output=self._output), snapshot.dump(), __version__)
        if len(state) > (most := self._limits["state_bytes"]):
            raise _Over("state_bytes", f"{len(state):,} bytes of live values at a tool call, of at most {most:,}")
        numbers = sorted(snapshot.pending_call_ids)
        calls = [{"id": number, **self._progress.open[number]} for number in numbers]
        return {"type": "paused", "calls": calls, "state": base64.b64encode(state).decode()}

    def _finished(self, output: Any) -> Outcome:
        if self._progress.open:
            name = next(iter(self._progress.open.values()))["name"]
            return _failed("error", "NeverAwaited", f"{name}() was called but never awaited, so it did not happen")
        value = plain(output, describe)
        size = len(json.dumps(value, ensure_ascii=False).encode())
        if size > (most := self._limits["value_bytes"]):
            raise _Over("value_bytes", f"a result of {size:,} bytes, of at most {most:,}")
        return {"type": "finished", "value": value}

    def _raised(self, error: MontyRuntimeError) -> Outcome:
        kind, message = _words(error)
        limit = _limit_of(kind, message, self._limits)
        return _failed("limit" if limit else "error", kind, message, _line(error), limit)


def _settled(answer: dict[str, Any]) -> dict[str, Any]:
    if "value" in answer:
        return {"return_value": answer["value"]}
    known = answer["type"] in _EXCEPTIONS
    message = answer["message"] if known else f"{answer['type']}: {answer['message']}"
    return {"exc_type": answer["type"] if known else "RuntimeError", "message": message}


def _argument(parameter: str, value: Any) -> Any:
    try:
        return plain(value, refuse)
    except NotPlain as error:
        raise TypeError(f"argument '{parameter}' cannot be given to a tool: {error}") from error


def _words(error: MontySyntaxError | MontyRuntimeError) -> tuple[str, str]:
    kind, _, message = error.display("type-msg").partition(": ")
    return kind, message


def _line(error: MontySyntaxError | MontyRuntimeError) -> int | None:
    frames = error.traceback()
    return frames[-1].line if frames else None


def _limit_of(kind: str, message: str, limits: Limits) -> str | None:
    """Which limit made monty stop, from its own words: it has no code for it."""
    if kind == "RecursionError":
        return "recursion"
    found = _LIMIT_WORDS.match(message)
    if found is None:
        return "lookups" if "suspension" in message and kind == "RuntimeError" else None
    match found[1]:
        case "memory":
            return "memory" if int(found[2] or 0) == limits["memory_bytes"] else "output_bytes"
        case _:
            return "seconds"


def _failed(kind: str, error: str, message: str, line: int | None = None, limit: str | None = None) -> Outcome:
    return {
        "type": "failed", "kind": kind, "error": error[:200], "message": message[:_MESSAGE_CHARACTERS], "line": line,
        "limit": limit, "output": "",
    }  # fmt: skip
