"""Marked functions of the notebook: what there is, and one called without the notebook noticing; inputs from outside.

A call runs in the kernel and sees its variables; no cell runs, no name is defined or bound anew. What a function does
to an object it was given, a list appended to for instance, stays done. `given` sets a `mo.ui` element from outside
while its own cell runs, so that nothing runs twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

import msgspec
from marimo._plugins.ui import dropdown
from marimo._plugins.ui._core.ui_element import UIElement
from marimo._runtime.context import get_context
from marimo._runtime.context.kernel_context import KernelRuntimeContext
from marimo._runtime.runtime import Kernel
from marimo._types.ids import CellId_t

from cellwright_cells.tool_mark import MARK
from cellwright_guest import faults, report_wire, wire
from cellwright_guest.json_values import fit, schema_of, value_of
from cellwright_guest.previews import identity, within
from cellwright_guest.streams import DescriptorCapture, encodable


def given(made: Any, value: Any) -> Any:
    """The element, set to `value` as a person would; anything that is no element is replaced by the value."""
    if not isinstance(made, UIElement):
        return value
    running = get_context().execution_context
    assert running is not None
    # As marimo does for the browser: a form may then read the element it holds.
    before, running.setting_element_value = running.setting_element_value, True
    try:
        # A dropdown's frontend sends the chosen key in a list.
        made._update_value([value] if isinstance(made, dropdown) and isinstance(value, str) else value)
    finally:
        running.setting_element_value = before
    return made


MOST_FUNCTIONS: Final = 200
_DESCRIPTION: Final = 4_000
_SCHEMA_BYTES: Final = 1 << 15
_LISTING_TIMEOUT_SECONDS: Final = 1.0
_CONSOLE: Final = 20_000
_INTERRUPTED: Final = report_wire.CellError(type="Interrupted", message="The call was interrupted before it finished.")
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContext:
    """The kernel that functions are called in."""

    kernel: Kernel
    context: KernelRuntimeContext
    loop: asyncio.AbstractEventLoop
    captured: DescriptorCapture | None


def list_functions(asked: wire.ListFunctions, kernel: Kernel) -> wire.Functions:
    """Every marked function that a cell defines, by the name it is defined under."""
    found = [_spec_of(name, function, kernel) for name, function in _marked(kernel)]
    return wire.Functions(request=asked.request, functions=found[:MOST_FUNCTIONS])


def call_function(asked: wire.CallFunction, scope: FunctionContext) -> wire.FunctionEnded:
    """Call one. Whatever it does, its answer is a value; only the host's kill handle ends it otherwise."""
    known = dict(_marked(scope.kernel))
    function = known.get(asked.name)
    if function is None:
        there = ", ".join(sorted(known)[:50]) or "none; run the cell that defines it first"
        refused = f"No function {asked.name[:80]!r} is marked with @cellwright.tool. There is: {there}."
        return wire.FunctionEnded(request=asked.request, refused=encodable(refused[:2_000]))
    return _CellFunctionCall(asked, scope, _cell_of(asked.name, scope.kernel)).outcome(function)


def _marked(kernel: Kernel) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in sorted(kernel.graph.definitions):
        value: Any = kernel.globals.get(name)
        # Asked of the instance's own dictionary: no code of the value's runs for it.
        if not isinstance(value, type) and identity.instance_attributes(value).get(MARK) is True and callable(value):
            yield name, value


def _cell_of(name: str, kernel: Kernel) -> CellId_t:
    return min(kernel.graph.definitions[name])


def _spec_of(name: str, function: Callable[..., Any], kernel: Kernel) -> report_wire.FunctionSpec:
    cell = _cell_of(name, kernel)

    def described() -> report_wire.FunctionSpec:
        parameters = msgspec.json.encode(schema_of(function))
        if len(parameters) > _SCHEMA_BYTES:
            raise ValueError("its parameters take too much to describe")
        description = (inspect.getdoc(function) or "")[:_DESCRIPTION]
        return report_wire.FunctionSpec(name=name, cell=cell, description=encodable(description), parameters=parameters)

    def problem(error: BaseException) -> report_wire.FunctionSpec:
        why = f"{type(error).__name__}: {error}"[:300]
        return report_wire.FunctionSpec(name=name, cell=cell, problem=encodable(why))

    return within(_LISTING_TIMEOUT_SECONDS, described, problem)


# ── one call ──


class _NotFit(Exception):
    """The arguments are not for this function. Private, so that no function can raise it."""


