"""Our prepared statements keep exactly what the engine's own would."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from dbos._error import DBOSStepNondeterminismError, DBOSWorkflowConflictIDError
from dbos._schemas.system_database import SystemSchema
from dbos._sys_db import SystemDatabase

from cellwright.journal import Flow, Journal, RunId, Workflow
from cellwright.journal.prepared_steps import PreparedSteps

_RUN, _OWNER = RunId("a-run"), "an owner"
_CHOSEN = ("function_id", "completed_at_epoch_ms", "retention_timestamp")


@pytest.fixture
async def system(where: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Any]:
    """A system database as the engine made it, with a finished run in it."""
    made: list[Any] = []
    create = SystemDatabase.create

    def remembered(**options: Any) -> SystemDatabase:
        made.append(create(**options))
        return made[-1]

    monkeypatch.setattr(SystemDatabase, "create", staticmethod(remembered))

    async def steps(flow: Flow, _: Any) -> int:
        return await flow.step("one", _one)

    with anyio.fail_after(120):
        async with Journal.open(
            where, version="1", workflows=[Workflow(name="steps", body=steps)], chain_key=b"k" * 32
        ) as journal:
            assert await journal.result(await journal.run("steps", run=_RUN)) == 1
            yield made[0]


async def _one() -> int:
    return 1


def _result(step: int) -> dict[str, Any]:
    return {
        "workflow_uuid": _RUN,
        "function_id": step,
        "function_name": "nothing",
        "started_at_epoch_ms": 5,
        "output": "7",
        "error": None,
        "child_workflow_id": None,
        "serialization": "json",
    }


async def test_a_recorded_row_equals_the_engines_own(system: Any) -> None:
    stock: Any = SystemDatabase._record_operation_result_txn
    prepared = PreparedSteps.of(system)
    with system.engine.begin() as conn:
        _own(conn)
        stock(system, _result(101), 9, conn, owner_xid=_OWNER)
        prepared.record(_result(102), 9, conn, owner_xid=_OWNER)
        theirs, ours = (_row(conn, step) for step in (101, 102))
    assert {name: value for name, value in ours.items() if name not in _CHOSEN} == {
        name: value for name, value in theirs.items() if name not in _CHOSEN
    }
    assert type(ours["retention_timestamp"]) is type(theirs["retention_timestamp"])


async def test_a_step_recorded_by_somebody_else_or_for_another_owner_is_refused(system: Any) -> None:
    prepared = PreparedSteps.of(system)
    with system.engine.begin() as conn:
        _own(conn)
        prepared.record(_result(101), 9, conn, owner_xid=_OWNER)
        prepared.record(_result(101), 9, conn, owner_xid=_OWNER)
    with pytest.raises(DBOSStepNondeterminismError), system.engine.begin() as conn:
        prepared.record(_result(101), 10, conn, owner_xid=_OWNER)
    with pytest.raises(DBOSWorkflowConflictIDError), system.engine.begin() as conn:
        prepared.record(_result(102), 9, conn, owner_xid="a zombie")


def _own(conn: Any) -> None:
    status = SystemSchema.workflow_status
    conn.execute(sa.update(status).where(status.c.workflow_uuid == _RUN).values(owner_xid=_OWNER))


def _row(conn: Any, step: int) -> dict[str, Any]:
    outputs = SystemSchema.operation_outputs
    found = conn.execute(sa.select(outputs).where((outputs.c.workflow_uuid == _RUN) & (outputs.c.function_id == step)))
    return dict(found.mappings().one())
