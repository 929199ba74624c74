"""`/runs/{run}/pause|resume|cancel|stop|retry|fork|say|goal|plan`: a word to a run, at work or not."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from cellwright.agents import steering
from cellwright.runs.execute import steering_commands
from cellwright.runs.goal.request import read_budget
from cellwright.runs.plan.plan import parse_edit
from cellwright.server.http.auth.dependencies import ActiveRun, KnownStatus, Steerer
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas import runs as shapes

router = ApiRouter(tags=["runs"])


@router.post("/runs/{run}/pause")
async def pause_run(
    caller: Steerer, resources: Resources, run: ActiveRun, _: shapes.Nothing | None = None
) -> shapes.RunNote:
    """Pause before the next step."""
    await steering_commands.pause(resources.records, run, caller.as_person)
    return shapes.RunNote(run=run, note="It pauses before its next step; everything is kept.")


@router.post("/runs/{run}/resume")
async def resume_run(
    caller: Steerer, resources: Resources, status: KnownStatus, _: shapes.Nothing | None = None
) -> shapes.RunNote:
    """Go on: paused, cancelled or given up."""
    if status.is_going:
        was_paused = await steering_commands.resume(resources.records, status.run, caller.as_person)
        return shapes.RunNote(run=status.run, note="It goes on." if was_paused else "It was not paused; it goes on.")
    if status.standing not in {"cancelled", "dead"}:
        raise Conflict(f"The run {status.run!r} is {status.standing} already.", hint="Retry a task of it, or fork it.")
    await resources.live.resume(status.run, person=caller.person)
    return shapes.RunNote(run=status.run, note="It goes on from where it was.")


@router.post("/runs/{run}/cancel")
async def cancel_run(
    caller: Steerer, resources: Resources, run: ActiveRun, said: shapes.Reason | None = None
) -> shapes.RunNote:
    """Stop at once, for good."""
    reason = said.reason if said is not None and said.reason else f"stopped by {caller.person}"
    await resources.live.cancel(run, reason=reason)
    return shapes.RunNote(run=run, note="It is stopped; what is done stays.")


@router.post("/runs/{run}/stop")
async def stop_run(
    caller: Steerer, resources: Resources, run: ActiveRun, said: shapes.Reason | None = None
) -> shapes.RunNote:
    """Hand over what there is, before the next step."""
    reason = said.reason if said is not None else ""
    await steering.stop(resources.records.log, run, caller.as_person, reason)
    await steering_commands.wake(resources.records, run, caller.as_person)
    return shapes.RunNote(run=run, note="Its agents stop before their next step and hand over what there is.")


@router.post("/runs/{run}/retry")
async def retry_run(
    caller: Steerer, resources: Resources, status: KnownStatus, said: shapes.RetryBody
) -> shapes.RunNote:
    """Do a task again."""
    if said.budget_usd is not None and status.is_going:
        raise Conflict(f"The run {status.run!r} is at work.", hint="Raise its cap when it asks.")
    cap = None if said.budget_usd is None else read_budget(said.budget_usd)
    again = await resources.live.retry(status.run, said.task, person=caller.person, budget_usd=cap)
    note = f"It does {said.task} again." if again == status.run else f"A new run continues it with {said.task}."
    return shapes.RunNote(run=again, note=note)


@router.post("/runs/{run}/fork")
async def fork_run(
    _: Steerer, resources: Resources, status: KnownStatus, said: shapes.ForkBody | None = None
) -> shapes.RunNote:
    """A new run with the steps of this one."""
    from_step = None if said is None else said.from_step
    last = max((step.number for step in status.steps), default=0)
    if from_step is not None and from_step > last + 1:
        raise ResourceNotFound(f"The run has no step {from_step}.", hint=f"It has the steps 1 to {last}.")
    forked = await resources.live.fork(status.run, from_step=from_step)
    return shapes.RunNote(run=forked, note=f"It goes on from {status.run}.")


@router.post("/runs/{run}/say")
async def say_to_run(caller: Steerer, resources: Resources, run: ActiveRun, said: shapes.SayBody) -> shapes.RunNote:
    """Tell its agents something."""
    text = said.text if said.cell is None else f"{_about(resources, run, said.cell)}\n{said.text}"
    await steering.say(resources.records.log, run, text, caller.as_person)
    return shapes.RunNote(run=run, note="They read it before their next step.")


@router.post("/runs/{run}/goal")
async def change_goal(caller: Steerer, resources: Resources, run: ActiveRun, said: shapes.GoalBody) -> shapes.RunNote:
    """Another goal; the rest is planned anew."""
    await steering_commands.change_goal(resources.records, run, said.words, caller.as_person)
    return shapes.RunNote(run=run, note="It plans anew before its next step; what is done stays.")


@router.post("/runs/{run}/plan")
async def change_plan(
    caller: Steerer, resources: Resources, run: ActiveRun, edit: Annotated[shapes.PlanEditBody, Body()]
) -> shapes.RunNote:
    """One task more, one less, or another one; or a person takes one, and hands it back."""
    await steering_commands.change_plan(resources.records, run, parse_edit(edit.model_dump()), caller.as_person)
    return shapes.RunNote(run=run, note="It hears of it before its next task.")


def _about(resources: ApiResources, run: str, cell: str) -> str:
    """The cell a person has selected, as an agent knows it. Raises `ResourceNotFound`."""
    notebook = resources.live.notebooks.get(run)
    known = None if notebook is None else next((each for each in notebook.document.cells if each.id == cell), None)
    if notebook is None or known is None:
        raise ResourceNotFound(f"The run's notebook has no cell {cell!r} now.", hint="Say it without naming a cell.")
    name = "" if notebook.state.name_of(known.id) == known.id else f" named {notebook.state.name_of(known.id)}"
    return f"This is about the cell {known.id}{name}, version {known.version}:"
