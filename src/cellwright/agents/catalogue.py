"""The tools an agent has, few of them in every request: a core with its schemas, the others by a line each.

The `tools` block of a request never changes within an assignment, so that a provider's prompt cache stays valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import Field

from cellwright.tools.callers import GuardedCaller
from cellwright.tools.notebook_tools import TRY
from cellwright.tools.stubs import short_schema
from cellwright.tools.tool import CallContext, Done, Tool, ToolCall, ToolError, ToolResult, Toolset, tool

USE: Final = "use"
PROGRAM: Final = "run_program"
"""The tool that runs a program over the others."""
_UNLISTED: Final = frozenset({USE, PROGRAM, TRY})
CORE: Final = frozenset({"apply", "look", "finish", "plan", "compare_readings", "query", "schema", USE})
"""In every request, where a role has them."""
_FEW: Final = 7
"""A role with no more tools than these has them all in every request."""
_HITS: Final = 8
_LINE: Final = 84


def others(toolset: Toolset) -> Toolset:
    """The tools that are reached through `use`; none where a role has few."""
    listed = toolset.without(_UNLISTED)
    return listed.without(CORE) if len(listed.names) > _FEW else Toolset([])


def catalogue_text(listed: Toolset, *, is_programmed: bool, fenced: Callable[[str], str]) -> str:
    """A line for each of these; those whose words come from outside are `fenced`."""
    shown = [each for each in listed if each.is_listed]
    lines = [f"- {_line(each)}" for each in shown if not each.is_foreign]
    if foreign := [f"- {_line(each)}" for each in shown if each.is_foreign]:
        lines.append(fenced("\n".join(foreign)))
    if not lines:
        return ""
    if unlisted := len(listed.names) - len(shown):
        lines.append(f"- and {unlisted} more: use(words) finds them")
    how = "a program can call it" if is_programmed else "use(name, arguments) calls it"
    return "\n".join([f"\n\nMore tools; use(name) tells how one is called, {how}:", *lines])


def use_tool(caller: GuardedCaller) -> Tool:
    """The tool that tells how another one is called, and calls it."""
    known = caller.toolset

    @tool(name=USE, own_steps=True)
    async def use(
        calling: CallContext,
        name: Annotated[str, Field(max_length=200, description="Of a tool that is listed; or words to search for.")],
        arguments: Annotated[dict[str, Any] | None, Field(description="To call it. None: how it is called.")] = None,
    ) -> ToolResult:
        """One of the tools that are listed by a line: how it is called, or its call."""
        if name not in known:
            return _search(known, name)
        if arguments is None:
            return Done(text=_told(known[name]), value=known[name].parameters, is_untrusted=known[name].is_foreign)
        return await caller.call(calling.flow, ToolCall(id=f"{calling.call.id}u", name=name, arguments=arguments))

    return use


def _told(found: Tool) -> str:
    shape = json.dumps(short_schema(found.parameters), ensure_ascii=False)
    return f"{found.name}: {found.description}\nIts arguments: {shape}"


def _search(known: Toolset, words: str) -> ToolResult:
    wanted = words.casefold().split()
    found = {each.name: sum(word in f"{each.name} {each.description}".casefold() for word in wanted) for each in known}
    hits = sorted((name for name, count in found.items() if count), key=lambda name: -found[name])[:_HITS]
    if not hits:
        named = ", ".join(known.without({TRY, PROGRAM}).names)
        return ToolError(kind="not-found", message=f"No tool {words[:80]!r}.", hint=f"There is: {named}.")
    lines = [f"- {_line(known[name])}" for name in hits]
    is_untrusted = any(known[name].is_foreign for name in hits)
    return Done(text="\n".join(lines), value=list(lines), is_untrusted=is_untrusted)


def _line(each: Tool) -> str:
    """What it is called with, and what it is for as far as there is room."""
    needed = ", ".join(each.parameters.get("required", ()))
    first = f"{each.name}({needed}): {each.description.partition('.')[0]}".partition("\n")[0]
    return first if len(first) <= _LINE else f"{first[:_LINE].rpartition(' ')[0]} …"
