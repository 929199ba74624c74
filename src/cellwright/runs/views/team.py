"""Who does what in a run: each task with its role, its agents, what it cost, and what was handed over."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.journal.projections import Cost
from cellwright.runs.plan.handoffs import HandOff
from cellwright.runs.views.run_view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWork:
    """One task, and who worked on it."""

    task: str
    role: str
    taken_by: str
    """The person who does it, or did; empty: agents."""
    agents: tuple[str, ...]
    """Their workflows, the first first."""
    tokens: int
    """What their models read and wrote."""
    microdollars: int
    """As far as prices are known."""
    gets_from: tuple[str, ...]
    """Tasks that handed something over to it."""
    hands_over: HandOff | None
    """What it left to others; null: nothing yet, or nobody needs it."""
    hands_to: tuple[str, ...]


def team_of(view: RunView) -> tuple[TaskWork, ...]:
    """All tasks of the plan, in its order."""
    if view.plan is None:
        return ()
    work: list[TaskWork] = []
    for task in view.plan.tasks:
        agents = view.agents.get(task.id, ())
        spent = [each for workflow, each in view.spent_by.items() if _is_of(workflow, agents)]
        handed = view.handed.get(task.id)
        work.append(
            TaskWork(
                task=task.id,
                role=task.role,
                taken_by=task.taken_by,
                agents=agents,
                tokens=sum(_tokens(each) for each in spent),
                microdollars=sum(each.microdollars for each in spent),
                gets_from=tuple(other for other, event in view.handed.items() if task.id in event.to),
                hands_over=None if handed is None else handed.handed,
                hands_to=() if handed is None else handed.to,
            )
        )
    return tuple(work)


def _is_of(workflow: str, agents: tuple[str, ...]) -> bool:
    """Whether it is one of these agents, or works inside one."""
    return any(workflow == agent or workflow.startswith(f"{agent}/") for agent in agents)


def _tokens(spent: Cost) -> int:
    return spent.input_tokens + spent.output_tokens
