"""The loop: look around, think, act, until the work is finished, stopped or out of budget.

It is a workflow's body: killed anywhere, it goes on at the first step without a result, in the middle of a thought too.
Everything that may differ between two runs of this code is inside a journal step.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from pydantic import TypeAdapter

from cellwright.agents.agent import Agent
from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Assignment, Note
from cellwright.agents.prompt.composition import AssignmentContext
from cellwright.agents.readings import ASK
from cellwright.agents.role import Role, role_named
from cellwright.agents.styles import choose_style
from cellwright.journal.flow import Flow, Workflow


async def work(flow: Flow, assignment: Assignment, context: AgentContext) -> AgentReport:
    """Do an assignment and report, whatever came of it."""
    agent = Agent(flow, assignment, context, await _begin(flow, assignment, context))
    try:
        return agent.report(await _until_end(agent))
    finally:
        context.drafts.discard(flow.id)


async def _until_end(agent: Agent) -> AgentReport:
    while (end := agent.end_by_budget()) is None:
        seen = await agent.look_around()
        if (end := agent.is_stopped()) is not None:
            return end
        prompt = agent.compose(seen)
        answer = await agent.think(prompt)
        if isinstance(answer, AgentReport):
            return answer
        await agent.record(prompt, answer)
        if (end := await agent.act(answer)) is not None:
            return end
    return end


OpenAgentContext = Callable[[Flow, Assignment], AbstractAsyncContextManager[AgentContext]]
_ASSIGNMENT: Final = TypeAdapter(Assignment)
_REPORT: Final = TypeAdapter(AgentReport)
_NOBODY: Final = "Nobody can be asked: take the plainest reading, and say in the answer what you took for granted."


def agent_workflow(open_context: OpenAgentContext) -> Workflow:
    """Agents as workflows: the argument is an `Assignment`, the result an `AgentReport`, both as JSON."""

    async def body(flow: Flow, argument: Any) -> Any:
        assignment = _ASSIGNMENT.validate_python(argument)
        async with open_context(flow, assignment) as context:
            return _REPORT.dump_python(await work(flow, assignment, context), mode="json")

    return Workflow(name="agent", body=body)


def assignment_json(assignment: Assignment) -> Any:
    """An assignment as a workflow's argument."""
    return _ASSIGNMENT.dump_python(assignment, mode="json")


# ── beginning ──


async def _begin(flow: Flow, assignment: Assignment, context: AgentContext) -> AssignmentContext:
    """What holds for the whole assignment, fixed once: a role file may change while the agent works."""

    async def fix() -> AssignmentContext:
        role = role_named(context.roles, assignment.role)
        able = await _abilities(assignment, role, context)
        mask = context.masker.mask
        return AssignmentContext(
            role=role,
            style=choose_style(able[0] if able else (), role, has_programs=context.program is not None),
            nonce=secrets.token_hex(4),
            goal=mask(assignment.goal).text,
            plan=mask(assignment.plan).text,
            notes=tuple(
                Note(name=note.name, text=mask(note.text).text, is_data=note.is_data) for note in assignment.notes
            ),
            limits_text=_limits_text(context, role, is_attended=assignment.is_attended),
            skills=tuple(skill.line for skill in context.skills),
            sees=bool(able) and all("images" in each for each in able),
        )

    return await flow.step("take on the assignment", fix, returns=AssignmentContext)


def _limits_text(context: AgentContext, role: Role, *, is_attended: bool) -> str:
    lines = [context.limits_text] if context.limits_text and "limits" in role.sees else []
    # A role that never asks answers nobody either: a reviewer hands in findings.
    would_ask = not {"*", ASK}.isdisjoint(role.tools)
    return "\n".join([*lines, _NOBODY] if would_ask and not is_attended else lines)


async def _abilities(assignment: Assignment, role: Role, context: AgentContext) -> list[Any]:
    """What the models that may answer can do (each an `Ability`), the likeliest first."""
    listed = (await context.models.listed()).models
    if assignment.models:
        return [model.abilities for model in listed if model.is_ready and model.name in assignment.models]
    return [model.abilities for model in listed if model.is_ready and role.tier in model.tiers]
