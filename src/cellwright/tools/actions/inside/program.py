"""One program in a session of its own: run it until it needs an answer, is done, or fails."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, TypedDict, assert_never

from pydantic_monty._monty import (
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
)

from .state import BadState, ProgramProgress, pack, unpack
from .type_check import find_problems
from .values import NotJson, Parameters, bind, describe, plain, refuse

Outcome = dict[str, Any]
Snapshot = FunctionSnapshot | NameLookupSnapshot | FutureSnapshot | MontyComplete

_MESSAGE_CHARACTERS = 2000
_RECURSION_DEPTH = 500
_LOOKUPS = 10_000
"""Names looked up and modules asked for, over all."""
_SUSPENSIONS_PER_CALL = 3
"""It is made, it is awaited, and others may be answered before it."""
_SLEEPS = ("time.sleep", "asyncio.sleep")
_LIMITS = {
    "TimeoutError: feed time limit exceeded: ": "seconds",
    "MemoryError: memory limit exceeded: ": "memory",
    "MemoryError: the worker exceeded its memory limit": "memory",
    "RecursionError": "recursion",
    "RuntimeError: suspension limit ": "lookups",
}
"""Which limit made monty stop, by its own words: it has no code for it."""
_encode = json.JSONEncoder(ensure_ascii=False).encode


class LimitValues(TypedDict):
    """What the program may use; the host checks what it can see of it again."""

    seconds: float
    sleep_seconds: float
    memory_bytes: int
    output_bytes: int
    tool_calls: int
    argument_bytes: int
    value_bytes: int
    state_bytes: int


class _LimitExceeded(Exception):
    """The program used up something we count ourselves."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class Program:
    """A program that can be started or loaded once, and resumed whenever it is paused."""

    def __init__(self, monty: Monty, version: str, tools: dict[str, Parameters], limits: LimitValues) -> None:
        self._monty = monty
        self._version = version
        self._tools = tools
        self._limits = limits
        self._progress = ProgramProgress()
        self._session: MontySession | None = None
        self._process: int | None = None
        self._awaited: FutureSnapshot | None = None
        self._printed: list[str] = []
        self._room = limits["output_bytes"]

    def start(self, code: str, stubs: str) -> Outcome:
        """Run it from the beginning; with stubs, only if its calls fit them."""
        session = self._begin(stubs)
        try:
            return self._drive(lambda: session.feed_start(code, print_callback=self._print))
        except MontyTypingError as error:
            if found := find_problems(error.display(), self._tools):
                lines = "\n".join(f"line {problem.line}: {problem.message}" for problem in found)
                return failed("types", found[0].rule, lines, found[0].line)
        return self._drive(lambda: session.feed_start(code, print_callback=self._print, skip_type_check=True))

    def load(self, state: bytes) -> Outcome:
        """Be where the state was taken; what is open then is asked again, and nothing else."""
        try:
            self._progress, dump = unpack(state, self._version)
        except BadState as error:
            return _bad_state(str(error))
        self._room -= len(self._progress.output.encode())
        session = self._begin("")
        try:
            snapshot = session.load_snapshot(dump, print_callback=self._print)
        except (MontyRuntimeError, MontyCrashedError) as error:
            return _bad_state(str(error))
        if not isinstance(snapshot, FunctionSnapshot | FutureSnapshot):
            return _bad_state("it waits for nothing")
        return self._drive(lambda: snapshot)

    def resume(self, answers: dict[str, Any]) -> Outcome:
        """Go on with some or all open calls answered."""
        awaited = self._awaited
        assert awaited is not None
        for number in answers:
            self._progress.open.pop(int(number), None)
        return self._drive(lambda: _settle(awaited, answers))

    def close(self) -> None:
        """Give the interpreter back; what it held is gone."""
        session, self._session = self._session, None
        if session is not None:
            # One that ended meanwhile has nothing to give back.
            with suppress(MontyError):
                session.__exit__(None, None, None)

    def _begin(self, stubs: str) -> MontySession:
        limits = self._limits
        session = self._monty.checkout(
            limits={
                "max_feed_duration_secs": limits["seconds"],
                "max_memory": limits["memory_bytes"],
                "max_recursion_depth": _RECURSION_DEPTH,
                "max_suspensions": _LOOKUPS + _SUSPENSIONS_PER_CALL * limits["tool_calls"],
            },
            type_check=bool(stubs),
            type_check_stubs=stubs or None,
            type_check_format="jsonlines",
            # Every sleep is asked for: monty's own count begins again with each load.
            os_policy={"sleep": "call_host"},
        )
        self._session = session.__enter__()
        self._process = session.worker_pid
        return session

    @property
    def _output(self) -> str:
        return self._progress.output + "".join(self._printed)

    def _drive(self, step: Callable[[], Snapshot]) -> Outcome:
        """Let it go on until it ends or waits."""
        try:
            outcome = self._outcome(step())
        except _LimitExceeded as error:
            outcome = failed("limit", "LimitReached", str(error), limit=error.limit)
        except MontySyntaxError as error:
            outcome = failed("syntax", "SyntaxError", error.display("msg"), _line(error))
        except MontyRuntimeError as error:
            outcome = _raised(error)
        except MontyCrashedError as error:
            limit = "seconds" if error.timed_out else None
            outcome = failed("limit" if limit else "crash", "InterpreterLost", str(error), limit=limit)
        if self._room < 0:
            # However it ended: it may have been done before it could be stopped.
            message = f"more than {self._limits['output_bytes']:,} bytes of output"
            outcome = failed("limit", "LimitReached", message, limit="output_bytes")
        if outcome["type"] != "paused":
            outcome["output"] = self._output
        return outcome

    def _print(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        encoded = text.encode()
        if self._room >= 0:
            kept = text if len(encoded) <= self._room else encoded[: self._room].decode(errors="ignore")
            self._printed.append(kept)
        self._room -= len(encoded)
        if self._room < 0 and self._process is not None:
            # Whatever a callback raises is told only when the program's time is over, and it prints on until then.
            os.kill(self._process, signal.SIGKILL)
            self._process = None

    def _outcome(self, snapshot: Snapshot) -> Outcome:
        while True:
            match snapshot:
                case FutureSnapshot():
                    return self._paused(snapshot)
                case FunctionSnapshot() if snapshot.is_os_function:
                    snapshot = self._system_call(snapshot)
                case FunctionSnapshot():
                    snapshot = self._call(snapshot)
                case NameLookupSnapshot():
                    name = snapshot.variable_name
                    snapshot = snapshot.resume(value=_function(name)) if name in self._tools else snapshot.resume()
                case MontyComplete():
                    return self._finished(snapshot)
                case _:
                    assert_never(snapshot)

    def _call(self, call: FunctionSnapshot) -> Snapshot:
        """Note a call, to be answered when it is awaited; or raise in the program what is wrong with it."""
        number, name = call.call_id, str(call.function_name)
        if number in self._progress.open:
            # It was loaded from a state that was taken at the call itself.
            return call.resume({"future": ...})
        if call.object_id is not None or name not in self._tools:
            return call.resume({"exc_type": "NameError", "message": f"name '{name}' is not defined"})
        try:
            bound = bind(name, self._tools[name], call.args, call.kwargs)
            arguments = {parameter: _argument(parameter, value) for parameter, value in bound.items()}
        except TypeError as error:
            return call.resume({"exc_type": "TypeError", "message": str(error)})
        self._count(name, arguments)
        self._progress.open[number] = {"name": name, "arguments": arguments}
        return call.resume({"future": ...})

    def _system_call(self, call: FunctionSnapshot) -> Snapshot:
        """A file, a variable, a module: there is none here, and monty says so in its own words. Sleep is granted."""
        if call.function_name not in _SLEEPS:
            return call.resume_not_handled()
        seconds = max(0.0, float(call.args[0]))
        self._progress.slept += seconds
        if not self._progress.slept <= (most := self._limits["sleep_seconds"]):
            raise _LimitExceeded("sleep_seconds", f"{self._progress.slept:g} s of sleep, of at most {most:g}")
        time.sleep(seconds)
        return call.resume({"return_value": None})

    def _count(self, name: str, arguments: dict[str, Any]) -> None:
        self._progress.calls += 1
        if self._progress.calls > (most := self._limits["tool_calls"]):
            raise _LimitExceeded("tool_calls", f"more than {most} tool calls")
        size = len(_encode(arguments).encode())
        if size > (most := self._limits["argument_bytes"]):
            raise _LimitExceeded("argument_bytes", f"{size:,} bytes of arguments for {name}(), of at most {most:,}")

    def _paused(self, awaited: FutureSnapshot) -> Outcome:
        self._awaited = awaited
        state = pack(self._progress, self._output, awaited.dump(), self._version)
        if len(state) > (most := self._limits["state_bytes"]):
            raise _LimitExceeded(
                "state_bytes", f"{len(state):,} bytes of live values at a tool call, of at most {most:,}"
            )
        calls = [{"id": number, **self._progress.open[number]} for number in sorted(awaited.pending_call_ids)]
        return {"type": "paused", "calls": calls, "state": base64.b64encode(state).decode()}

    def _finished(self, complete: MontyComplete) -> Outcome:
        if self._progress.open:
            name = next(iter(self._progress.open.values()))["name"]
            return failed("error", "NeverAwaited", f"{name}() was called but never awaited, so it did not happen")
        most = self._limits["value_bytes"]
        try:
            value = plain(complete.output, describe, most=most)
        except NotJson as error:
            raise _LimitExceeded("value_bytes", f"a result that is too large: {error}") from error
        size = len(_encode(value).encode())
        if size > most:
            raise _LimitExceeded("value_bytes", f"a result of {size:,} bytes, of at most {most:,}")
        return {"type": "finished", "value": value}


def _settle(awaited: FutureSnapshot, answers: dict[str, Any]) -> Snapshot:
    try:
        return awaited.resume({int(number): _result(answer) for number, answer in answers.items()})
    except TypeError:
        # An exception monty has no name for. It says so before anything has gone on.
        return awaited.resume({int(number): _result(answer, is_known=False) for number, answer in answers.items()})


def _result(answer: dict[str, Any], *, is_known: bool = True) -> Any:
    if "value" in answer:
        return {"return_value": answer["value"]}
    if is_known:
        return {"exc_type": answer["type"], "message": answer["message"]}
    return {"exc_type": "RuntimeError", "message": f"{answer['type']}: {answer['message']}"}


def _function(name: str) -> Callable[[], None]:
    """What stands for a tool that is named and not called: monty takes its name, and calls nothing."""

    def tool() -> None: ...

    tool.__name__ = name
    return tool


def _argument(parameter: str, value: Any) -> Any:
    try:
        return plain(value, refuse)
    except NotJson as error:
        raise TypeError(f"argument '{parameter}' cannot be given to a tool: {error}") from error


def _raised(error: MontyRuntimeError) -> Outcome:
    described = error.display("type-msg")
    limit = next((limit for words, limit in _LIMITS.items() if described.startswith(words)), None)
    kind, _, _ = described.partition(": ")
    return failed("limit" if limit else "error", kind, error.display("msg"), _line(error), limit)


def _line(error: MontyRuntimeError | MontySyntaxError) -> int | None:
    frames = error.traceback()
    return frames[-1].line if frames else None


def _bad_state(why: str) -> Outcome:
    return failed("state", "BadState", f"The state cannot be continued: {why}.")


def failed(kind: str, error: str, message: str, line: int | None = None, limit: str | None = None) -> Outcome:
    """The answer for a program that stopped before its end."""
    return {
        "type": "failed", "kind": kind, "error": error[:200], "message": message[:_MESSAGE_CHARACTERS], "line": line,
        "limit": limit, "output": "",
    }  # fmt: skip
