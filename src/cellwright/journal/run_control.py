"""Stopping runs and carrying them over to other code: for a worker, and for a door in any other process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from cellwright.errors import UserError
from cellwright.journal import engine_tables
from cellwright.journal.engine_tables import WorkflowRow
from cellwright.journal.events import RunEnded, RunForked
from cellwright.journal.names import RunId, new_run_id, run_id, stream_of
from cellwright.journal.records import Records
from cellwright.remedies import remedy


class WorkflowControl(Protocol):
    """What the engine does with workflows, whether it runs in this process or not."""

    async def cancel(self, workflow_ids: Sequence[str]) -> None:
        """Let these take no further step."""
        ...

    async def fork(self, old: str, new: str, from_step: int, children: Mapping[str, str], version: str) -> None:
        """A workflow that has the old one's steps below `from_step`; it may take these children for its own."""
        ...


async def known_run(records: Records, run: str) -> WorkflowRow:
    """The run's row. Raises `UserError` if there is none."""
    row = await records.database.read(lambda cursor: engine_tables.workflow(cursor, run))
    if row is None:
        raise UserError(f"No run {run!r}.", hint=remedy("see_journal", run=""))
    return row


async def cancel(records: Records, helm: WorkflowControl, run: str, *, reason: str) -> bool:
    """Stop a run and everything inside it; whether it went on. What is recorded stays."""
    await known_run(records, run)
    family = await records.database.read(lambda cursor: engine_tables.family(cursor, run))
    going = [row.workflow for row in family if row.is_going]
    await helm.cancel(going)
    await records.questions.withdraw(run, reason)
    if run not in going:
        return False
    told = RunEnded(workflow=run, name=family[0].name, outcome="cancelled", error=reason)
    await records.log.append(stream_of(run), told)
    return True


async def fork(
    records: Records, helm: WorkflowControl, run: str, *, version: str, from_step: int | None, new_run: str | None
) -> RunId:
    """A new run, of this version, with the old one's steps below `from_step`; without it, all it has.

    A run that still goes on is cancelled first. Workflows inside it that have not ended are forked with it.
    """
    old = await known_run(records, run)
    chosen = run_id(new_run) if new_run is not None else new_run_id()
    if await records.database.read(lambda cursor: engine_tables.workflow(cursor, chosen)) is not None:
        raise UserError(f"There is a run {chosen!r}.", hint="Give the fork another name, or none.")
    if old.is_going:
        await cancel(records, helm, run, reason="forked")
    start = await _fork(records, helm, run, chosen, version, from_step)
    told = RunForked(workflow=chosen, forked_from=run, from_step=start, version=version)
    await records.log.append(stream_of(chosen), told)
    return chosen


async def _fork(
    records: Records, helm: WorkflowControl, old: str, new: str, version: str, from_step: int | None
) -> int:
    steps = await records.database.read(lambda cursor: engine_tables.steps(cursor, old))
    start = from_step if from_step is not None else max((step.number for step in steps), default=0) + 1
    children: dict[str, str] = {}
    for child in {step.child for step in steps if step.child is not None and step.number < start}:
        row = await records.database.read(lambda cursor, child=child: engine_tables.workflow(cursor, child))
        if row is not None and row.state not in {"done", "failed"}:
            children[child] = new + child.removeprefix(old)
            await _fork(records, helm, child, children[child], version, None)
    await helm.fork(old, new, start, children, version)
    return start
