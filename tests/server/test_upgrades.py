"""A newer Cellwright takes over from the daemon of an older one without losing a run; never the other way round."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from cellwright.errors import Unavailable
from cellwright.journal.events import RunForked
from cellwright.journal.names import stream_of
from cellwright.runs.events import RunCarriedOver
from cellwright.server import connect, runs_here_or_there
from tests.sampling import some
from tests.server.a_daemon import STEPS
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, a_goal, lines


async def begin_a_run(testbed: DaemonTestbed, version: str) -> None:
    """A daemon of this version with a run in the middle of its second step."""
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch(version)) as daemon:
        await daemon.start(a_goal(), run="mine")
        with anyio.fail_after(SECONDS):
            while not testbed.is_begun("mine", "second"):  # noqa: ASYNC110 (another process works)
                await anyio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), some([("1.9", "1.10"), ("1.0", "1.0.1"), ("2.0rc1", "2.0")], 1))
async def test_an_older_daemon_is_replaced_and_its_runs_go_on(testbed: DaemonTestbed, old: str, new: str) -> None:
    await begin_a_run(testbed, old)
    before, notes = testbed.pid, list[str]()
    async with connect(testbed.settings, launch=testbed.launch(new), on_note=notes.append) as daemon:
        standing = await daemon.status()
        assert (standing.version, standing.runs_at_work) == (new, 1)
        assert standing.pid == testbed.pid != before
        testbed.let_go()
        await testbed.until("mine", "done")
    assert notes == [f"The daemon of version {old} has ended; its runs go on with version {new}."]
    assert f"version {new} takes over" in testbed.log
    assert testbed.worked("mine") == list(STEPS)


@pytest.mark.slow
async def test_newer_clients_that_come_at_once_replace_an_older_daemon_by_one(testbed: DaemonTestbed) -> None:
    await begin_a_run(testbed, "1.0")
    pids = list[int]()

    async def come() -> None:
        async with connect(testbed.settings, launch=testbed.launch("2.0")) as daemon:
            pids.append((await daemon.status()).pid)

    async with anyio.create_task_group() as doors:
        for _ in range(4):
            doors.start_soon(come)
    assert set(pids) == {testbed.pid}
    assert testbed.log.count("version 2.0 listens") == 1
    testbed.let_go()
    await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)


async def test_an_older_client_leaves_a_newer_daemon_alone(testbed: DaemonTestbed) -> None:
    await begin_a_run(testbed, "2.0")
    before = testbed.pid
    for door in (
        partial(connect, testbed.settings, launch=testbed.launch("1.0")),
        partial(runs_here_or_there, testbed.settings, lambda _: None, launch=testbed.launch("1.0")),
    ):
        with pytest.raises(Unavailable) as problem:
            async with door():
                pass
        assert problem.value.message == "The daemon is of version 2.0, this is 1.0."
        assert "Upgrade this Cellwright" in problem.value.hint
    assert testbed.pid == before
    async with connect(testbed.settings, start=False, launch=testbed.launch("1.0")) as daemon:
        # What every version understands.
        assert (await daemon.status()).version == "2.0"
        await daemon.stop()
    testbed.until_ended()


@pytest.mark.slow
async def test_a_client_whose_daemon_was_replaced_says_so_instead_of_replacing_it_back(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch("1.0")) as old:
        async with connect(testbed.settings, launch=testbed.launch("2.0")) as new:
            pid = (await new.status()).pid
        with pytest.raises(Unavailable, match=r"version 2\.0, this is 1\.0"):
            await old.start(a_goal(), run="mine")
    assert testbed.pid == pid
    assert lines(testbed.folder / "begun.txt") == []


@pytest.mark.slow
async def test_a_run_of_older_steps_is_carried_over_and_that_is_told(testbed: DaemonTestbed) -> None:
    await begin_a_run(testbed, "1.0")
    testbed.let_go()
    testbed.hold()
    async with (
        connect(testbed.settings, launch=testbed.launch("2.0", journal_version="2")),
        testbed.records() as records,
    ):
        with anyio.fail_after(SECONDS):
            while len(runs := await records.runs()) < 2:  # noqa: ASYNC110 (another process works)
                await anyio.sleep(0.01)
        (new,) = [status for status in runs if status.run != "mine"]
        assert new.version == "2"
        testbed.let_go()
        await testbed.until(new.run, "done")
        old_events = [recorded.event async for recorded in records.log.read_all(stream_of("mine"))]
        new_events = [recorded.event async for recorded in records.log.read_all(stream_of(new.run))]
        assert (await records.status("mine")).standing == "cancelled"
    words = f"Its code was of version 1; it goes on as {new.run} with version 2."
    assert RunCarriedOver(run=new.run, text=words) in old_events
    assert any(isinstance(event, RunForked) and event.forked_from == "mine" for event in new_events)
    assert words in testbed.log
    assert (testbed.worked("mine"), testbed.worked(new.run)) == (["first"], ["second", "third"])
