"""Taking over from workers that are gone, a bounded number of times.

SQLite has one worker: it holds a lock that its death releases, so whatever is marked as running when it opens is lost.
On Postgres each worker says every half second that it lives; who is silent for longer than its lease is lost. Whether
it really is dead does not matter: its token is void, so whatever it still tries to record is refused.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from cellwright.errors import UserError
from cellwright.journal import engine_tables
from cellwright.journal.crash import CrashPoint
from cellwright.journal.database import Cursor, JournalLocation
from cellwright.journal.engine_tables import WorkflowRow
from cellwright.journal.events import RunEnded, RunRecovered
from cellwright.journal.log import EventLog
from cellwright.journal.names import RunId, run_of, stream_of

if TYPE_CHECKING:
    from cellwright.journal.engine import Engine

logger = logging.getLogger(__name__)
_HEARTBEAT_INTERVAL_SECONDS: Final = 0.5
_LAST_BEAT_TIMEOUT_SECONDS: Final = 10


class Recovery:
    """One worker's part in noticing lost ones. Blocking: in a thread, so that a busy loop does not look dead."""

    def __init__(self, log: EventLog, engine: Engine, *, lease_seconds: float, most_attempts: int) -> None:
        self._log = log
        self._engine = engine
        self._lease_ms = int(lease_seconds * 1000)
        self._most_attempts = most_attempts
        # A connection of its own: a sign of life must not wait behind a long read.
        self._lane = log.database.new_connection()

    def beat(self) -> None:
        """Say that this worker lives."""
        with self._lane.transaction(is_writing=True) as cursor:
            cursor.execute(
                "INSERT INTO cellwright_worker (id, version, beat_ms) VALUES (?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET beat_ms = excluded.beat_ms",
                (self._engine.worker, self._engine.version, cursor.now_ms()),
            )

    def leave(self) -> None:
        """Say that this worker goes, so that nobody has to wait for its silence."""
        with self._lane.transaction(is_writing=True) as cursor:
            cursor.execute("DELETE FROM cellwright_worker WHERE id = ?", (self._engine.worker,))
        self._lane.close()

    def take_over(self) -> list[RunId]:
        """Put back what lost workers were running; gives the runs that go on."""
        with self._lane.transaction(is_writing=False) as cursor:
            lost = self._lost(cursor)
        recovered: list[RunId] = []
        for run, rows in groupby(lost, key=lambda row: run_of(row.workflow)):
            if self._take_over(run, list(rows)):
                recovered.append(run)
        return recovered

    def _lost(self, cursor: Cursor) -> list[WorkflowRow]:
        alive = {self._engine.worker}
        if cursor.dialect == "postgres":
            select = "SELECT id FROM cellwright_worker WHERE beat_ms > ?"
            alive |= {row[0] for row in cursor.execute(select, (cursor.now_ms() - self._lease_ms,)).all()}
        rows = engine_tables.running(cursor)
        return [row for row in rows if row.worker not in alive and row.version == self._engine.version]

    def _take_over(self, run: RunId, rows: list[WorkflowRow]) -> bool:
        lost_worker = rows[0].worker
        with self._lane.transaction(is_writing=True) as cursor:
            attempts = _count_attempt(cursor, run, lost_worker)
        if attempts > self._most_attempts:
            self._give_up(run, attempts)
            return False
        is_ours = False
        for row in rows:
            if self._engine.put_back(row.workflow, row.worker):
                is_ours = True
                self._log.at(CrashPoint.RECOVERY_CLAIMED)
        if is_ours:
            self._tell(run, RunRecovered(workflow=run, lost_worker=lost_worker, attempt=attempts))
        return is_ours

    def _give_up(self, run: RunId, attempts: int) -> None:
        with self._lane.transaction(is_writing=False) as cursor:
            family = engine_tables.family(cursor, run)
        self._engine.give_up([row.workflow for row in family if row.is_going])
        reason = f"Given up after {attempts - 1} recoveries in a row without a finished step."
        self._tell(run, RunEnded(workflow=run, name=family[0].name, outcome="dead", error=reason))

    def _tell(self, run: RunId, event: RunRecovered | RunEnded) -> None:
        with self._lane.transaction(is_writing=True) as cursor:
            self._log.append_inside(cursor, stream_of(run), [event])


def _count_attempt(cursor: Cursor, run: RunId, lost_worker: str) -> int:
    """The how-manieth recovery in a row this is without a new step; several workers may count the same loss."""
    cursor.lock_for_writing()
    steps = engine_tables.count_steps(cursor, run)
    cursor.execute(
        "INSERT INTO cellwright_recovery (run, worker, steps, attempts) VALUES (?, '', -1, 0) "
        "ON CONFLICT (run) DO NOTHING",
        (run,),
    )
    lock = "" if cursor.dialect == "sqlite" else " FOR UPDATE"
    row = cursor.execute(f"SELECT worker, steps, attempts FROM cellwright_recovery WHERE run = ?{lock}", (run,)).one()
    assert row is not None
    if row[0] == lost_worker:
        return row[2]
    attempts = 1 if steps > row[1] else row[2] + 1
    cursor.execute(
        "UPDATE cellwright_recovery SET worker = ?, steps = ?, attempts = ? WHERE run = ?",
        (lost_worker, steps, attempts, run),
    )
    return attempts


def forget_attempts(cursor: Cursor, run: str) -> None:
    """A person let it go on: it has all its attempts again."""
    cursor.execute("DELETE FROM cellwright_recovery WHERE run = ?", (run,))


@contextmanager
def only_worker(place: JournalLocation) -> Generator[None]:
    """Be the one worker of a SQLite journal for as long as this lasts. Raises `UserError` if there is one."""
    if place.path is None:
        yield
        return
    descriptor = os.open(place.path.with_suffix(".worker"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"Another process runs the workflows of {str(place.path)!r}.",
                hint="Let it do so, stop it, or keep the journal on Postgres.",
            ) from None
        yield
    finally:
        os.close(descriptor)


@asynccontextmanager
async def heartbeat(*parts: Callable[[], object]) -> AsyncGenerator[None]:
    """Do these every half second in a thread until the block ends; one that fails is logged and tried again."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(_HEARTBEAT_INTERVAL_SECONDS):
            for part in parts:
                try:
                    part()
                except Exception as error:  # noqa: BLE001 - a pulse that ends lets a living worker look dead
                    logger.warning("The journal's pulse missed a beat: %s", error)

    thread = threading.Thread(target=beat, name="cellwright-pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        # Not on the loop's own thread: the last beat may want something of the loop.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(thread.join, _LAST_BEAT_TIMEOUT_SECONDS)
