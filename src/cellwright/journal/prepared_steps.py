"""The engine's two statements per step, built once: building them anew took longer than running them.

They do what DBOS 3.3.0 does and answer only the plain case. Everything else (a step that has a result, a cancelled or
missing workflow, a lost owner) goes on to DBOS itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from dbos._context import current_owner_xid
from dbos._error import DBOSStepNondeterminismError
from dbos._schemas.system_database import SystemSchema
from dbos._sys_db import WorkflowStatusString
from sqlalchemy.exc import DBAPIError

_STATUS, _OUTPUTS = SystemSchema.workflow_status, SystemSchema.operation_outputs
_COLUMNS = (
    "workflow_uuid", "function_id", "function_name", "started_at_epoch_ms", "output", "error", "child_workflow_id",
    "serialization",
)  # fmt: skip
"""What a step's row takes from its result as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSteps:
    """Look-up and recording of one system database."""

    system: Any
    look_up_slowly: Callable[..., Any]
    record_slowly: Callable[..., None]
    standing: sa.Select[Any, bool]
    owner: sa.Executable
    row: Any

    @classmethod
    def of(cls, system: Any) -> PreparedSteps:
        """For a database as DBOS made it."""
        return cls(
            system=system,
            look_up_slowly=system._check_operation_execution_txn,
            record_slowly=system._record_operation_result_txn,
            standing=_standing(),
            owner=_owner(is_sqlite=system._is_sqlite),
            row=_row(system),
        )

    def look_up(self, workflow_id: str, function_id: int, function_name: str, conn: Any) -> Any:
        """The recorded result of a step, or None."""
        found = conn.execute(self.standing, {"workflow": workflow_id, "step": function_id}).first()
        if found is None or found.has_result or found.status == WorkflowStatusString.CANCELLED.value:
            return self.look_up_slowly(workflow_id, function_id, function_name, conn)
        return None

    def record(self, result: Mapping[str, Any], at_ms: int, conn: Any, *, owner_xid: str | None = None) -> None:
        """Keep a step's result, if this execution still owns the workflow; it is locked until the commit."""
        workflow_id: str = result["workflow_uuid"]
        owner_xid = owner_xid if owner_xid is not None else current_owner_xid(workflow_id)
        if owner_xid is not None and conn.execute(self.owner, {"workflow": workflow_id}).scalar() != owner_xid:
            self.record_slowly(result, at_ms, conn, owner_xid=owner_xid)
            return
        values = {column: result[column] for column in _COLUMNS}
        try:
            kept_ms = conn.execute(self.row, {**values, "completed_at_epoch_ms": at_ms}).scalar()
        except DBAPIError as error:
            if not self.system._is_unique_constraint_violation(error):
                raise
            kept_ms = None
        # Another time than ours: somebody else recorded this step, and a retry would have carried the same time.
        if kept_ms is None or int(kept_ms) != at_ms:
            raise DBOSStepNondeterminismError(workflow_id, result["function_id"])


def _standing() -> sa.Select[Any, bool]:
    is_this_step = (_OUTPUTS.c.workflow_uuid == sa.bindparam("workflow")) & (
        _OUTPUTS.c.function_id == sa.bindparam("step")
    )
    has_result = sa.exists(sa.select(sa.literal(1)).where(is_this_step)).label("has_result")
    return sa.select(_STATUS.c.status, has_result).where(_STATUS.c.workflow_uuid == sa.bindparam("workflow"))


def _owner(*, is_sqlite: bool) -> sa.Executable:
    is_this_workflow = _STATUS.c.workflow_uuid == sa.bindparam("workflow")
    if is_sqlite:
        # A write: only that opens a transaction here.
        own = sa.update(_STATUS).where(is_this_workflow).values(owner_xid=_STATUS.c.owner_xid)
        return own.returning(_STATUS.c.owner_xid)
    return sa.select(_STATUS.c.owner_xid).where(is_this_workflow).with_for_update(key_share=True)


def _row(system: Any) -> Any:
    insert = system.dialect.insert(_OUTPUTS).values(
        **{column: sa.bindparam(column) for column in (*_COLUMNS, "completed_at_epoch_ms")},
        application_name=system.app_name,
        retention_timestamp=system._now_ms_sql(),
    )
    key = [_OUTPUTS.c.workflow_uuid, _OUTPUTS.c.function_id]
    unchanged = {"completed_at_epoch_ms": _OUTPUTS.c.completed_at_epoch_ms}
    return insert.on_conflict_do_update(index_elements=key, set_=unchanged).returning(_OUTPUTS.c.completed_at_epoch_ms)
