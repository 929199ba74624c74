"""Being there when the engine looks up and records a step: events and effects go into its transaction.

So a step is told as finished exactly if it is: no crash can come between the two.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from dbos._sys_db import SystemDatabase
from sqlalchemy.exc import DBAPIError

from cellwright.journal.crash import CrashPoint
from cellwright.journal.database import Cursor
from cellwright.journal.effects import record_effect
from cellwright.journal.events import Event, StepErred, StepFinished, StepStarted
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.journal.values import Json


@dataclass(slots=True, kw_only=True)
class StepContext:
    """What is known of the step a task is in."""

    workflow: str
    name: str
    effect: str = ""
    """The key of what it changes in the world."""
    step: int = 0
    began: float = 0.0
    result: Json = None
    error: str = ""
    events: tuple[Event, ...] | None = None
    """What to tell instead of the step itself."""


STEP_CONTEXT: Final[ContextVar[StepContext | None]] = ContextVar("cellwright_step", default=None)
"""The engine's threads get a copy of the task's context, and with it the ticket."""


class StepTransactions:
    """What we add to the engine's transactions."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    @contextmanager
    def attached(self) -> Generator[None]:
        """Be in the system database that DBOS makes inside this block, before it runs anything."""
        create = SystemDatabase.create

        def create_attached(**options: Any) -> SystemDatabase:
            system = create(**options)
            self._attach(system)
            _listen_to_nobody(system)
            return system

        patch: Any = SystemDatabase
        patch.create = staticmethod(create_attached)
        try:
            yield
        finally:
            patch.create = staticmethod(create)

    def _attach(self, system: Any) -> None:
        """Wrap the two places where it has a step's transaction open."""
        look_up, record = system._check_operation_execution_txn, system._record_operation_result_txn

        def looked_up(workflow_id: str, function_id: int, function_name: str, conn: Any) -> Any:
            found = look_up(workflow_id, function_id, function_name, conn)
            ticket = STEP_CONTEXT.get()
            if found is None and ticket is not None and ticket.workflow == workflow_id:
                ticket.step, ticket.began = function_id, time.perf_counter()
                with _known_to_the_engine():
                    if ticket.events is None:
                        started = StepStarted(workflow=ticket.workflow, step=ticket.step, name=ticket.name)
                        self._tell(self._cursor(conn), ticket, started)
            return found

        def recorded(result: Mapping[str, Any], at_ms: int, conn: Any, *, owner_xid: str | None = None) -> None:
            # It checks first that this execution still owns the workflow, and locks that until the commit.
            record(result, at_ms, conn, owner_xid=owner_xid)
            ticket = STEP_CONTEXT.get()
            if ticket is not None and (ticket.workflow, ticket.step) == (
                result["workflow_uuid"],
                result["function_id"],
            ):
                with _known_to_the_engine():
                    self._recorded(conn, ticket)
                self._log.at(CrashPoint.STEP_COMMITTING)

        system._check_operation_execution_txn = looked_up
        system._record_operation_result_txn = recorded

    def _recorded(self, conn: Any, ticket: StepContext) -> None:
        cursor = self._cursor(conn)
        if ticket.events is not None:
            self._tell(cursor, ticket, *ticket.events)
            return
        if ticket.effect:
            record_effect(cursor, ticket.effect, result=ticket.result, is_done=not ticket.error)
        self._tell(cursor, ticket, _ended(ticket))

    def _tell(self, cursor: Cursor, ticket: StepContext, *events: Event) -> None:
        self._log.append_inside(cursor, stream_of(ticket.workflow), events)

    def _cursor(self, conn: Any) -> Cursor:
        return Cursor(conn.connection.dbapi_connection.cursor(), self._log.database.dialect)


def _listen_to_nobody(system: Any) -> None:
    """Nothing of ours goes through notifications: DBOS would look for some for ever, and closing wait for that."""
    system.run_notification_listener = system.run_notifier = lambda: None


@contextmanager
def _known_to_the_engine() -> Generator[None]:
    """Driver errors as SQLAlchemy raises them: only then does the engine try again after a deadlock or a lost line."""
    try:
        yield
    except Exception as error:
        if any(kind.__name__ in {"DatabaseError", "InterfaceError"} for kind in type(error).__mro__):
            raise DBAPIError("telling of a step", None, error) from error
        raise


def _ended(ticket: StepContext) -> Event:
    took = int((time.perf_counter() - ticket.began) * 1000)
    workflow, step, name = ticket.workflow, ticket.step, ticket.name
    if ticket.error:
        return StepErred(workflow=workflow, step=step, name=name, milliseconds=took, error=ticket.error)
    return StepFinished(workflow=workflow, step=step, name=name, milliseconds=took, effect=ticket.effect)
