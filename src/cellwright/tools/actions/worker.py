"""Programs as actions: one cage, a fresh interpreter for each program, tools called by whoever drives it."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, assert_never

import anyio
import msgspec

from cellwright.errors import Defect
from cellwright.framing import BadFrame
from cellwright.journal.values import Json
from cellwright.kernel.process.zygote import Zygote
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import Limits, Tier
from cellwright.tools.actions import wire
from cellwright.tools.actions.steps import (
    MOST_MESSAGE_CHARACTERS,
    CallFailure,
    ProgramCall,
    ProgramFinished,
    ProgramLimits,
    ProgramLost,
    ProgramPaused,
    ProgramStep,
    program_failed,
)
from cellwright.tools.actions.worker_process import (
    CAGE_LIMITS,
    WorkerConnection,
    WorkerLost,
    WorkerTimeout,
    cage_spec,
    command,
)
from cellwright.tools.stubs import Contract, ToolSignature

_GRACE_SECONDS = 30.0
"""Beyond a program's own time: checking its types, writing its state, a busy machine."""
_MOST_RESULT_BYTES = 16 << 20
_MOST_RESULTS_BYTES = 64 << 20
"""Of all answers to one pause together."""
_OUTPUT_SLACK_BYTES = 16
_USUAL_LIMITS = ProgramLimits()

GetZygote = Callable[[], Awaitable[Zygote]]
"""Whichever lives: one that died is replaced."""


class ActionWorker:
    """Runs programs in a cage of its own; one that was lost is replaced when the next program comes."""

    def __init__(self, zygote: GetZygote, nowhere: Path, tier: Tier, limits: Limits) -> None:
        self._zygote = zygote
        self._spec = cage_spec(nowhere, tier, limits)
        self._starting = anyio.Lock(fast_acquire=True)
        self._conversation: WorkerConnection | None = None
        self._numbers = count(1)
        self._contract = Contract(())

    @classmethod
    @asynccontextmanager
    async def open(
        cls, zygote: GetZygote, *, tier: Tier = "A", limits: Limits = CAGE_LIMITS
    ) -> AsyncGenerator[ActionWorker]:
        """A worker that is ready; everything in its cage ends with the block."""
        with private_directory("actions") as nowhere:
            worker = cls(zygote, nowhere, tier, limits)
            try:
                await worker._ready()
                yield worker
            finally:
                with anyio.CancelScope(shield=True):
                    await worker._close()

    @property
    def pid(self) -> int | None:
        """The first process of its cage, as the host sees it; None when it has none."""
        conversation = self._conversation
        return None if conversation is None or conversation.is_over else conversation.pid

    async def start(
        self,
        program: str,
        *,
        tools: Iterable[ToolSignature],
        limits: ProgramLimits | None = None,
        is_checked: bool = True,
    ) -> ProgramRun:
        """Run a program until it needs a tool or ends; `run.step` says which.

        Checked means that calls which do not fit their tools are reported before anything ran, for some 40 ms.
        """
        contract = self._contract_for(tuple(tools))
        limits = limits or _USUAL_LIMITS
        run = ProgramRun(await self._ready(), next(self._numbers), contract, limits)
        size = len(program.encode("utf-8", "replace"))
        if size > limits.program_bytes:
            message = f"a program of {size:,} bytes, of at most {limits.program_bytes:,}"
            run.step = program_failed("limit", "LimitReached", message, limit="program_bytes")
        else:
            known = contract.stubs if is_checked else ""
            await run.begin({"do": "start", "program": _clean(program), "stubs": known})
        return run

    async def load(
        self, state: bytes, *, tools: Iterable[ToolSignature], limits: ProgramLimits | None = None
    ) -> ProgramRun:
        """Continue a paused program from its state, in this process or another day.

        Calls that were answered before the state was taken are not asked again. A state of another version of monty
        is refused: the step is `ProgramFailed` then.
        """
        contract = self._contract_for(tuple(tools))
        run = ProgramRun(await self._ready(), next(self._numbers), contract, limits or _USUAL_LIMITS, state)
        await run.begin(_load(state))
        return run

    def _contract_for(self, tools: tuple[ToolSignature, ...]) -> Contract:
        """The last one again, if the tools are the same: making its stubs takes as long as checking a program."""
        if tools != self._contract.tools:
            self._contract = Contract(tools)
        return self._contract

    async def _ready(self) -> WorkerConnection:
        async with self._starting:
            if self._conversation is not None and not self._conversation.is_over:
                return self._conversation
            await self._close()
            zygote = await self._zygote()
            conversation = WorkerConnection(await zygote.start(self._spec, command=command()))
            self._conversation = conversation
            await conversation.until_ready()
            return conversation

    async def _close(self) -> None:
        conversation, self._conversation = self._conversation, None
        if conversation is not None:
            await conversation.close()


