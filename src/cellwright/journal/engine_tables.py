"""Reading the workflow engine's own tables, so that doors can show runs without starting the engine.

The only place that knows their columns. Pinned with dbos; the contract tests run on every upgrade.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from cellwright.journal.database import Cursor, Dialect
from cellwright.journal.names import run_of

RunState = Literal["queued", "running", "done", "failed", "cancelled", "dead"]
_STATES: Final[dict[str, RunState]] = {
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
    "SUCCESS": "done",
    "ERROR": "failed",
    "CANCELLED": "cancelled",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "dead",
}
QUEUE: Final = "_dbos_internal_queue"
"""Through which the engine recovers, resumes and forks."""
_COLUMNS: Final = (
    "workflow_uuid, status, name, coalesce(application_version, ''), coalesce(executor_id, ''), created_at, "
    "updated_at, coalesce(queue_name, '')"
)


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """A run, or a workflow inside one."""

    workflow: str
    state: RunState
    name: str
    version: str
    worker: str
    created_ms: int
    changed_ms: int
    queue: str

    @property
    def is_going(self) -> bool:
        """Whether it will go on by itself."""
        return self.state in {"queued", "running"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A recorded step."""

    number: int
    name: str
    is_failed: bool
    child: str | None
    """The workflow it started or whose result it took."""


def exists(cursor: Cursor) -> bool:
    """Whether the engine has ever been started on this database."""
    if cursor.dialect == "sqlite":
        select = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workflow_status'"
    else:
        select = (
            "SELECT 1 FROM information_schema.tables WHERE table_schema = 'dbos' AND table_name = 'workflow_status'"
        )
    return cursor.execute(select).one() is not None


def workflow(cursor: Cursor, workflow_id: str) -> WorkflowRow | None:
    """One workflow."""
    return next(iter(_workflows(cursor, "WHERE workflow_uuid = ?", (workflow_id,))), None)


def family(cursor: Cursor, workflow_id: str) -> list[WorkflowRow]:
    """A workflow and everything below it."""
    return _workflows(cursor, f"WHERE {_WITHIN} ORDER BY workflow_uuid", _within(workflow_id))


def top_level(cursor: Cursor) -> list[WorkflowRow]:
    """Every run, newest first."""
    rows = _workflows(cursor, "ORDER BY created_at DESC, workflow_uuid")
    return [row for row in rows if row.workflow == run_of(row.workflow)]


def running(cursor: Cursor) -> list[WorkflowRow]:
    """Every workflow some worker has taken on."""
    return _workflows(cursor, "WHERE status = 'PENDING' ORDER BY workflow_uuid")


def steps(cursor: Cursor, workflow_id: str) -> list[StepRow]:
    """The recorded steps of one workflow, in order."""
    if not exists(cursor):
        return []
    select = (
        "SELECT function_id, function_name, error IS NOT NULL, child_workflow_id "
        f"FROM {_table(cursor.dialect, 'operation_outputs')} WHERE workflow_uuid = ? ORDER BY function_id"
    )
    rows = cursor.execute(select, (workflow_id,)).all()
    return [StepRow(number=row[0], name=row[1], is_failed=bool(row[2]), child=row[3]) for row in rows]


def count_steps(cursor: Cursor, run: str) -> int:
    """How many steps are recorded in a run, children included."""
    select = f"SELECT count(*) FROM {_table(cursor.dialect, 'operation_outputs')} WHERE {_WITHIN}"
    row = cursor.execute(select, _within(run)).one()
    return int(row[0]) if row else 0


def outcome(cursor: Cursor, workflow_id: str) -> tuple[str | None, str | None]:
    """A workflow's kept result and error."""
    select = f"SELECT output, error FROM {_table(cursor.dialect, 'workflow_output')} WHERE workflow_uuid = ?"
    row = cursor.execute(select, (workflow_id,)).one()
    return (None, None) if row is None else (row[0], row[1])


def put_in_queue(cursor: Cursor, workflow_ids: list[str]) -> None:
    """Let any worker take up these stopped workflows, with all their attempts."""
    for workflow_id in workflow_ids:
        cursor.execute(
            f"UPDATE {_table(cursor.dialect, 'workflow_status')} SET status = 'ENQUEUED', owner_xid = NULL, "
            "queue_name = ?, recovery_attempts = 0, workflow_deadline_epoch_ms = NULL, deduplication_id = NULL, "
            "started_at_epoch_ms = NULL, completed_at = NULL, updated_at = ? "
            "WHERE workflow_uuid = ? AND status IN ('CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED')",
            (QUEUE, cursor.now_ms(), workflow_id),
        )


def forget(cursor: Cursor, workflow_ids: list[str]) -> None:
    """Delete everything the engine keeps of these workflows."""
    for table in ("operation_outputs", "workflow_input", "workflow_output", "workflow_events",
                  "workflow_events_history", "streams", "workflow_status"):  # fmt: skip
        for workflow_id in workflow_ids:
            cursor.execute(f"DELETE FROM {_table(cursor.dialect, table)} WHERE workflow_uuid = ?", (workflow_id,))


def kept_texts(cursor: Cursor) -> set[str]:
    """Everything kept that may refer to a blob."""
    texts: set[str] = set()
    for table, columns in (("operation_outputs", "output, error"), ("workflow_output", "output, error"),
                           ("workflow_input", "inputs, inputs")):  # fmt: skip
        for row in cursor.execute(f"SELECT {columns} FROM {_table(cursor.dialect, table)}").all():
            texts.update(text for text in row if text is not None and text.startswith('{"blob":'))
    return texts


_WITHIN: Final = "(workflow_uuid = ? OR substr(workflow_uuid, 1, ?) = ?)"


def _within(workflow_id: str) -> tuple[str, int, str]:
    below = f"{workflow_id}/"
    return workflow_id, len(below), below


def _workflows(cursor: Cursor, which: str, values: tuple[object, ...] = ()) -> list[WorkflowRow]:
    if not exists(cursor):
        return []
    select = f"SELECT {_COLUMNS} FROM {_table(cursor.dialect, 'workflow_status')} {which}"
    return [WorkflowRow(row[0], _STATES[row[1]], *row[2:]) for row in cursor.execute(select, values).all()]


def _table(dialect: Dialect, name: str) -> str:
    return name if dialect == "sqlite" else f"dbos.{name}"
