"""Comparing readings as a tool: an agent names them, and gets back whether it matters which is meant."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Annotated, Final, assert_never

from pydantic import Field

from cellwright.agents.reading_answers import shown
from cellwright.agents.readings import (
    CHECKLIST,
    MOST,
    Agreement,
    Choose,
    Comparison,
    Differing,
    ProposedReading,
    Uncompared,
    compare_readings,
    in_scratch_cell,
    readings_of,
    settle,
)
from cellwright.agents.recoveries import AskPerson
from cellwright.journal import Json
from cellwright.tools.tool import Caller, Calling, Done, Tool, ToolCall, ToolResult, result_text, tool

ASK: Final = "ask_person"


def readings_tool(caller: Caller, *, attended: bool) -> Tool:
    """The tool, trying readings through the agent's own calls. Where they differ it asks, if somebody can be asked."""

    async def compare(
        calling: Calling,
        readings: Annotated[list[ProposedReading], Field(min_length=1, max_length=MOST)],
    ) -> ToolResult:
        numbers = count(1)

        async def call(name: str, arguments: Mapping[str, Json]) -> ToolResult:
            made = ToolCall(id=f"{calling.call.id}.{next(numbers)}", name=name, arguments=dict(arguments))
            return await caller.call(calling.flow, made)

        listed = readings_of([reading.model_dump() for reading in readings])
        comparison = await compare_readings(listed, in_scratch_cell(call))
        settled = settle(comparison, attended=attended) if isinstance(comparison, Differing) else None
        if not isinstance(settled, AskPerson):
            return Done(text=told(comparison, settled), value=values(comparison), is_untrusted=True)
        said = await call(ASK, {"question": settled.question, "options": list(settled.options)})
        text = f"{told(comparison, None)}\n{result_text(said)}"
        return Done(text=text, value=values(comparison), is_untrusted=True) if isinstance(said, Done) else said

    compare.__doc__ = _described()
    return tool(name="compare_readings", own_steps=True, seconds=None)(compare)


def told(comparison: Comparison, chosen: Choose | None) -> str:
    """What the agent reads."""
    lines = [f"- {each.reading.name}: {shown(each.answer)}" for each in comparison.tried]
    match comparison:
        case Agreement(answer=answer, is_rounded=is_rounded):
            but = ", but for rounding" if is_rounded else ""
            first = f"It does not matter which is meant{but}: {shown(answer)}."
        case Differing() if chosen is not None:
            first = f"They differ, and nobody can be asked. The answer must say this much: {chosen.told()}"
        case Differing():
            first = "They differ:"
        case Uncompared():
            first = "They could not be compared, because not two of them could be tried:"
        case _:
            assert_never(comparison)
    return "\n".join([first, *lines])


def values(comparison: Comparison) -> Json:
    """The same for programs."""
    return {
        "differ": isinstance(comparison, Differing),
        "answers": {each.reading.name: shown(each.answer) for each in comparison.tried},
    }


def _described() -> str:
    asks = "\n".join(f"- {ambiguity.kind}: {ambiguity.ask}" for ambiguity in CHECKLIST)
    return (
        "Try several readings of the question and see whether its answer depends on them. Use it before you answer "
        f"where two careful people could differ. The plainest reading comes first.\n\n{asks}"
    )