@dataclass(slots=True, eq=False)
class ProgramRun:
    """One program. While its step is `ProgramPaused`, `resume` it with answers."""

    _conversation: WorkerConnection
    _number: int
    _contract: Contract
    _limits: ProgramLimits
    _state: bytes | None = None
    step: ProgramStep = field(init=False)
    """Where it stands."""

    def __post_init__(self) -> None:
        self.step = ProgramLost(reason="it never began", state=self._state)

    async def begin(self, request: dict[str, Any]) -> None:
        """Start or load it; done by the worker."""
        agreed = {"tools": self._contract.parameters, "limits": _sent_limits(self._limits)}
        await self._take({**request, **agreed})

    async def resume(self, results: Mapping[int, Json | CallFailure]) -> ProgramStep:
        """Go on with the answers to some or all of its calls, by their ids."""
        paused = self.step
        if not isinstance(paused, ProgramPaused):
            raise Defect("Only a paused program can be resumed.")
        if not results or not results.keys() <= {call.id for call in paused.calls}:
            raise Defect(f"A program waits for the calls {[call.id for call in paused.calls]}, not {list(results)}.")
        most = min(_MOST_RESULT_BYTES, _MOST_RESULTS_BYTES // len(results))
        answers = {str(number): _answer(result, most) for number, result in results.items()}
        request = {"do": "resume", "answers": answers}
        step = await self._take(request)
        if isinstance(step, ProgramLost) and not self._conversation.is_over:
            # So many wait there that this one had to make room.
            await self.begin(_load(paused.state))
            step = await self._take(request) if isinstance(self.step, ProgramPaused) else self.step
        return step

    async def drop(self) -> None:
        """Forget a paused program; its state can still be loaded."""
        if isinstance(self.step, ProgramPaused) and not self._conversation.is_over:
            await self._take({"do": "drop"})

    async def _take(self, request: dict[str, Any]) -> ProgramStep:
        seconds = self._limits.seconds + self._limits.sleep_seconds + _GRACE_SECONDS
        try:
            # Checking types takes long enough to let others run meanwhile.
            is_brief = not request.get("stubs")
            answer = await self._conversation.ask({**request, "run": self._number}, seconds=seconds, is_brief=is_brief)
            self.step = self._read(answer)
        except BadFrame as error:
            self._conversation.end(f"it broke the protocol: {error}")
            self.step = ProgramLost(reason=f"it broke the protocol: {error}", state=self._state)
        except WorkerTimeout:
            message = f"no end within {seconds:.0f} s"
            self.step = program_failed("limit", "LimitReached", message, limit="seconds")
        except WorkerLost as error:
            self.step = ProgramLost(reason=str(error), state=self._state)
        if isinstance(self.step, ProgramPaused):
            self._state = self.step.state
        return self.step

    def _read(self, answer: wire.WorkerMessage) -> ProgramStep:
        match answer:
            case wire.PausedMessage():
                return self._paused(answer)
            case wire.FinishedMessage():
                value = wire.value_of(answer.value, most_bytes=self._limits.value_bytes)
                return ProgramFinished(value=value, output=self._output(answer.output))
            case wire.FailedMessage():
                output = self._output(answer.output)
                return program_failed(answer.kind, answer.error, answer.message, answer.line, answer.limit, output)
            case wire.DroppedMessage():
                return ProgramLost(reason="it was dropped", state=self._state)
            case wire.ReadyMessage():
                raise BadFrame("it began again")
            case _:
                assert_never(answer)

    def _paused(self, answer: wire.PausedMessage) -> ProgramPaused:
        limits = self._limits
        calls = tuple(
            ProgramCall(
                id=call.id,
                name=call.name,
                arguments=wire.arguments_of(call.arguments, most_bytes=limits.argument_bytes),
            )
            for call in answer.calls[: limits.tool_calls + 1]
        )
        if not 0 < len(calls) <= limits.tool_calls or len({call.id for call in calls}) < len(calls):
            raise BadFrame("more calls than it may make, or none")
        if unknown := [call.name for call in calls if call.name not in self._contract.names]:
            raise BadFrame(f"a call of {unknown[0][:100]!r}, which is no tool here")
        if len(answer.state) > limits.state_bytes:
            raise BadFrame(f"a state of {len(answer.state):,} bytes")
        return ProgramPaused(calls=calls, state=answer.state)

    def _output(self, output: str) -> str:
        if len(output.encode("utf-8", "replace")) > self._limits.output_bytes + _OUTPUT_SLACK_BYTES:
            raise BadFrame("more output than it may print")
        return output


@lru_cache(maxsize=16)
def _sent_limits(limits: ProgramLimits) -> msgspec.Raw:
    """As they travel: nearly every program has the same ones."""
    sent = asdict(limits)
    sent["memory_bytes"] = sent.pop("memory_mb") << 20
    return msgspec.Raw(msgspec.json.encode(sent))


def _load(state: bytes) -> dict[str, Any]:
    return {"do": "load", "state": base64.b64encode(state).decode()}


def _answer(result: Json | CallFailure, most: int) -> dict[str, Any]:
    if isinstance(result, CallFailure):
        return {"type": _clean(result.type), "message": _clean(result.message[:MOST_MESSAGE_CHARACTERS])}
    try:
        body = msgspec.json.encode(result)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return {"type": "ValueError", "message": f"the result is no JSON: {_clean(str(error)[:200])}"}
    if len(body) > most:
        return {"type": "ValueError", "message": f"the result has {len(body):,} bytes; a program takes {most:,}"}
    return {"value": msgspec.Raw(body)}


def _clean(text: str) -> str:
    """Text that can be sent: lone surrogates, as odd file names have them, cannot."""
    return text.encode("utf-8", "replace").decode()
