"""What an agent reads in a step, part by part: its role, its tools, its task, what it did, what it sees now. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic_ai.tools import ToolDefinition

from cellwright.agents.assignment import Note
from cellwright.agents.prompt.context_providers import ContextView
from cellwright.agents.prompt.conversation import AgentTurn, before_parts, history_parts
from cellwright.agents.prompt.prompt import Prompt, PromptPart, Rank, Weight, assemble, fence, fence_rule
from cellwright.agents.role import Role
from cellwright.agents.skills import Skill
from cellwright.agents.styles import FINISH, Style, program_tools
from cellwright.tools.stubs import stubs
from cellwright.tools.tool import Toolset

_HISTORY_SHARE: Final = 0.55
_STUBS_TOKENS: Final = 3_000
_SKILLS_TOKENS: Final = 800


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptInputs:
    """What holds for one step."""

    step: int
    before: AgentTurn
    """The turn to come: what was heard and happened before it."""
    seen: Sequence[ContextView]
    advice: str = ""


def compose(
    brief: AssignmentContext,
    toolset: Toolset,
    tools: Sequence[ToolDefinition],
    turns: Sequence[AgentTurn],
    now: PromptInputs,
) -> Prompt:
    """All a model reads in this step, within the role's budget."""
    budget = brief.role.context_tokens
    history = _history(turns, brief)
    parts = [
        *_always(brief, toolset, tools),
        *_assignment(brief),
        *history,
        *before_parts(now.before, brief.nonce),
        *_seen(now.seen, brief.nonce),
        *_now(brief, toolset, now),
    ]
    return assemble(parts, budget)


def is_compacted(turns: Sequence[AgentTurn], brief: AssignmentContext) -> bool:
    """Whether part of the history is told only in short."""
    return any(part.group == "earlier" for part in _history(turns, brief))


def _history(turns: Sequence[AgentTurn], brief: AssignmentContext) -> list[PromptPart]:
    room = int(brief.role.context_tokens * _HISTORY_SHARE)
    return history_parts(turns, budget_tokens=room, nonce=brief.nonce, sees=brief.sees)


def skill_lines(skills: Sequence[Skill]) -> tuple[str, ...]:
    """How skills are told."""
    return tuple(skill.line for skill in skills)


def _always(brief: AssignmentContext, toolset: Toolset, tools: Sequence[ToolDefinition]) -> list[PromptPart]:
    parts = [
        _needed("role", f"{brief.role.prompt}\n\n", place_system=True),
        _needed("data rule", fence_rule(brief.nonce), place_system=True),
    ]
    if tools:
        text = json.dumps(
            [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools], ensure_ascii=False
        )
        parts.append(PromptPart(name="tools", text=text, place="tools", rank=Rank.ALWAYS, weight=Weight.NEEDED))
    if brief.style == "code":
        functions = stubs(program_tools(toolset).signatures())
        text = f"\n\nA program for run_program is Python that awaits these functions:\n{functions}"
        parts.append(
            PromptPart(
                name="functions for programs",
                text=text,
                place="system",
                rank=Rank.ALWAYS,
                weight=Weight.STRONG,
                least_tokens=_STUBS_TOKENS,
            )
        )
    return parts


def _assignment(brief: AssignmentContext) -> list[PromptPart]:
    parts = [_needed("goal", f"Your goal:\n{brief.goal}\n")]
    if brief.plan:
        parts.append(_lasting("plan", f"The plan:\n{brief.plan}\n", Weight.STRONG, 200))
    for note in brief.notes:
        text = fence(note.text, nonce=brief.nonce, source=note.name) if note.is_data else note.text
        parts.append(_lasting(f"note {note.name}", f"{note.name}:\n{text}\n", Weight.USEFUL, None))
    if brief.limits_text:
        parts.append(_lasting("limits of the code", f"{brief.limits_text}\n", Weight.STRONG, None))
    if brief.skills:
        text = "This project has skills; read one with read_skill before you do what it is for:\n"
        parts.append(_lasting("skills", text + "\n".join(brief.skills) + "\n", Weight.USEFUL, _SKILLS_TOKENS // 4))
    return parts


def _seen(seen: Sequence[ContextView], nonce: str) -> list[PromptPart]:
    return [
        replace(part, text=fence(part.text, nonce=nonce, source=part.name))
        for look in seen
        for part in look.parts
        if part.text.strip()
    ]


def _now(brief: AssignmentContext, toolset: Toolset, now: PromptInputs) -> list[PromptPart]:
    parts = [PromptPart(name="advice", text=now.advice, weight=Weight.STRONG, least_tokens=100)] if now.advice else []
    left = brief.role.steps - now.step
    text = f"Step {now.step} of {brief.role.steps}."
    if left == 0:
        ending = "call finish" if FINISH in toolset else "give your answer"
        text += f" This is the last one: {ending} with what you have, and say what is missing."
    elif left <= 3:
        text += " Come to an end."
    return [*parts, PromptPart(name="step", text=text, weight=Weight.NEEDED)]


def _needed(name: str, text: str, *, place_system: bool = False) -> PromptPart:
    return PromptPart(
        name=name,
        text=text,
        place="system" if place_system else "user",
        rank=Rank.ALWAYS if place_system else Rank.ASSIGNMENT,
        weight=Weight.NEEDED,
    )


def _lasting(name: str, text: str, weight: Weight, least_tokens: int | None) -> PromptPart:
    return PromptPart(name=name, text=text, rank=Rank.ASSIGNMENT, weight=weight, least_tokens=least_tokens)
