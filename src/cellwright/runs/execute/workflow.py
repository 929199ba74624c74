"""The run as a workflow: brief → agree → build → check → review → deliver. Killed anywhere, it goes on where it was."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio.to_thread

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import Assignment
from cellwright.agents.loop import agent_workflow
from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.journal.flow import Flow, Workflow
from cellwright.runs.deliver.delivery import Delivery, delivery_json
from cellwright.runs.events import GoalSet, RunDelivered, StageEntered
from cellwright.runs.execute.project_trust import begin, decide_additions, parse_beginning
from cellwright.runs.execute.research_run import ResearchRun
from cellwright.runs.execute.run import Run
from cellwright.runs.execute.workspace import RunResources
from cellwright.runs.extract.extract_tool import with_documents
from cellwright.runs.extract.extraction import Extraction
from cellwright.runs.goal.goal import Goal, parse_goal

RUN = "run"
"""The workflow's name."""


async def execute_run(flow: Flow, goal: Goal, resources: RunResources) -> Delivery:
    """From a goal to a delivery, whatever came of it."""
    await flow.tell(GoalSet(goal=goal), StageEntered(stage="queued"))
    async with resources.turns.take(flow.run, goal):
        trust = resources.trust
        kept = await flow.step("make the notebook", lambda: begin(goal, trust, resources.masker))
        beginning = parse_beginning(kept)
        decided = await decide_additions(flow, goal, beginning, trust)
        async with resources.open_workspace(flow.run, goal, decided.used) as workspace:
            workspace = replace(workspace, caveats=decided.caveats)
            if goal.extraction is not None:
                extraction = Extraction(flow, goal, goal.extraction, resources, workspace)
                return await extraction.run(is_new=beginning.is_new)
            if goal.wants == "research":
                return await _work(ResearchRun(flow, goal, resources, workspace, is_new=beginning.is_new))
            workspace = await anyio.to_thread.run_sync(with_documents, workspace, goal)
            return await _work(Run(flow, goal, resources, workspace, is_new=beginning.is_new))


async def _work(run: Run) -> Delivery:
    """Again from the brief whenever the goal becomes another, or there is more to do."""
    while True:
        over = await run.make_brief()
        if over is None and not run.has_new_goal:
            over = await run.agree()
        if over is None and not run.has_new_goal:
            over = await run.build()
        if over is None and run.is_built:
            over = await run.check()
        if over is None and run.is_built:
            over = await run.review()
        if over is not None or await run.is_settled():
            return await run.deliver(over)


def run_workflows(resources: RunResources) -> list[Workflow]:
    """Runs, and the agents inside them."""

    async def body(flow: Flow, argument: Any) -> Any:
        goal = parse_goal(argument)
        try:
            return delivery_json(await execute_run(flow, goal, resources))
        except (UserError, RefusedByPolicy, Unavailable) as problem:
            failed = _failed(goal, problem)
            await flow.tell(RunDelivered(delivery=failed), StageEntered(stage="over", note=failed.status))
            return delivery_json(failed)

    @asynccontextmanager
    async def open_context(flow: Flow, _: Assignment) -> AsyncGenerator[AgentContext]:
        yield await resources.contexts.context_of(flow.id)

    return [Workflow(name=RUN, body=body), agent_workflow(open_context)]


def _failed(goal: Goal, problem: CellwrightError) -> Delivery:
    status = "refused" if isinstance(problem, RefusedByPolicy) else "failed"
    return Delivery(
        status=status,
        goal=goal.words,
        why=f"{problem.message} {problem.hint}".rstrip(),
        notebook=goal.notebook,
        remedies=() if problem.remedy is None else (problem.remedy,),
    )
