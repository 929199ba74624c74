"""Functions of a notebook that agents may call, and what became of a call: a cage's words as our own values.

A call runs in the live kernel and leaves the notebook as it was: no cell runs, no name is bound. Everything here was
said by a hostile process, so every text is cut, every schema rebuilt and every name checked once more.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio
import msgspec

from cellwright.ids import CellId
from cellwright.kernel.function_schema import UnsoundSchema, is_name, sound_schema
from cellwright.kernel.kernel import Kernel
from cellwright.kernel.observation import CellFault, VariablePreview, fault_of, preview_of
from cellwright_guest import wire
from cellwright_guest.tool import tool

__all__ = ["BadCall", "CallFailed", "CallOutcome", "CallStopped", "CellFunction", "Returned", "Value", "tool"]

logger = logging.getLogger(__name__)

JSON_BYTES: Final = 1 << 18
"""The largest value that comes back whole."""
_FUNCTIONS: Final = 200
_DESCRIPTION: Final = 4_000
_LINE: Final = 2_000
_CONSOLE: Final = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFunction:
    """A function that a cell defines and marks with `@cellwright.tool`."""

    name: str
    cell: CellId
    description: str = ""
    """Its docstring: the notebook's words, not ours."""
    parameters: dict[str, Any]
    """JSON schema of its arguments, an object."""
    problem: str = ""
    """Why it cannot be called; then the parameters say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value of the notebook."""

    preview: VariablePreview
    is_whole: bool
    """True when `json` is all of it; otherwise there is only the preview."""
    json: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The function gave back a value."""

    value: Value
    console: str = ""
    rebound: tuple[str, ...] = ()
    """Names of the notebook it had bound with `global`; they are again as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed:
    """The function raised."""

    fault: CellFault
    """Its line is inside the cell that defines the function."""
    cell: CellId | None = None
    console: str = ""
    rebound: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BadCall:
    """It was not called: no such function, or arguments that do not fit."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStopped:
    """It did not finish."""

    reason: str
    is_late: bool = False
    """It was stopped at its deadline."""
    is_kernel_lost: bool = False
    """It took the kernel with it; the next call starts another and runs what had run."""
    console: str = ""


CallOutcome = Returned | CallFailed | BadCall | CallStopped


# ── asking ──


@dataclass(slots=True)
class Asking:
    """A question to the kernel that runs no cells."""

    request: int
    arrived: anyio.Event
    answer: wire.Aside | None = None
    is_late: bool = False

    def hear(self, answer: wire.Aside) -> None:
        """The first answer counts."""
        self.answer = self.answer or answer
        self.arrived.set()

    async def wait(self, kernel: Kernel, over: anyio.Event, seconds: float) -> None:
        """Until it is answered or the kernel is over. Whatever runs for it is stopped at the deadline.

        Also when whoever asked is gone: nothing may go on running behind their back.
        """
        try:
            with anyio.move_on_after(seconds):
                async with anyio.create_task_group() as either:
                    either.start_soon(_cancel_after, over, either.cancel_scope)
                    await self.arrived.wait()
                    either.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await kernel.interrupt(self.arrived)
            raise
        if not self.arrived.is_set() and not over.is_set():
            self.is_late = True
            await kernel.interrupt(self.arrived)
            if not self.arrived.is_set():
                await over.wait()


async def _cancel_after(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


# ── from the wire ──


def functions_of(message: wire.Functions) -> tuple[CellFunction, ...]:
    """The functions a guest names, as far as they are sound."""
    named = [spec for spec in message.functions[:_FUNCTIONS] if is_name(spec.name)]
    return tuple({spec.name: _function(spec) for spec in named}.values())


def call_outcome(asked: Asking, *, seconds: float, end: str) -> CallOutcome:
    """What became of a call; `end` is how the kernel ended, if it did."""
    ended = asked.answer
    late = f"Stopped after {seconds:g} s, the limit for this call."
    if not isinstance(ended, wire.FunctionEnded):
        reason = late if asked.is_late else f"The kernel ended during the call: {end}."
        return CallStopped(reason=reason, is_late=asked.is_late, is_kernel_lost=True)
    if ended.refused:
        return BadCall(message=ended.refused[:_LINE])
    console, rebound = ended.console[:_CONSOLE], tuple(name[:100] for name in ended.rebound[:20])
    fault = fault_of(ended.error)
    if fault is not None and fault.type == "Interrupted":
        return CallStopped(reason=late if asked.is_late else fault.message, is_late=asked.is_late, console=console)
    if fault is not None:
        cell = CellId(ended.cell[:200])
        return CallFailed(fault=fault, cell=cell, console=console, rebound=rebound)
    if ended.value is None:
        return CallFailed(fault=CellFault(type="Unknown", message="The kernel said nothing of its result."))
    return Returned(value=value_of(ended.value), console=console, rebound=rebound)


def values_of(message: wire.Taken) -> dict[str, Value]:
    """Variables by name."""
    return {value.variable.name: value_of(value) for value in message.values[:500]}


def value_of(value: wire.Value) -> Value:
    """A guest's value as our own."""
    shown = Value(preview=preview_of(value.variable), is_whole=False)
    if not value.json or len(value.json) > JSON_BYTES:
        return shown
    try:
        return replace(shown, is_whole=True, json=msgspec.json.decode(value.json))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return shown


def _function(spec: wire.FunctionSpec) -> CellFunction:
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    problem = spec.problem[:300]
    if not problem:
        try:
            parameters = sound_schema(msgspec.json.decode(spec.parameters))
        except (UnsoundSchema, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            problem = f"What it takes cannot be told: {str(error)[:200]}."
    return CellFunction(
        name=spec.name,
        cell=CellId(spec.cell[:200]),
        description=spec.description[:_DESCRIPTION],
        parameters=parameters,
        problem=problem,
    )
