"""The journal of a process that runs workflows: the verbs doors use."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from cellwright.errors import Defect, UserError
from cellwright.journal import engine_tables
from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.database import Cursor, Synchronous
from cellwright.journal.events import EventTypes
from cellwright.journal.flow import Workflow
from cellwright.journal.log import beside
from cellwright.journal.names import RunId, new_run_id, run_id
from cellwright.journal.records import Records, RunStatus, cancel_run, fork_run, known_run
from cellwright.journal.recovery import Recovery, heartbeat, only_worker
from cellwright.journal.values import Json, Mask, from_json, to_json

if TYPE_CHECKING:
    from cellwright.journal.engine import Engine

T = TypeVar("T")
_POLL_INTERVAL_SECONDS: Final = 0.2
_SOON_SECONDS: Final = 0.005


class Journal:
    """Durable runs on a SQLite file or on Postgres, and the record of everything they do."""

    def __init__(self, records: Records, engine: Engine) -> None:
        self.records: Final = records
        self.log: Final = records.log
        self.version: Final = engine.version
        self._engine = engine
        self.status: Final = records.status
        """How a run stands."""
        self.answer: Final = records.questions.answer
        """Answer a question some run waits for."""
        self.queue: Final = engine.register_queue

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        where: str | Path,
        *,
        version: str,
        workflows: Sequence[Workflow],
        chain_key: bytes | None = None,
        mask: Mask | None = None,
        types: EventTypes | None = None,
        synchronous: Synchronous = "normal",
        lease_seconds: float = 2.0,
        most_recoveries: int = 5,
        at_crash_point: AtCrashPoint = carry_on,
    ) -> AsyncGenerator[Journal]:
        """Run these workflows, starting with whatever was cut off before.

        `version` names the code: change it when a workflow's steps change, and `fork` the runs of the old one.
        """
        # Two seconds of import that readers of a journal need not pay.
        from cellwright.journal.engine import Engine

        async with Records.open(
            where,
            chain_key=chain_key,
            mask=mask,
            types=types,
            synchronous=synchronous,
            at_crash_point=at_crash_point,
        ) as records:
            with only_worker(records.database.place):
                engine = Engine(records.log, records.questions, version)
                recovery = Recovery(records.log, engine, lease_seconds=lease_seconds, most_attempts=most_recoveries)
                async with _working(records, engine, recovery, workflows):
                    yield cls(records, engine)

    # ── starting ──

    async def run(
        self,
        name: str,
        argument: object = None,
        *,
        run: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
    ) -> RunId:
        """Start a workflow; a name that is taken means that run, whatever its argument was.

        With a `queue`, any worker takes it, lower `priority` first; without, this process runs it at once.
        """
        chosen = run_id(run) if run is not None else new_run_id()
        value = to_json(argument, None)
        if queue is None:
            await self._engine.start(chosen, name, value)
        else:
            await self._engine.enqueue(chosen, name, value, queue, priority)
        return chosen

    # ── looking ──

    async def result(self, run: str, *, returns: type[T] | None = None) -> T | Any:
        """The run's result, once it has one; its error is raised, and `UserError` if it was cancelled or given up."""
        patience = _POLL_INTERVAL_SECONDS
        while True:
            end = self._engine.next_end()
            row = await known_run(self.records, run)
            if not row.is_going:
                return from_json(await self._outcome(row), returns)
            with anyio.move_on_after(patience):
                await end.wait()
            # A run tells of its end a moment before its result is there.
            patience = _SOON_SECONDS if end.is_set() else min(2 * patience, _POLL_INTERVAL_SECONDS)

    async def stranded(self) -> list[RunStatus]:
        """Runs of other versions, which no worker of this one goes on with: `fork` them."""
        return [run for run in await self.records.runs() if run.is_going and run.version != self.version]

    # ── steering ──

    async def cancel(self, run: str, *, reason: str = "cancelled") -> None:
        """Stop a run and everything inside it; steps in flight are stopped, what is recorded stays."""
        await cancel_run(self.records, self._engine, run, reason=reason)

    async def resume(self, run: str, *, by: str = "") -> None:
        """Let a cancelled or dead run go on at its first step without a result. Nothing happens to one that goes on."""
        row = await known_run(self.records, run)
        if row.version != self.version:
            raise UserError(
                f"The run {run!r} is of version {row.version!r}, this is {self.version!r}.", hint="Fork it instead."
            )
        await self.records.requeue(run, by=by)

    async def fork(self, run: str, *, from_step: int | None = None, new_run: str | None = None) -> RunId:
        """A new run, of this version, that has the old one's steps below `from_step`; without it, all it has.

        A run that still goes on is cancelled first. Workflows inside it that have not ended are forked with it.
        """
        return await fork_run(
            self.records, self._engine, run, version=self.version, from_step=from_step, new_run=new_run
        )

    # ── inside ──

    async def _outcome(self, row: engine_tables.WorkflowRow) -> Json:
        if row.state in {"cancelled", "dead"}:
            raise UserError(f"The run {row.workflow!r} is {row.state}.", hint="Resume it to let it go on.")
        output, error = await self.records.database.read(lambda cursor: engine_tables.outcome(cursor, row.workflow))
        kept = output if row.state == "done" else error
        if kept is None:
            raise Defect(f"The run {row.workflow!r} is {row.state} without an outcome.")
        value = await anyio.to_thread.run_sync(self._engine.serializer.deserialize, kept)
        if isinstance(value, BaseException):
            raise value
        return value


@asynccontextmanager
async def _working(
    records: Records, engine: Engine, recovery: Recovery, workflows: Sequence[Workflow]
) -> AsyncGenerator[None]:
    """Launch, take over what was lost, keep noticing, and stop in order."""
    loop_token = anyio.lowlevel.current_token()

    def stop_cancelled() -> None:
        here = engine.runs_here()
        cancelled = records.database.read_now(lambda cursor: _cancelled(cursor, here)) if here else set[RunId]()
        if cancelled:
            anyio.from_thread.run_sync(engine.stop_steps, cancelled, token=loop_token)

    is_fleet = records.database.dialect == "postgres"
    parts: list[Callable[[], object]] = [recovery.beat, recovery.take_over] if is_fleet else []
    try:
        await anyio.to_thread.run_sync(recovery.beat)
        await engine.launch(workflows)
        await anyio.to_thread.run_sync(recovery.take_over)
        async with beside(records.questions.watch), heartbeat(*parts, stop_cancelled):
            yield
    finally:
        with anyio.CancelScope(shield=True):
            await engine.close()
            await anyio.to_thread.run_sync(recovery.leave)


def _cancelled(cursor: Cursor, runs: set[RunId]) -> set[RunId]:
    rows = (engine_tables.workflow(cursor, run) for run in runs)
    return {RunId(row.workflow) for row in rows if row is not None and row.state == "cancelled"}
