"""What an agent reads in a step, part by part: its role, its tools, its task, what it did, what it sees now. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pydantic_ai.tools import ToolDefinition

from cellwright.agents.assignment import Note
from cellwright.agents.catalogue import catalogue_text
from cellwright.agents.prompt.context_providers import ContextView
from cellwright.agents.prompt.conversation import AgentTurn, before_parts, history_parts
from cellwright.agents.prompt.prompt import Prompt, PromptPart, Rank, Weight, assemble, fence, fence_rule
from cellwright.agents.role import Role
from cellwright.agents.styles import FINISH, Style, listed_tools, program_tools
from cellwright.tools.stubs import stubs
from cellwright.tools.tool import Toolset

_HISTORY_SHARE: Final = 0.55
_STUBS_TOKENS: Final = 3_000
_SKILLS_LEAST_TOKENS: Final = 200

_standing: Final = partial(PromptPart, place="system", rank=Rank.ALWAYS, weight=Weight.NEEDED)
"""For every run."""
_lasting: Final = partial(PromptPart, rank=Rank.ASSIGNMENT)
"""For this assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentContext:
    """What holds for the whole assignment, as the first step has kept it."""

    role: Role
    style: Style
    nonce: str
    """Marks data in this assignment's prompts; nobody outside can know it."""
    goal: str
    plan: str = ""
    notes: tuple[Note, ...] = ()
    limits_text: str = ""
    skills: tuple[str, ...] = ()
    """One line each."""
    sees: bool = False
    """Whether every model that may answer can be shown pictures."""


def compose(
    brief: AssignmentContext,
    toolset: Toolset,
    tools: Sequence[ToolDefinition],
    earlier: Sequence[PromptPart],
    before: AgentTurn,
    *,
    seen: Sequence[ContextView],
    advice: str = "",
) -> Prompt:
    """All a model reads in a step, within the role's budget: `earlier`, its history; `before`, the turn to come."""
    parts = [
        *_always(brief, toolset, tools),
        *_assignment(brief),
        *earlier,
        *before_parts(before, brief.nonce),
        *_seen(seen, brief.nonce),
        *_now(brief, toolset, before.number, advice),
    ]
    return assemble(parts, brief.role.context_tokens)


def is_compacted(history: Sequence[PromptPart]) -> bool:
    """Whether part of it is told only in short."""
    return any(part.group == "earlier" for part in history)


def history(turns: Sequence[AgentTurn], brief: AssignmentContext) -> list[PromptPart]:
    """What was said and done so far, within its share of the role's budget."""
    room = int(brief.role.context_tokens * _HISTORY_SHARE)
    return history_parts(turns, budget_tokens=room, nonce=brief.nonce, sees=brief.sees)


def _always(brief: AssignmentContext, toolset: Toolset, tools: Sequence[ToolDefinition]) -> list[PromptPart]:
    parts = [
        _standing(name="role", text=f"{brief.role.prompt}\n\n"),
        _standing(name="data rule", text=fence_rule(brief.nonce)),
    ]
    if tools:
        text = json.dumps(
            [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools], ensure_ascii=False
        )
        parts.append(_standing(name="tools", text=text, place="tools"))
    if brief.style == "code":
        listed = listed_tools(toolset, brief.style)
        functions = stubs(program_tools(toolset).without(listed.names).signatures())
        text = f"\n\nA program for run_program is Python that awaits these functions:\n{functions}"
        parts.append(
            _standing(name="functions for programs", text=text, weight=Weight.STRONG, least_tokens=_STUBS_TOKENS)
        )
    more = catalogue_text(
        listed_tools(toolset, brief.style),
        is_programmed=brief.style == "code",
        fenced=partial(fence, nonce=brief.nonce, source="tool servers"),
    )
    if more:
        parts.append(_standing(name="more tools", text=more))
    return parts


def _assignment(brief: AssignmentContext) -> list[PromptPart]:
    parts = [_lasting(name="goal", text=f"Your goal:\n{brief.goal}\n", weight=Weight.NEEDED)]
    if brief.plan:
        parts.append(_lasting(name="plan", text=f"The plan:\n{brief.plan}\n", weight=Weight.STRONG, least_tokens=200))
    for note in brief.notes:
        text = fence(note.text, nonce=brief.nonce, source=note.name) if note.is_data else note.text
        parts.append(_lasting(name=f"note {note.name}", text=f"{note.name}:\n{text}\n"))
    if brief.limits_text:
        parts.append(_lasting(name="limits of the code", text=f"{brief.limits_text}\n", weight=Weight.STRONG))
    if brief.skills:
        lines = ["This project has skills; read one with read_skill before you do what it is for:", *brief.skills, ""]
        parts.append(_lasting(name="skills", text="\n".join(lines), least_tokens=_SKILLS_LEAST_TOKENS))
    return parts


def _seen(seen: Sequence[ContextView], nonce: str) -> list[PromptPart]:
    return [
        replace(part, text=fence(part.text, nonce=nonce, source=part.name))
        for look in seen
        for part in look.parts
        if part.text.strip()
    ]


def _now(brief: AssignmentContext, toolset: Toolset, step: int, advice: str) -> list[PromptPart]:
    parts = [PromptPart(name="advice", text=advice, weight=Weight.STRONG, least_tokens=100)] if advice else []
    left = brief.role.steps - step
    text = f"Step {step} of {brief.role.steps}."
    if left == 0:
        ending = "call finish" if FINISH in toolset else "give your answer"
        text += f" This is the last one: {ending} with what you have, and say what is missing."
    elif left <= min(3, brief.role.steps // 4):
        text += " Come to an end."
    return [*parts, PromptPart(name="step", text=text, weight=Weight.NEEDED)]
