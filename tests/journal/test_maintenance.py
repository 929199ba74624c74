"""Copies of a journal in use, and putting them back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from cellwright.errors import UserError
from cellwright.journal.database import JournalLocation
from cellwright.journal.events import Fact
from cellwright.journal.maintenance import back_up, check, restore
from cellwright.journal.records import Records
from cellwright.journal.verify import verify


@pytest.fixture
async def records(tmp_path: Path) -> AsyncGenerator[Records]:
    async with Records.open(tmp_path / "journal.db") as opened:
        await opened.log.append("a", *[Fact(topic="before", subject=str(number)) for number in range(500)])
        yield opened


async def test_a_backup_made_while_others_write_is_whole_and_checks(records: Records, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"

    async def write() -> None:
        for number in range(50):
            await records.log.append("a", Fact(topic="meanwhile", subject=str(number)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        assert await back_up(records.database.place, copy) > 0
    assert await check(JournalLocation.of(copy)) == []
    async with Records.open(copy) as copied:
        verdict = await verify(copied.log)
        assert verdict.damage == ()
        assert verdict.events >= 500
    with pytest.raises(UserError, match="exists"):
        await back_up(records.database.place, copy)


async def test_a_restored_journal_is_what_was_backed_up(records: Records, tmp_path: Path) -> None:
    copy, place = tmp_path / "copy.db", JournalLocation.of(tmp_path / "elsewhere" / "journal.db")
    await back_up(records.database.place, copy)
    await restore(copy, place)
    async with Records.open(place.url) as restored:
        await restored.log.append("a", Fact(topic="after", subject="1"))
        assert (await verify(restored.log)).events == 501
    with pytest.raises(UserError, match="There is a journal"):
        await restore(copy, place)
    await restore(copy, place, replace=True)
    async with Records.open(place.url) as restored:
        assert (await verify(restored.log)).damage == ()
        assert (await verify(restored.log)).events == 500


async def test_a_broken_copy_is_refused_and_leaves_what_is_there(records: Records, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    await back_up(records.database.place, copy)
    broken = bytearray(copy.read_bytes())
    broken[4096 * 3 : 4096 * 6] = b"\xff" * (4096 * 3)
    copy.write_bytes(broken)
    assert await check(JournalLocation.of(copy)) != []
    with pytest.raises(UserError, match="no sound journal"):
        await restore(copy, records.database.place, replace=True)
    with pytest.raises(UserError, match="no sound journal"):
        await restore(tmp_path / "nothing.db", records.database.place, replace=True)
    assert (await verify(records.log)).events == 500


async def test_postgres_is_left_to_its_own_tools(fresh_postgres: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Postgres"):
        await back_up(JournalLocation.of(fresh_postgres), tmp_path / "copy.db")
