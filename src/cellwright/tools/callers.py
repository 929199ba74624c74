"""Calling tools: one plain caller, and small wrappers that each add one promise.

`standard` puts them together in the one right order, from the outside in: judged, recorded, made fit for a model.
"""

from __future__ import annotations

import base64
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Final, assert_never

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

    fit = ResultFit(masker, tokens=tokens, kept=kept)
    return GuardedCaller(RecordedCaller(PlainCaller(toolset), fit), toolset, guard=guard, who=who)


@dataclass(frozen=True, slots=True)
class PlainCaller:
    """Validates the arguments and runs the tool until its deadline. Whatever it raises becomes a value."""

    toolset: Toolset

    async def call(self, flow: Flow, call: ToolCall, permitted: tuple[Action, ...] = ()) -> ToolResult:
        """The tool's own result, or that it took too long."""
        prepared = prepare(self.toolset, call)
        if isinstance(prepared, ToolError):
            return prepared
        run, seconds = prepared.tool.run, prepared.tool.seconds
        with anyio.move_on_after(seconds):
            calling = CallContext(call=call, flow=flow, permitted=permitted)
            return await _outcome(call, lambda: run(prepared.arguments, calling))
        return ToolError(kind="timed-out", message=f"{call.name} was stopped after {seconds:g} s.")


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
class ResultFit:
    """What a model reads of a result: without secrets; beginning and end of what is long, and the whole is kept."""

    masker: Masker
    tokens: int = DEFAULT_TOKENS
    kept: TextStore | None = None

    async def fit(self, calling: CallContext, result: ToolResult) -> ToolResult:
        """The result without secrets, its text within the bound, a picture only by its name."""
        # A long text takes the masker a while.
        result = await anyio.to_thread.run_sync(self._masked, result)
        if isinstance(result, Done) and result.image is not None:
            result = await self._without_image(result, result.image, f"{calling.key} picture")
        match result:
            case Done(text=text) if (short := cut(text, self.tokens)) is not None:
                if self.kept is None:
                    return replace(result, text=short)
                name = await self.kept.store(calling.key, text)
                return replace(result, text=f"{short}\n(The whole text is kept: read_kept({name!r}, from_line).)")
            case ToolError(message=message) if (short := cut(message, self.tokens)) is not None:
                return replace(result, message=short)
            case _:
                return result

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

    async def _without_image(self, result: Done, image: bytes, key: str) -> Done:
        size = size_of(image)
        if size is None:
            return replace(result, image=None)
        is_kept = self.kept is not None and is_showable(image)
        name = await self.kept.store(key, base64.b64encode(image).decode()) if self.kept and is_kept else ""
        return replace(result, image=None, picture=ResultImage(name=name, width=size[0], height=size[1]))


@dataclass(frozen=True, slots=True)
class RecordedCaller:
    """Makes each call one journal step: its result is kept, and on recovery only read. An effect happens once."""

    inner: PlainCaller
    fit: ResultFit
    """What is found in the world after a crash is made fit like any other result."""

    async def call(self, flow: Flow, call: ToolCall, permitted: tuple[Action, ...] = ()) -> ToolResult:
        """The result, from the record if there is one."""
        prepared = prepare(self.inner.toolset, call)
        if isinstance(prepared, ToolError):
            return prepared
        calling, tool = CallContext(call=call, flow=flow, permitted=permitted), prepared.tool
        if tool.own_steps:
            return await self.fit.fit(calling, await self.inner.call(flow, call, permitted))

        async def work() -> Json:
            return result_json(await self.fit.fit(calling, await self.inner.call(flow, call, permitted)))

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
            return result_json(await self.fit.fit(calling, await _outcome(calling.call, work)))

        effect = self._effect(calling, f"{calling.key} {name}", find)
        return parse_result(await calling.flow.step(f"tool {calling.call.name}: {name}", do, effect=effect))

    def _effect(self, calling: CallContext, key: str, look: Callable[[], Awaitable[EffectFinding]]) -> Effect:
        async def find() -> EffectFinding:
            found = await look()
            if not isinstance(found, EffectFound):
                return found
            if found.result is None:
                return EffectFound(result=result_json(Done(text="It was done before the process ended.")))
            return EffectFound(result=result_json(await self.fit.fit(calling, parse_result(found.result))))

        return Effect(key=key, describe=f"The tool {calling.call.name} ({calling.call.id})", find=find)


@dataclass(frozen=True, slots=True)
class GuardedCaller:
    """Asks policy, and where policy says so a person, before a call; records afterwards what came of it."""

    inner: RecordedCaller
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
            # As many as may run at the same time: reads, or one call that is more than that.
            left = calls[len(results) :]
            results += await self._together(flow, [*takewhile(self._is_read, left)] or left[:1])
        return results

    def _is_read(self, call: ToolCall) -> bool:
        tool = self.toolset.get(call.name)
        return isinstance(tool, Tool) and not tool.changes and not tool.own_steps

    async def _together(self, flow: Flow, calls: Sequence[ToolCall]) -> list[ToolResult]:
        permits = [await self._permit(flow, call) for call in calls]
        going = [
            (call, tuple(each.action for each in permit))
            for call, permit in zip(calls, permits, strict=True)
            if isinstance(permit, tuple)
        ]
        if len(going) == 1:
            # Not in a parallel branch: a tool may have several steps of its own.
            ran = iter([await self.inner.call(flow, *going[0])])
        else:
            ran = iter(await flow.parallel(*(self.inner.call(flow, *each) for each in going)) if going else [])
        results: list[ToolResult] = [next(ran) if isinstance(permit, tuple) else permit for permit in permits]
        for permit, result in zip(permits, results, strict=True):
            if isinstance(permit, tuple):
                is_done = isinstance(result, Done)
                for permitted in permit:
                    said = "" if is_done else result_text(result)
                    await self.guard.record_result(flow, permitted, "done" if is_done else "failed", said)
                # What was tried in branches, for whoever watches; it follows from the recorded result.
                if tried := trials_in(result.value) if isinstance(result, Done) else ():
                    await flow.tell(*(replace(each, agent=self.who.agent) for each in tried))
        return results

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
