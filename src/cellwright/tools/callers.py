"""Calling tools: one plain caller, and small wrappers that each add one promise.

`standard` puts them together in the one right order, from the outside in: judged, recorded, bounded, masked, timed.
"""

from __future__ import annotations

import base64
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Final, Literal, assert_never

import anyio
import anyio.to_thread

from cellwright.errors import CellwrightError, Defect, RefusedByPolicy, Unavailable, UserError
from cellwright.journal.effects import Effect, EffectFinding, EffectFound
from cellwright.journal.flow import Flow
from cellwright.journal.values import Json, masked_json
from cellwright.policy.actions import Action
from cellwright.policy.audit import Actor
from cellwright.policy.masking.masker import Masker
from cellwright.policy.serialization import action_json, parse_action
from cellwright.tools.approval.guard import ActionPermitted, ActionRefused, Guard
from cellwright.tools.notebook.trial_records import trials_in
from cellwright.tools.result_images import ResultImage, is_showable, size_of
from cellwright.tools.text_store import TextStore, cut
from cellwright.tools.tool import (
    CallContext,
    Caller,
    Done,
    Refusal,
    Tool,
    ToolCall,
    ToolError,
    ToolFailure,
    ToolResult,
    Toolset,
    parse_result,
    result_json,
    result_text,
)

logger = logging.getLogger(__name__)
DEFAULT_TOKENS: Final = 4_000


def standard(
    toolset: Toolset,
    *,
    guard: Guard,
    masker: Masker,
    who: Actor,
    kept: TextStore | None = None,
    tokens: int = DEFAULT_TOKENS,
) -> GuardedCaller:
    """What agents call: nothing runs before it was judged, nothing runs twice, nothing secret or endless comes back."""

    def made_fit(caller: Caller) -> Caller:
        return BoundedCaller(MaskedCaller(caller, masker), tokens=tokens, kept=kept)

    timed = TimedCaller(PlainCaller(toolset), toolset)
    return GuardedCaller(RecordedCaller(made_fit(timed), toolset, made_fit=made_fit), toolset, guard=guard, who=who)


@dataclass(frozen=True, slots=True)
class PlainCaller:
    """Validates the arguments and runs the tool. Whatever it raises becomes a value."""

    toolset: Toolset

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The tool's own result."""
        prepared = prepare(self.toolset, call)
        if isinstance(prepared, ToolError):
            return prepared
        return await _outcome(call, lambda: prepared.tool.run(prepared.arguments, CallContext(call=call, flow=flow)))


