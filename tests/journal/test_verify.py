"""An altered log is found out; a pruned one still checks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from cellwright.errors import UserError
from cellwright.journal.database import Cursor
from cellwright.journal.events import Fact
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.maintenance import Pruned, prune
from cellwright.journal.records import Records
from cellwright.journal.verify import Damage, verify
from tests.journal.sixty import KEY

FOREVER = 1 << 50


@pytest.fixture
async def records(where: str) -> AsyncGenerator[Records]:
    async with Records.open(where, chain_key=KEY) as opened:
        for stream in ("audit", "other"):
            await opened.log.append(stream, *[Fact(topic="n", subject=str(number)) for number in range(1, 11)])
        yield opened


async def tamper(records: Records, *statements: str) -> None:
    def work(cursor: Cursor) -> None:
        for statement in statements:
            cursor.execute(statement)

    await records.database.write(work)


async def test_a_log_nobody_touched_is_sound(records: Records) -> None:
    verdict = await verify(records.log)
    assert (verdict.streams, verdict.events, verdict.damage) == (2, 20, ())


EVENTS = "cellwright_event WHERE stream = 'audit' AND sequence"
SET = "UPDATE cellwright_event SET"
AUDIT = "WHERE stream = 'audit' AND sequence"
SWAPPED = [f"{SET} sequence = {new} {AUDIT} = {old}" for old, new in ((4, 99), (5, 4), (99, 5))]
FIRST_4 = "UPDATE cellwright_head SET first = 4 WHERE stream = 'audit'"


@pytest.mark.parametrize(
    ("statements", "sequence", "fault"),
    [
        ([f"""{SET} body = '{{"topic":"n","subject":"forged"}}' {AUDIT} = 4"""], 4, "altered"),
        ([f"{SET} at_ms = at_ms + 1 {AUDIT} = 4"], 4, "altered"),
        ([f"{SET} kind = 'audit-recorded' {AUDIT} = 4"], 4, "altered"),
        ([f"DELETE FROM {EVENTS} = 4"], 4, "missing"),
        ([f"DELETE FROM {EVENTS} = 1"], 1, "missing"),
        (SWAPPED, 4, "altered"),
        ([f"DELETE FROM {EVENTS} > 7"], 8, "cut off"),
        ([f"DELETE FROM {EVENTS} > 0"], 1, "cut off"),
        (["UPDATE cellwright_head SET sequence = 7 WHERE stream = 'audit'"], 8, "extra"),
        (["DELETE FROM cellwright_head WHERE stream = 'audit'"], 1, "extra"),
        ([f"DELETE FROM {EVENTS} <= 3", FIRST_4], 0, "pruned without a tombstone"),
    ],
)  # fmt: skip
async def test_what_was_done_to_a_log_is_found(
    records: Records, statements: list[str], sequence: int, fault: str
) -> None:
    await tamper(records, *statements)
    damage = (await verify(records.log)).damage
    assert [(found.stream, found.sequence, found.fault) for found in damage] == [("audit", sequence, fault)]
    assert (await verify(records.log, stream="other")).damage == () or fault == "extra"


async def test_a_stream_put_back_as_a_whole_fits_but_not_its_anchor(records: Records) -> None:
    anchors = (await verify(records.log)).anchors
    link = (await records.log.read("audit", after=6, limit=1))[0].link
    is_postgres = records.database.dialect == "postgres"
    literal = f"'\\x{link}'" if is_postgres else f"x'{link}'"
    await tamper(
        records,
        f"DELETE FROM {EVENTS} > 7",
        f"UPDATE cellwright_head SET sequence = 7, link = {literal} WHERE stream = 'audit'",
    )
    assert (await verify(records.log)).damage == ()
    assert (await verify(records.log, anchors=anchors)).damage == (
        Damage(stream="audit", sequence=10, fault="rolled back"),
    )


async def test_another_key_finds_every_stream_altered(where: str, records: Records) -> None:
    async with Records.open(where, chain_key=b"x" * 32) as strangers:
        assert {found.fault for found in (await verify(strangers.log)).damage} == {"altered"}


async def test_a_pruned_log_is_sound_and_goes_on(records: Records) -> None:
    anchors = (await verify(records.log)).anchors
    assert await prune(records.log, before_ms=FOREVER) == Pruned(events=20, runs=0, blobs=0)
    await records.log.append("audit", Fact(topic="n", subject="11"))
    assert [told.sequence for told in await records.log.read("audit")] == [11]
    verdict = await verify(records.log, anchors=anchors)
    assert (verdict.events, verdict.damage) == (1, ())
    assert (await prune(records.log, before_ms=FOREVER)).events == 1
    assert (await verify(records.log)).damage == ()
    await tamper(records, "UPDATE cellwright_tombstone SET last = 5 WHERE stream = 'audit' AND first = 1")
    assert [found.fault for found in (await verify(records.log)).damage] == ["false tombstone"]


async def test_pruning_keeps_runs_that_have_not_ended_and_forgets_those_that_have(where: str) -> None:
    async def quick(flow: Flow, _: Any) -> int:
        async def large() -> str:
            return "x" * 100_000

        return len(await flow.step("large", large))

    async def slow(flow: Flow, _: Any) -> None:
        await flow.sleep(3_600)

    workflows = [Workflow(name="quick", body=quick), Workflow(name="slow", body=slow)]
    async with Journal.open(where, version="1", workflows=workflows, chain_key=KEY) as journal:
        ended, going = await journal.run("quick"), await journal.run("slow")
        assert await journal.result(ended) == 100_000
        news = journal.log.growth.next()
        while not any("sleep" in str(told.event) for told in await journal.log.read(f"run:{going}")):
            await news.wait()
            news = journal.log.growth.next()
        pruned = await prune(journal.log, before_ms=FOREVER)
        assert (pruned.runs, pruned.blobs) == (1, 1)
        assert [status.run for status in await journal.records.runs()] == [going]
        assert await journal.log.read(f"run:{ended}") == []
        assert await journal.log.read(f"run:{going}") != []
        assert (await verify(journal.log)).damage == ()


async def test_a_journal_that_has_lost_its_key_is_not_gone_on_with_under_another(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    async with Records.open(place) as records:
        await records.log.append("a", Fact(topic="t", subject="s"))
    key = (tmp_path / "journal.key").read_bytes()
    (tmp_path / "journal.key").unlink()
    with pytest.raises(UserError, match="Cannot read the journal's key"):
        async with Records.open(place):
            pass
    (tmp_path / "journal.key").write_bytes(key)
    async with Records.open(place) as records:
        assert (await verify(records.log)).damage == ()
