"""Code mode: a program over an agent's own tools, as one tool. Its calls are judged and recorded like any others.

Where the program stands is kept at every pause. Killed in the middle, it goes on from there in a new worker, and the
calls that were answered are not made again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any, Final, assert_never

from pydantic import Field

from cellwright.agents.agent_context import MakeProgram
from cellwright.agents.catalogue import PROGRAM
from cellwright.agents.styles import program_tools
from cellwright.errors import Defect, Unavailable
from cellwright.journal.values import Json
from cellwright.notebook.prompt_summary import clip
from cellwright.tools.actions.steps import (
    CallFailure,
    ProgramFailed,
    ProgramFinished,
    ProgramLimits,
    ProgramLost,
    ProgramPaused,
    ProgramStep,
)
from cellwright.tools.actions.steps import ProgramCall as AskedCall
from cellwright.tools.actions.worker import ActionWorker, ProgramRun
from cellwright.tools.callers import GuardedCaller
from cellwright.tools.stubs import ToolSignature
from cellwright.tools.tool import (
    CallContext,
    Done,
    ErrorKind,
    Refusal,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    has_worked,
    result_text,
    tool,
)

LIMITS: Final = ProgramLimits(state_bytes=4 << 20)
"""Every pause is written into the journal, so its state is smaller than the interpreter's own limit."""
_WORKERS: Final = 3
"""So many may be lost under one piece of a program."""
_NAMED_CALLS: Final = 30
_FAILED_TOKENS: Final = 600
_RAISED: Final[dict[ErrorKind, str]] = {
    "bad-arguments": "ValueError",
    "not-found": "LookupError",
    "timed-out": "TimeoutError",
}


def programs(worker: ActionWorker, *, limits: ProgramLimits = LIMITS) -> MakeProgram:
    """For `AgentContext.program`: agents write programs, and this worker runs them."""
    return partial(program_tool, worker, limits)


def program_tool(worker: ActionWorker, limits: ProgramLimits, caller: GuardedCaller) -> Tool:
    """The tool `run_program` over all of the caller's tools but those that ask a person or end the work."""
    signatures = program_tools(caller.toolset).signatures()

    @tool(name=PROGRAM, is_named=False, own_steps=True)
    async def run_program(
        calling: CallContext,
        code: Annotated[str, Field(description="Python. The value of its last expression comes back.", min_length=1)],
    ) -> ToolResult:
        """Run a small Python program that awaits your functions: loops, conditions, several calls at once.

        `await asyncio.gather(...)` makes calls next to each other. A call that fails raises; catch it if you can go on.
        There are no files, no network and few modules here: the functions are the only way out. You get back the
        last expression's value and what was printed, so return or print only what you need.
        """
        program = _Program(worker=worker, caller=caller, signatures=signatures, limits=limits, calling=calling)
        return await program.run(code)

    return run_program


# ── where it stands, as the journal keeps it ──


def _dump(step: ProgramStep) -> Any:
    match step:
        case ProgramPaused(calls=calls, state=state):
            asked = [asdict(call) for call in calls]
            return {"kind": "waits", "calls": asked, "state": base64.b64encode(state).decode()}
        case ProgramFinished():
            return {**asdict(step), "kind": "ended"}
        case ProgramFailed(kind=kind):
            return {**asdict(step), "kind": "broke", "why": kind}
        case ProgramLost(reason=reason):
            return {"kind": "gone", "reason": reason}
        case _:
            assert_never(step)


def _load(kept: Any) -> ProgramStep:
    match kept:
        case {"kind": "waits", "calls": calls, "state": state}:
            return ProgramPaused(calls=tuple(AskedCall(**call) for call in calls), state=base64.b64decode(state))
        case {"kind": "ended", **rest}:
            return ProgramFinished(**rest)
        case {"kind": "broke", "why": kind, **rest}:
            return ProgramFailed(kind=kind, **rest)
        case {"kind": "gone", "reason": reason}:
            return ProgramLost(reason=reason, state=None)
        case _:
            raise Defect(f"Where a program stood cannot be read: {str(kept)[:100]!r}.")


# ── running it ──


_MadeCall = tuple[ToolCall, ToolResult]
"""A call the program made, and what came of it."""