async def _outcome(call: ToolCall, work: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """What came of it, as a value."""
    try:
        return await work()
    except CellwrightError as error:
        return _expected(error)
    except Exception as error:
        logger.exception("the tool %s failed", call.name)
        return ToolError(kind="failed", message=f"{type(error).__name__}: {error}"[:2_000], is_untrusted=True)


@dataclass(frozen=True, slots=True)
class TimedCaller:
    """Ends a call at its tool's deadline."""

    inner: Caller
    toolset: Toolset

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The result, or that it took too long."""
        seconds = self.toolset[call.name].seconds if call.name in self.toolset else None
        with anyio.move_on_after(seconds):
            return await self.inner.call(flow, call)
        return ToolError(kind="timed-out", message=f"{call.name} was stopped after {seconds:g} s.")


@dataclass(frozen=True, slots=True)
class MaskedCaller:
    """Takes secrets out of what comes back."""

    inner: Caller
    masker: Masker

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The result without secrets."""
        # A long text takes the masker a while.
        return await anyio.to_thread.run_sync(self._masked, await self.inner.call(flow, call))

    def _masked(self, result: ToolResult) -> ToolResult:
        match result:
            case Done(text=text, value=value):
                safe = self._mask(text)
                same = isinstance(value, str) and value == text
                return replace(result, text=safe, value=safe if same else masked_json(value, self._mask))
            case Refusal(feedback=feedback):
                return Refusal(feedback=self._mask(feedback))
            case ToolError(message=message, hint=hint):
                return replace(result, message=self._mask(message), hint=self._mask(hint))
            case _:
                assert_never(result)

    def _mask(self, text: str) -> str:
        return self.masker.mask(text).text


@dataclass(frozen=True, slots=True)
class BoundedCaller:
    """Shortens what a model reads: beginning and end stay, and where there is a place for it, the whole is kept."""

    inner: Caller
    tokens: int = DEFAULT_TOKENS
    kept: TextStore | None = None

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The result, its text within the bound, a picture only by its name."""
        result = await self.inner.call(flow, call)
        if isinstance(result, Done) and result.image is not None:
            result = await self._without_image(result, result.image, f"{flow.id}/{call.id} picture")
        match result:
            case Done(text=text) if (short := cut(text, self.tokens)) is not None:
                if self.kept is None:
                    return replace(result, text=short)
                name = await self.kept.store(f"{flow.id}/{call.id}", text)
                return replace(result, text=f"{short}\n(The whole text is kept: read_kept({name!r}, from_line).)")
            case ToolError(message=message) if (short := cut(message, self.tokens)) is not None:
                return replace(result, message=short)
            case _:
                return result

    async def _without_image(self, result: Done, image: bytes, key: str) -> Done:
        size = size_of(image)
        if size is None:
            return replace(result, image=None)
        is_kept = self.kept is not None and is_showable(image)
        name = await self.kept.store(key, base64.b64encode(image).decode()) if self.kept and is_kept else ""
        return replace(result, image=None, picture=ResultImage(name=name, width=size[0], height=size[1]))


MakeFit = Callable[[Caller], Caller]
"""Wraps a caller so that what it answers is fit for a model."""


def _as_it_is(caller: Caller) -> Caller:
    return caller


@dataclass(frozen=True, slots=True)
class _KnownCaller:
    """Answers with what is known already."""

    result: ToolResult

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The same, whatever is asked."""
        return self.result


@dataclass(frozen=True, slots=True)
class RecordedCaller:
    """Makes each call one journal step: its result is kept, and on recovery only read. An effect happens once."""

    inner: Caller
    toolset: Toolset
    made_fit: MakeFit = _as_it_is
    """What is found in the world after a crash comes back like any other result: masked and bounded."""

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The result, from the record if there is one."""
        prepared = prepare(self.toolset, call)
        if isinstance(prepared, ToolError):
            return prepared
        if prepared.tool.own_steps:
            return await self.inner.call(flow, call)

        async def work() -> Json:
            return result_json(await self.inner.call(flow, call))

        calling, tool = CallContext(call=call, flow=flow), prepared.tool
        effect = None
        if tool.changes:
            effect = self._effect(calling, calling.key, lambda: tool.find(prepared.arguments, calling))
        result = parse_result(await flow.step(f"tool {call.name}", work, effect=effect))
        if tool.go_on is None:
            return result
        return await tool.go_on(prepared.arguments, calling, result, partial(self._one_more, calling))

    async def _one_more(
        self,
        calling: CallContext,
        name: str,
        work: Callable[[], Awaitable[ToolResult]],
        find: Callable[[], Awaitable[EffectFinding]],
    ) -> ToolResult:
        async def do() -> Json:
            return await self._fit(calling, await _outcome(calling.call, work))

        effect = self._effect(calling, f"{calling.key} {name}", find)
        return parse_result(await calling.flow.step(f"tool {calling.call.name}: {name}", do, effect=effect))

    def _effect(self, calling: CallContext, key: str, look: Callable[[], Awaitable[EffectFinding]]) -> Effect:
        async def find() -> EffectFinding:
            found = await look()
            if not isinstance(found, EffectFound):
                return found
            if found.result is None:
                return EffectFound(result=result_json(Done(text="It was done before the process ended.")))
            return EffectFound(result=await self._fit(calling, parse_result(found.result)))

        return Effect(key=key, describe=f"The tool {calling.call.name} ({calling.call.id})", find=find)

    async def _fit(self, calling: CallContext, result: ToolResult) -> Json:
        return result_json(await self.made_fit(_KnownCaller(result)).call(calling.flow, calling.call))


@dataclass(frozen=True, slots=True)
class GuardedCaller:
    """Asks policy, and where policy says so a person, before a call; records afterwards what came of it."""

    inner: Caller
    toolset: Toolset
    guard: Guard
    who: Actor

    async def call(self, flow: Flow, call: ToolCall) -> ToolResult:
        """The result, or why it may not be."""
        [result] = await self.call_all(flow, [call])
        return result

    async def call_all(self, flow: Flow, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results of one turn's calls, in order: changes one after the other, reads next to each other at once."""
        results: list[ToolResult] = []
        while len(results) < len(calls):
            results += await self._together(flow, self._next_group(calls[len(results) :]))
        return results

    def _next_group(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        """As many as may run at the same time: reads, or one call that is more than that."""
        return [*takewhile(self._is_read, calls)] or calls[:1]

    def _is_read(self, call: ToolCall) -> bool:
        tool = self.toolset.get(call.name)
        return isinstance(tool, Tool) and not tool.changes and not tool.own_steps

    async def _together(self, flow: Flow, calls: Sequence[ToolCall]) -> list[ToolResult]:
        permits = [await self._permit(flow, call) for call in calls]
        going = [call for call, permit in zip(calls, permits, strict=True) if isinstance(permit, tuple)]
        if len(going) == 1:
            # Not in a parallel branch: a tool may have several steps of its own.
            ran = iter([await self.inner.call(flow, going[0])])
        else:
            ran = iter(await flow.parallel(*(self.inner.call(flow, call) for call in going)) if going else [])
        results: list[ToolResult] = [next(ran) if isinstance(permit, tuple) else permit for permit in permits]
        for permit, result in zip(permits, results, strict=True):
            if isinstance(permit, tuple):
                for permitted in permit:
                    await self.guard.record_result(flow, permitted, *_became(result))
                await self._emit_trials(flow, result)
        return results

    async def _emit_trials(self, flow: Flow, result: ToolResult) -> None:
        """What was tried in branches, for whoever watches; it follows from the recorded result."""
        tried = trials_in(result.value) if isinstance(result, Done) else ()
        if tried:
            await flow.tell(*(replace(each, agent=self.who.agent) for each in tried))

    async def _permit(self, flow: Flow, call: ToolCall) -> tuple[ActionPermitted, ...] | ToolError | Refusal:
        """Leave to go on, one for each action; or why not."""
        prepared = prepare(self.toolset, call)
        if isinstance(prepared, ToolError):
            return prepared
        actions = await _actions(flow, prepared)
        if isinstance(actions, ToolError | Refusal):
            return actions
        permits: list[ActionPermitted] = []
        for action in actions:
            permit = await self.guard.permit(flow, action, self.who)
            if isinstance(permit, ActionRefused):
                for earlier in permits:
                    await self.guard.record_result(flow, earlier, "failed", "Not done: another part was refused.")
                return Refusal(feedback=permit.feedback)
            permits.append(permit)
        return tuple(permits)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """A call whose tool exists and whose arguments are sound."""

    tool: Tool
    arguments: Any


def prepare(toolset: Toolset, call: ToolCall) -> PreparedCall | ToolError:
    """The tool and its validated arguments, or what is wrong with the call."""
    tool = toolset.get(call.name)
    if isinstance(tool, ToolError):
        return tool
    arguments = tool.parse(call.arguments)
    return arguments if isinstance(arguments, ToolError) else PreparedCall(tool=tool, arguments=arguments)


async def _actions(flow: Flow, prepared: PreparedCall) -> tuple[Action, ...] | ToolError | Refusal:
    """What policy is asked about. What was seen in the world for it is kept: a replay must want the same."""
    tool = prepared.tool
    if not inspect.iscoroutinefunction(tool.action):
        return await _wanted(prepared)

    async def make() -> Json:
        wanted = await _wanted(prepared)
        if isinstance(wanted, tuple):
            return {"actions": [action_json(action) for action in wanted]}
        return {"not": result_json(wanted)}

    kept: Any = await flow.step(f"prepare {tool.name}", make)
    if "actions" in kept:
        return tuple(parse_action(action) for action in kept["actions"])
    refused = parse_result(kept["not"])
    assert not isinstance(refused, Done)
    return refused


async def _wanted(prepared: PreparedCall) -> tuple[Action, ...] | ToolError | Refusal:
    try:
        made = prepared.tool.action(prepared.arguments)
        wanted = await made if inspect.isawaitable(made) else made
    except CellwrightError as error:
        return _expected(error)
    return wanted if isinstance(wanted, tuple) else () if wanted is None else (wanted,)


def _became(result: ToolResult) -> tuple[Literal["done", "failed"], str]:
    return ("done", "") if isinstance(result, Done) else ("failed", result_text(result))


def _expected(error: CellwrightError) -> ToolError | Refusal:
    match error:
        case RefusedByPolicy():
            return Refusal(feedback=f"{error.message} {error.hint}".rstrip())
        case ToolFailure(kind=kind):
            return ToolError(kind=kind, message=error.message, hint=error.hint)
        case UserError():
            return ToolError(kind="bad-arguments", message=error.message, hint=error.hint)
        case Unavailable():
            return ToolError(kind="unavailable", message=error.message, hint=error.hint)
        case Defect():
            logger.exception("a tool met our own mistake (%s)", error.report_id)
            return ToolError(kind="failed", message=f"{error.message} (report {error.report_id})", hint=error.hint)
        case _:
            return ToolError(kind="failed", message=error.message, hint=error.hint)
