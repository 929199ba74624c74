"""Alternatives of a plan's tasks, compared: what the run's stream tells of their branches becomes one table each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.journal import stream_of
from cellwright.runs.delivery import ComparedWay, Comparison
from cellwright.runs.plan import Task
from cellwright.runs.telling import ReadStream
from cellwright.tools.branch_trials import BranchTried, read_branch

_VARIABLES: Final = 3
_LONGEST: Final = 60
NOT_TRIED: Final = "not tried"


async def branches_of(read: ReadStream, run: str, agent: str = "") -> tuple[BranchTried, ...]:
    """Every branch the run, or one of its agents, has tried so far, oldest first."""
    found = [read_branch(recorded.event) async for recorded in read(stream_of(run))]
    return tuple(each for each in found if each is not None and agent in ("", each.agent))


def compared(task: Task, tried: Sequence[BranchTried]) -> Comparison:
    """The alternatives of a task in one table: best first, as they were ranked last; then those nobody tried."""
    names = [each.name.strip() for each in task.alternatives]
    found: dict[str, BranchTried] = {}
    for group in reversed(list(dict.fromkeys(each.group for each in tried if each.group))):
        of_group = [each for each in tried if each.group == group and each.purpose.strip() in names]
        found |= {each.purpose.strip(): each for each in of_group if each.purpose.strip() not in found}
    ways = [_way(name, each) for name, each in found.items()]
    missing = [ComparedWay(name=name, status=NOT_TRIED) for name in names if name not in found]
    return Comparison(task=task.title, ways=(*ways, *missing))


def _way(name: str, tried: BranchTried) -> ComparedWay:
    shown = [f"{each.name} = {each.after[:_LONGEST]}" for each in tried.variables if each.after]
    return ComparedWay(
        name=name,
        status=tried.status,
        checks=f"{tried.checks_passed}/{len(tried.checks)}" if tried.checks else "",
        shows="; ".join(shown[:_VARIABLES]),
        way=tried.way,
        ms=tried.ms,
        is_kept=tried.is_kept,
    )