@dataclass(slots=True, kw_only=True)
class _Program:
    """One program of an agent. What it knows beside the journal is only a quicker way: the live run."""

    worker: ActionWorker
    caller: GuardedCaller
    signatures: tuple[ToolSignature, ...]
    limits: ProgramLimits
    calling: CallContext
    live: ProgramRun | None = None
    made: list[_MadeCall] = field(default_factory=list[_MadeCall])

    async def run(self, code: str) -> ToolResult:
        """To its end: piece by piece, each a step, and between them the calls."""
        stands = await self._step("begin", lambda: _while_lost(lambda: self._start(code)))
        while isinstance(stands, ProgramPaused):
            paused, answers = stands, await self._answer(stands.calls)
            stands = await self._step("go on", lambda: self._go_on(code, paused, answers))  # noqa: B023 - awaited at once
        return _program_result(stands, self.made)

    async def _step(self, verb: str, work: Callable[[], Awaitable[ProgramStep]]) -> ProgramStep:
        async def piece() -> Json:
            return _dump(await work())

        return _load(await self.calling.flow.step(f"program {self.calling.call.id} {verb}", piece))

    async def _start(self, code: str) -> ProgramStep:
        self.live = await self.worker.start(code, tools=self.signatures, limits=self.limits)
        return self.live.step

    async def _go_on(self, code: str, paused: ProgramPaused, answers: dict[int, Any]) -> ProgramStep:
        """From where it paused; nothing in the world changes here."""
        step = await _while_lost(lambda: self._resume(paused, answers))
        if isinstance(step, ProgramFailed) and step.kind == "state":
            return await _while_lost(lambda: self._again(code, step))
        return step

    async def _resume(self, paused: ProgramPaused, answers: dict[int, Any]) -> ProgramStep:
        """With the live run if there is one, else from what was kept."""
        run = self.live
        if run is None or not isinstance(run.step, ProgramPaused):
            run = self.live = await self.worker.load(paused.state, tools=self.signatures, limits=self.limits)
        return await run.resume(answers) if isinstance(run.step, ProgramPaused) else run.step

    async def _again(self, code: str, refused: ProgramFailed) -> ProgramStep:
        """From its beginning, because another interpreter wrote the state; answered calls are not made again.

        If it does not ask for exactly the same calls this time (it may look at the clock), it cannot go on.
        """
        known = {call.id: (call, result) for call, result in self.made}
        run = self.live = await self.worker.start(code, tools=self.signatures, limits=self.limits)
        while known and isinstance(run.step, ProgramPaused):
            asked = [(call, known.pop(self._id(call.id), None)) for call in run.step.calls]
            same = {
                call.id: made[1]
                for call, made in asked
                if made is not None and (made[0].name, made[0].arguments) == (call.name, dict(call.arguments))
            }
            if len(same) < len(asked):
                return refused
            await run.resume({number: _answered(result) for number, result in same.items()})
        return run.step if not known or isinstance(run.step, ProgramLost) else refused

    def _id(self, number: int) -> str:
        return f"{self.calling.call.id}.{number}"

    async def _answer(self, asked: Sequence[AskedCall]) -> dict[int, Any]:
        calls = [ToolCall(id=self._id(each.id), name=each.name, arguments=dict(each.arguments)) for each in asked]
        results = await self.caller.call_all(self.calling.flow, calls)
        self.made += zip(calls, results, strict=True)
        return {each.id: _answered(result) for each, result in zip(asked, results, strict=True)}


async def _while_lost(piece: Callable[[], Awaitable[ProgramStep]]) -> ProgramStep:
    """A piece of a program, tried with another worker each time one is lost under it or does not start."""
    step: ProgramStep = ProgramLost(reason="it never began", state=None)
    for _ in range(_WORKERS):
        try:
            step = await piece()
        except Unavailable as error:
            step = ProgramLost(reason=error.message, state=None)
        if not isinstance(step, ProgramLost):
            break
    return step


def _answered(result: ToolResult) -> Any:
    match result:
        case Done(text=text, value=value):
            return text if value is None else value
        case Refusal(feedback=feedback):
            return CallFailure(type="PermissionError", message=feedback)
        case ToolError(kind=kind, message=message, hint=hint):
            return CallFailure(type=_RAISED.get(kind, "RuntimeError"), message=f"{message} {hint}".rstrip())
        case _:
            assert_never(result)


# ── telling ──


def _program_result(stands: ProgramFinished | ProgramFailed | ProgramLost, made: Sequence[_MadeCall]) -> ToolResult:
    """What the model reads, as data: values, output and errors hold what tools found outside."""
    if isinstance(stands, ProgramLost):
        # In our own words alone: an error is not fenced.
        return ToolError(
            kind="unavailable",
            message=f"The program did not come to its end: {_WORKERS} workers were lost under it, the last because "
            f"{stands.reason.rstrip('.')}. {_done_before(made)}",
            hint="Nothing is wrong with it as such. Look what is done already before you write another one.",
        )
    lines: list[str] = []
    value: Json = None
    match stands:
        case ProgramFinished(output=output):
            value = stands.value
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines += [f"value: {shown}"]
        case ProgramFailed(output=output):
            where = f" in line {stands.line}" if stands.line is not None else ""
            lines += [f"The program failed{where} ({stands.kind}): {stands.type}: {stands.message}"]
            lines += [stands.hint] if stands.hint else []
        case _:
            assert_never(stands)
    lines += ["printed:", output.rstrip("\n")] if output else []
    is_ok = isinstance(stands, ProgramFinished)
    # What did not work, whether or not the program looked; of a program that broke off, everything that was done.
    lines += [clip(result_text(result), _FAILED_TOKENS) for _, result in made if not has_worked(result)]
    lines += [_done_before(made)] if made and not is_ok else []
    kept: dict[str, Json] = {
        "ok": is_ok and all(has_worked(result) for _, result in made if isinstance(result, Done)),
        "value": value,
        "calls": [{"id": call.id, "name": call.name, "worked": has_worked(result)} for call, result in made],
    }
    pictures = [result.picture for _, result in made if isinstance(result, Done) and result.picture]
    picture = pictures[-1] if pictures else None
    return Done(text="\n".join(lines), value=kept | _cells(made), picture=picture, is_untrusted=True)


def _done_before(made: Sequence[_MadeCall]) -> str:
    if not made:
        return "Nothing had been called."
    names = [f"{call.name}{'' if has_worked(result) else ' (failed)'}" for call, result in made[:_NAMED_CALLS]]
    more = f" and {len(made) - _NAMED_CALLS} more" if len(made) > _NAMED_CALLS else ""
    return f"Called before that, and not undone: {', '.join(names)}{more}."


def _cells(made: Sequence[_MadeCall]) -> dict[str, Json]:
    """What became of cells, the last outcome of each: so that failures in a program are repaired like others."""
    cells: dict[str, Json] = {}
    for _, result in made:
        match result:
            case Done(value={"ok": bool(), "cells": list(outcomes)}):
                found: list[Any] = outcomes  # JSON
                cells |= {str(outcome["cell"]): outcome for outcome in found if "cell" in outcome}
            case _:
                pass
    return {"cells": list(cells.values()), "problem": ""} if cells else {}
