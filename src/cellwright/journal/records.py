"""What any process may do with a journal without running its workflows: read, follow, answer, and see every run;
stop runs, and carry them over to other code.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from cellwright.errors import UserError
from cellwright.journal import engine_tables
from cellwright.journal.chain import Chain, read_existing_key, read_key
from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.database import Cursor, Database, JournalLocation, Synchronous
from cellwright.journal.engine_tables import RunState, StepRow, WorkflowRow
from cellwright.journal.events import EventTypes, RunEnded, RunForked, RunResumed
from cellwright.journal.leases import Leases
from cellwright.journal.log import EventLog
from cellwright.journal.names import RunId, new_run_id, run_id, stream_of
from cellwright.journal.questions import OpenQuestion, Questions, reopen
from cellwright.journal.recovery import forget_attempts
from cellwright.journal.tables import is_journal
from cellwright.journal.values import Mask
from cellwright.remedies import remedy

if TYPE_CHECKING:
    from cellwright.journal.dbos_settings import WorkflowControl

Standing = RunState | Literal["waiting"]
"""`waiting`: it goes on when a person answers. `dead`: given up after too many recoveries; `resume` tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How a run stands."""

    run: RunId
    name: str
    standing: Standing
    version: str
    """The version of the code it was started with; only workers of that version run it."""
    worker: str
    created_ms: int
    changed_ms: int
    steps: tuple[StepRow, ...]
    """The recorded steps of the run itself."""
    children: tuple[WorkflowRow, ...]
    """Every workflow inside it, at any depth."""
    questions: tuple[OpenQuestion, ...]

    @property
    def is_going(self) -> bool:
        """Whether it will go on by itself or when somebody answers."""
        return self.standing in {"queued", "running", "waiting"}


class Records:
    """A journal's records."""

    def __init__(self, log: EventLog) -> None:
        self.log: Final = log
        self.database: Final = log.database
        self.questions: Final = Questions(log)
        self.leases: Final = Leases(log.database)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        where: str | Path,
        *,
        chain_key: bytes | None = None,
        mask: Mask | None = None,
        types: EventTypes | None = None,
        synchronous: Synchronous = "normal",
        at_crash_point: AtCrashPoint = carry_on,
    ) -> AsyncGenerator[Records]:
        """The records of a journal, made if there is none.

        Events of upper rooms are read by their `types`.
        Without a `chain_key`, the one beside the file is used, and made if need be; on Postgres it must be given.
        """
        place = JournalLocation.of(where)
        database = Database(place, synchronous=synchronous)
        chain = Chain(chain_key or own_key(place))
        log = EventLog(database, chain=chain, mask=mask, types=types, at_crash_point=at_crash_point)
        async with log.opened():
            yield cls(log)

    async def status(self, run: str) -> RunStatus:
        """How a run stands. Raises `UserError` if there is none of that name."""
        questions = tuple(await self.questions.pending(run))

        def work(cursor: Cursor) -> RunStatus | None:
            family = engine_tables.family(cursor, run)
            if not family or family[0].workflow != run:
                return None
            return _status(family[0], tuple(engine_tables.steps(cursor, run)), tuple(family[1:]), questions)

        found = await self.database.read(work)
        if found is None:
            raise UserError(f"No run {run!r}.", hint=remedy("see_journal", run=""))
        return found

    async def runs(self) -> list[RunStatus]:
        """Every run, newest first, without its steps and children."""
        asked: dict[str, list[OpenQuestion]] = {}
        for question in await self.questions.pending():
            asked.setdefault(question.run, []).append(question)
        rows = await self.database.read(engine_tables.top_level)
        return [_status(row, (), (), tuple(asked.get(row.workflow, ()))) for row in rows]

    async def versions_at_work(self) -> list[str]:
        """The versions of the code that workers have, the latest sign of life first."""
        select = "SELECT version FROM cellwright_worker GROUP BY version ORDER BY max(beat_ms) DESC"
        return [row[0] for row in await self.database.read(lambda cursor: cursor.execute(select).all())]

    async def requeue(self, run: str, *, by: str) -> bool:
        """Let a cancelled or dead run go on, at whichever worker of its version takes it; whether it had stopped."""

        def work(cursor: Cursor) -> bool:
            cursor.lock_for_writing()
            stopped = [row.workflow for row in engine_tables.family(cursor, run) if row.state in {"cancelled", "dead"}]
            if not stopped:
                return False
            reopen(cursor, run)
            forget_attempts(cursor, run)
            self.log.append_inside(cursor, stream_of(run), [RunResumed(workflow=run, by=by)])
            engine_tables.put_in_queue(cursor, stopped)
            return True

        await self.status(run)
        is_stopped = await self.database.write(work)
        self.log.growth.hint()
        return is_stopped


def own_key(place: JournalLocation) -> bytes:
    """The chain key that stands beside a SQLite journal; made with the journal, never for one that has lost its own.

    Raises `UserError`: what is written with another key would look forged from there on.
    """
    if place.path is None:
        raise UserError("A journal on Postgres needs its chain key.", hint="Give the key file all workers share.")
    place.path.parent.mkdir(parents=True, exist_ok=True)
    path = place.path.with_suffix(".key")
    return read_existing_key(path) if is_journal(place) else read_key(path)


def _status(
    row: WorkflowRow,
    steps: tuple[StepRow, ...],
    children: tuple[WorkflowRow, ...],
    questions: tuple[OpenQuestion, ...],
) -> RunStatus:
    return RunStatus(
        run=RunId(row.workflow),
        name=row.name,
        standing="waiting" if row.is_going and questions else row.state,
        version=row.version,
        worker=row.worker,
        created_ms=row.created_ms,
        changed_ms=row.changed_ms,
        steps=steps,
        children=children,
        questions=questions,
    )


# ── stopping runs and carrying them over ──


async def known_run(records: Records, run: str) -> WorkflowRow:
    """The run's row. Raises `UserError` if there is none."""
    row = await records.database.read(lambda cursor: engine_tables.workflow(cursor, run))
    if row is None:
        raise UserError(f"No run {run!r}.", hint=remedy("see_journal", run=""))
    return row


async def cancel_run(records: Records, helm: WorkflowControl, run: str, *, reason: str) -> bool:
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


async def fork_run(
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
        await cancel_run(records, helm, run, reason="forked")
    start = await _fork_workflow(records, helm, run, chosen, version, from_step)
    told = RunForked(workflow=chosen, forked_from=run, from_step=start, version=version)
    await records.log.append(stream_of(chosen), told)
    return chosen


async def _fork_workflow(
    records: Records, helm: WorkflowControl, old: str, new: str, version: str, from_step: int | None
) -> int:
    steps = await records.database.read(lambda cursor: engine_tables.steps(cursor, old))
    start = from_step if from_step is not None else max((step.number for step in steps), default=0) + 1
    children: dict[str, str] = {}
    for child in {step.child for step in steps if step.child is not None and step.number < start}:
        row = await records.database.read(lambda cursor, child=child: engine_tables.workflow(cursor, child))
        if row is not None and row.state not in {"done", "failed"}:
            children[child] = new + child.removeprefix(old)
            await _fork_workflow(records, helm, child, children[child], version, None)
    await helm.fork(old, new, start, children, version)
    return start
