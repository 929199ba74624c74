"""The main doorkeeper of DBOS: workflows, steps and queues, with everything it leaves to us set.

What is ours: WAL, JSON instead of pickle, events in the transaction of the step they tell of, polls faster than a
second, steps that stop when their run is cancelled. Its private names are used only here and in
`step_transactions`; its version is pinned.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any, Final

import anyio
import anyio.to_thread
import dbos
import dbos._context
import dbos._core
import dbos._dbos
from dbos._error import DBOSException, DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError
from sqlalchemy.exc import SQLAlchemyError

from cellwright.errors import Defect, Unavailable, UserError
from cellwright.journal.crash import CrashPoint
from cellwright.journal.dbos_settings import (
    EXPECTED_OUTCOMES,
    POLL_INTERVAL_SECONDS,
    JsonSerializer,
    WorkflowControl,
    engine_config,
)
from cellwright.journal.effects import Effect, Effects
from cellwright.journal.engine_tables import QUEUE
from cellwright.journal.events import Event, RunEnded, RunStarted
from cellwright.journal.flow import Flow, Rate, Work, Workflow
from cellwright.journal.log import EventLog
from cellwright.journal.names import QuestionId, RunId, run_of, stream_of
from cellwright.journal.questions import Question, Questions, Withdrawn
from cellwright.journal.step_transactions import STEP_CONTEXT, StepContext, StepTransactions
from cellwright.journal.values import Json, dump, headline, load, settled

_STOP_TIMEOUT_SECONDS: Final = 10
_NO_LIMIT: Final = None
_BEGIN: Final = "begin"
_END: Final = "end"
_TELL: Final = "tell"


class Engine(WorkflowControl):
    """One per process: DBOS is a singleton."""

    def __init__(self, log: EventLog, questions: Questions, version: str) -> None:
        self.version: Final = version
        self.worker: Final = f"worker-{secrets.token_hex(6)}"
        self.serializer: Final = JsonSerializer(log)
        self._log = log
        self._questions = questions
        self._effects = Effects(log, questions)
        self._at = log.at
        self._entries: dict[str, Callable[[Json], Coroutine[Any, Any, Json]]] = {}
        self._scopes: dict[RunId, set[anyio.CancelScope]] = {}
        self._ended = anyio.Event()
        self._instance: dbos.DBOS | None = None

    # ── its life ──

    async def launch(self, workflows: Sequence[Workflow]) -> None:
        """Start DBOS on the journal's database, with these workflows."""
        if dbos._dbos._dbos_global_instance is not None:
            raise UserError("This process runs a journal already.", hint="Close it first; only one can run workflows.")
        logging.getLogger("dbos").addFilter(EXPECTED_OUTCOMES)
        dbos.DBOS.destroy(destroy_registry=True)
        await anyio.to_thread.run_sync(self._launch, workflows, asyncio.get_running_loop())

    def _launch(self, workflows: Sequence[Workflow], loop: asyncio.AbstractEventLoop) -> None:
        config = engine_config(self._log.database, self.serializer, self.version, self.worker)
        instance = dbos.DBOS(config=config)
        for workflow in workflows:
            durable = dbos.DBOS.workflow(name=workflow.name, max_recovery_attempts=_NO_LIMIT)
            self._entries[workflow.name] = durable(self._entry(workflow))
        # Recovery, resume and fork go through this queue; one second of waiting is its default.
        instance._registry._register_internal_queue(QUEUE, polling_interval_sec=POLL_INTERVAL_SECONDS)
        dbos._core.DEFAULT_POLLING_INTERVAL = POLL_INTERVAL_SECONDS
        instance._background_event_loop._main_loop = loop
        self._instance = instance
        try:
            with StepTransactions(self._log).attached():
                dbos.DBOS.launch()
        except (DBOSException, SQLAlchemyError) as error:
            raise Unavailable(
                f"The workflow engine did not start: {error}.", hint="Check the journal's database."
            ) from error

    async def close(self) -> None:
        """Stop; what goes on here is recovered by whoever opens the journal next."""
        instance = self._instance
        if instance is None:
            return
        for stop in instance.background_thread_stop_events:
            stop.set()
        with anyio.move_on_after(_STOP_TIMEOUT_SECONDS):
            while tasks := list(instance._workflow_tasks):
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        threads, database = instance._executor_field, instance._sys_db_field
        pool = None if database is None else database.engine.pool
        await anyio.to_thread.run_sync(lambda: dbos.DBOS.destroy(destroy_registry=True))
        # DBOS does not wait for the threads of stopped tasks: they give connections back to what it has just emptied.
        if threads is not None:
            with anyio.move_on_after(_STOP_TIMEOUT_SECONDS):
                await anyio.to_thread.run_sync(threads.shutdown, abandon_on_cancel=True)
        if pool is not None and database is not None:
            pool.dispose()
            database.engine.dispose()
        self._instance = None
        self._effects.close()
        # DBOS made its own pool the loop's default and has just shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="cellwright"))

    # ── what runs do ──

    def _entry(self, workflow: Workflow) -> Callable[[Json], Coroutine[Any, Any, Json]]:
        async def entry(argument: Json) -> Json:
            workflow_id = dbos.DBOS.workflow_id
            assert workflow_id is not None
            begun = RunStarted(workflow=workflow_id, name=workflow.name, version=self.version)
            await self.tell((begun,), _BEGIN)
            self._at(CrashPoint.RUN_BEGUN)
            try:
                result = load(dump(await workflow.body(Flow(self, workflow_id, self._log.read_all), argument)))
            except DBOSException as error:
                changed = _code_changed(workflow_id, error)
                await self._tell_failure(workflow, workflow_id, changed)
                raise changed from error
            except Exception as error:
                await self._tell_failure(workflow, workflow_id, error)
                raise settled(error, self._log.mask) from error
            self._at(CrashPoint.RUN_ENDING)
            await self.tell((RunEnded(workflow=workflow_id, name=workflow.name, outcome="done"),), _END)
            self._at(CrashPoint.RUN_TOLD)
            self._note_end()
            return result

        return entry

    async def _tell_failure(self, workflow: Workflow, workflow_id: str, error: Exception) -> None:
        told = RunEnded(workflow=workflow_id, name=workflow.name, outcome="failed", error=headline(error))
        try:
            await self.tell((told,), _END)
        except DBOSException:
            # The code went another way than its record, so there is no step to tell it in.
            await self._log.append(stream_of(workflow_id), told)

    async def tell(self, events: Sequence[Event], name: str = _TELL) -> None:
        """Append the events to the run's stream unless that is done: a step whose only work is to be told."""
        await self._record(StepContext(workflow=_here(), name=name, events=tuple(events)), _nothing)

    async def step(self, name: str, work: Work, effect: Effect | None) -> Json:
        """Do the work unless its result is kept."""
        ticket = StepContext(workflow=_here(), name=name, effect=effect.key if effect else "")

        async def body() -> Json:
            if effect is None:
                return await work()
            return await self._effects.once(
                effect,
                ticket.workflow,
                ticket.step,
                name,
                work=work,
                require_ownership=lambda: self._require_ownership(ticket.workflow),
            )

        return await self._record(ticket, body)

    async def _require_ownership(self, workflow_id: str) -> None:
        """Stop here if another worker has taken over."""
        mine = dbos._context.current_owner_xid(workflow_id)
        if await anyio.to_thread.run_sync(self._system.get_workflow_owner, workflow_id) != mine:
            raise DBOSWorkflowConflictIDError(workflow_id)

    async def ask(self, question: Question) -> Any:
        """Ask a person unless the answer is kept."""
        ticket = StepContext(workflow=_here(), name=f"ask {question.topic}")

        async def body() -> Json:
            question_id = QuestionId(f"{ticket.workflow}#{ticket.step}")
            await self._questions.open(question_id, ticket.workflow, question)
            self._at(CrashPoint.QUESTION_OPENED)
            answer = await self._questions.wait(question_id)
            self._at(CrashPoint.QUESTION_CLOSED)
            return answer

        return await self._record(ticket, body)

    async def sleep(self, seconds: float) -> None:
        """Wait until a time that is kept."""

        async def until() -> float:
            return time.time() + seconds

        wake = await self._record(StepContext(workflow=_here(), name="sleep"), until)
        assert isinstance(wake, float)
        await self._stoppable(_here(), lambda: anyio.sleep(max(0.0, wake - time.time())))

    async def child(self, workflow_id: str, name: str, argument: Json) -> Json:
        """Run another workflow inside this one."""
        entry = self._entries.get(name)
        if entry is None:
            raise Defect(f"No workflow named {name!r}.", hint=f"Known: {', '.join(self._entries)}.")
        self._at(CrashPoint.CHILD_STARTING)
        with dbos.SetWorkflowID(workflow_id):
            result = await entry(argument)
        self._at(CrashPoint.CHILD_ENDED)
        return result

    async def _record(self, ticket: StepContext, work: Work) -> Json:
        async def body() -> Json:
            token = STEP_CONTEXT.set(None)
            try:
                self._log.growth.hint()
                self._at(CrashPoint.STEP_CHECKED)
                ticket.result = await self._stoppable(ticket.workflow, work)
            except Withdrawn as error:
                raise DBOSWorkflowCancelledError(f"Nobody needs to answer {error} any more.") from error
            except Exception as error:
                ticket.error = headline(error)
                raise settled(error, self._log.mask) from error
            finally:
                STEP_CONTEXT.reset(token)
            self._at(CrashPoint.STEP_WORKED)
            return ticket.result

        token = STEP_CONTEXT.set(ticket)
        try:
            result = await dbos.DBOS.run_step_async({"name": ticket.name}, body)
        finally:
            STEP_CONTEXT.reset(token)
            self._log.growth.hint()
        self._at(CrashPoint.STEP_COMMITTED)
        return result

    async def _stoppable(self, workflow_id: str, work: Work) -> Any:
        """Do the work, and stop it when the run is cancelled."""
        scopes = self._scopes.setdefault(run_of(workflow_id), set())
        with anyio.CancelScope() as scope:
            scopes.add(scope)
            try:
                return await work()
            finally:
                scopes.discard(scope)
                if not scopes:
                    self._scopes.pop(run_of(workflow_id), None)
        raise DBOSWorkflowCancelledError(f"{workflow_id} is cancelled.")

    # ── what doors do ──

    async def start(self, run: RunId, name: str, argument: Json) -> None:
        """Run a workflow in this process."""
        entry = self._known(name)

        async def begin() -> None:
            with dbos.SetWorkflowID(run):
                handle = await dbos.DBOS.start_workflow_async(entry, argument)
            task = getattr(handle, "task", None)
            if task is not None:
                task.add_done_callback(self._note_end)

        await _on_its_own(begin())

    def next_end(self) -> anyio.Event:
        """Set when the next workflow of this process ends, or is about to."""
        return self._ended

    def _note_end(self, _: object = None) -> None:
        self._ended.set()
        self._ended = anyio.Event()

    async def enqueue(self, run: RunId, name: str, argument: Json, queue: str, priority: int | None) -> None:
        """Leave a workflow to whichever worker takes it."""
        entry = self._known(name)

        async def begin() -> None:
            with dbos.SetWorkflowID(run), dbos.SetEnqueueOptions(priority=priority):
                await dbos.DBOS.enqueue_workflow_async(queue, entry, argument)

        await _on_its_own(begin())

    def _known(self, name: str) -> Callable[[Json], Coroutine[Any, Any, Json]]:
        if name not in self._entries:
            raise UserError(f"No workflow named {name!r}.", hint=f"Known: {', '.join(self._entries)}.")
        return self._entries[name]

    async def register_queue(
        self,
        name: str,
        *,
        concurrency: int | None = None,
        worker_concurrency: int | None = None,
        rate: Rate | None = None,
    ) -> None:
        """Make a queue, or change its limits: how many at once on all workers, on each, and starts per time."""
        await dbos.DBOS.register_queue_async(
            name,
            global_concurrency=concurrency,
            worker_concurrency=worker_concurrency,
            limiter={"limit": rate.limit, "period": rate.seconds} if rate else None,
            polling_interval_sec=POLL_INTERVAL_SECONDS,
            on_conflict="always_update",
        )

    async def cancel(self, workflow_ids: Sequence[str]) -> None:
        """Let these workflows take no further step, and stop the steps they are in."""
        await super().cancel(workflow_ids)
        self.stop_steps({run_of(workflow_id) for workflow_id in workflow_ids})

    def stop_steps(self, runs: set[RunId]) -> None:
        """Stop the steps of these runs that go on in this process."""
        for run in runs:
            for scope in self._scopes.get(run, ()):
                scope.cancel()

    def runs_here(self) -> set[RunId]:
        """The runs with a step going on in this process."""
        return set(self._scopes)

    def put_back(self, workflow_id: str, lost_worker: str) -> bool:
        """Give a lost worker's workflow to whoever takes it; whether it was still that worker's. Blocking."""
        return self._system.reenqueue_for_recovery(workflow_id, [lost_worker], QUEUE)

    def give_up(self, workflow_ids: Sequence[str]) -> None:
        """Let nobody take these up until a person says so. Blocking."""
        self._system.dead_letter_workflows(list(workflow_ids), min_recovery_attempts=0)

    @property
    def _system(self) -> Any:
        if self._instance is None:
            raise Defect("The workflow engine is not running.")
        return self._instance._sys_db


async def _on_its_own(work: Coroutine[Any, Any, None]) -> None:
    """Do it as if from outside: a run that is started inside a step is nobody's child."""
    await asyncio.get_running_loop().create_task(work, context=Context())


def _here() -> str:
    workflow_id = dbos.DBOS.workflow_id
    if workflow_id is None:
        raise Defect("A flow was used outside its workflow.", hint="Do not keep it after the workflow has returned.")
    return workflow_id


async def _nothing() -> Json:
    return None


def _code_changed(workflow_id: str, error: DBOSException) -> UserError:
    return UserError(
        f"The code of {workflow_id!r} does not fit its recorded steps: {error}",
        hint="Its code changed, or it is not deterministic. Fork the run before that step.",
    )