class _CellFunctionCall:
    """One call and what it leaves behind."""

    def __init__(self, asked: wire.CallFunction, scope: FunctionContext, cell: CellId_t) -> None:
        self._asked = asked
        self._scope = scope
        self._cell = cell
        self._printed = _PrintBuffer()
        self._task: asyncio.Future[Any] | None = None
        self._interrupts = 0
        self._is_over = False

    def outcome(self, function: Callable[..., Any]) -> wire.FunctionEnded:
        kernel = self._scope.kernel
        before, states = dict(kernel.globals), set(kernel.state_updates)
        value, error, refused = None, None, ""
        handler = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, self._on_interrupt)
            value = self._result(function)
            self._is_over = True
        except _NotFit as misfit:
            refused = encodable(f"{self._asked.name}: {misfit}"[:2_000])
        except KeyboardInterrupt:
            error = _INTERRUPTED
        except BaseException as raised:  # noqa: BLE001  # SystemExit and mo.stop() too: it is one call, not the kernel
            is_ours = isinstance(raised, asyncio.CancelledError) and self._interrupts
            error = _INTERRUPTED if is_ours else faults.raised(raised, cell=self._cell)
        finally:
            self._is_over = True
            signal.signal(signal.SIGINT, handler)
        rebound = put_back(kernel.globals, before)
        if self._scope.captured is not None:
            self._scope.captured.drain(self._printed.take, _CONSOLE)
        return wire.FunctionEnded(
            request=self._asked.request,
            cell=self._cell,
            value=value,
            error=error,
            refused=refused,
            console=encodable(self._printed.text()),
            rebound=rebound,
            stale=self._stale_after(states),
        )

    def _result(self, function: Callable[..., Any]) -> report_wire.Value:
        printed = self._printed
        with (
            self._scope.context.with_cell_id(self._cell),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            positional, keyed = self._arguments(function)
            made = function(*positional, **keyed)
            if inspect.isawaitable(made):
                self._task = asyncio.ensure_future(made, loop=self._scope.loop)
                made = self._scope.loop.run_until_complete(self._task)
            return value_of("result", made, tokens=self._asked.tokens, json_bytes=self._asked.json_bytes)

    def _arguments(self, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
        try:
            return fit(function, self._asked.arguments)
        except msgspec.MsgspecError as error:
            raise _NotFit(str(error)) from error

    def _on_interrupt(self, _: int, __: FrameType | None) -> None:
        """As `asyncio.Runner` does: a coroutine is cancelled first, then whatever runs is broken off."""
        if self._is_over:
            return
        self._interrupts += 1
        if self._interrupts == 1 and self._task is not None and not self._task.done():
            self._task.cancel()
            self._scope.loop.call_soon_threadsafe(lambda: None)
            return
        raise KeyboardInterrupt

    def _stale_after(self, states: set[Any]) -> list[str]:
        """A state that was set makes the cells that read it stale; they do not run by themselves."""
        kernel = self._scope.kernel
        stale: set[CellId_t] = set()
        for state in [state for state in kernel.state_updates if state not in states]:
            stale |= kernel._find_cells_for_state(state, kernel.state_updates.pop(state))
        if stale:
            kernel.graph.set_stale(stale, prune_imports=True)
        return [str(cell_id) for cell_id, cell in kernel.graph.cells.items() if cell.stale]


def put_back(variables: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Bind every name again as it was; says which were not."""
    names = [name for name in variables if variables[name] is not before.get(name, _NOTHING)]
    names += [name for name in before if name not in variables]
    for name in names:
        if name in before:
            variables[name] = before[name]
        else:
            del variables[name]
    return [encodable(name[:100]) for name in names[:20] if type(name) is str]


class _PrintBuffer(io.TextIOBase):
    """What a call prints; the beginning of it, if it is long."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = _CONSOLE
        self._dropped = 0

    def write(self, text: str) -> int:
        """Keep it while there is room."""
        self.take(text)
        return len(text)

    def take(self, text: str) -> None:
        """The same for what came through a descriptor."""
        kept = text[: self._left]
        self._left -= len(kept)
        self._dropped += len(text) - len(kept)
        if kept:
            self._parts.append(kept)

    def writable(self) -> bool:
        """Always."""
        return True

    def text(self) -> str:
        """All that was kept."""
        more = f"\n… {self._dropped:,} more characters were printed and dropped …\n" if self._dropped else ""
        return "".join(self._parts) + more
