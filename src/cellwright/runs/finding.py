"""Which runs there are: those that turn a goal into a notebook, in the order they began, and what each is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from cellwright.errors import UserError
from cellwright.journal import Records, RunStatus, stream_of
from cellwright.runs.goal import Goal
from cellwright.runs.telling import RunView, view

RUN: Final = "run"
"""The name of the workflow that turns a goal into a notebook."""
_BEGINNING: Final = 10


def check_is_run(run: str, workflow: str) -> None:
    """Raises `UserError` for a workflow that turns no goal into a notebook."""
    if workflow != RUN:
        raise UserError(f"{run!r} is a workflow {workflow!r}, not a run.", hint=f"See `cellwright journal show {run}`.")


async def going_notebooks(records: Records) -> set[str]:
    """The notebooks of runs that have not ended, as far as they have told of them."""
    going = [each.run for each in await records.runs() if each.is_going and each.name == RUN]
    goals = [await first_goal(records, run) for run in going]
    return {goal.notebook for goal in goals if goal is not None}


async def first_goal(records: Records, run: str) -> Goal | None:
    """What a run was begun for, from the first it told: reading all of a long run takes a while."""
    seen = RunView()
    for recorded in await records.log.read(stream_of(run), limit=_BEGINNING):
        seen = seen if seen.goal is not None else view(seen, recorded)
    return seen.goal


async def newest_first(records: Records, runs: Sequence[RunStatus]) -> list[RunStatus]:
    """The runs in the order they began; of one second, which is all the engine keeps, the one that told so last."""
    crowded = {second for second, number in Counter(each.created_ms for each in runs).items() if number > 1}
    began = {each.run: await _first_told_ms(records, each.run) for each in runs if each.created_ms in crowded}
    return sorted(runs, key=lambda each: (each.created_ms, began.get(each.run, 0)), reverse=True)


async def _first_told_ms(records: Records, run: str) -> int:
    first = await records.log.read(stream_of(run), limit=1)
    return first[0].at_ms if first else 0
