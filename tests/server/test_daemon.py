"""One daemon per state directory, found or started by any door; runs live in it and outlive it."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest
from dirty_equals import IsPositiveInt, IsStr
from inline_snapshot import snapshot

from cellwright.background import READY, listen
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.journal.events import Recorded, RunEnded, RunStarted
from cellwright.journal.names import stream_of
from cellwright.server import DaemonClient, DaemonLaunch, connect, runs_here_or_there
from cellwright.server.daemon.connection import DaemonConnection
from cellwright.server.daemon.launch import DaemonStart, daemon_at, start_message
from tests.sampling import some
from tests.server.a_daemon import ASK, KERNEL, STEPS, tiny_opener
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, a_goal, all_said, eventually, lines

GARBAGE = (
    b"",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\xff" * 64,
    b"\x00\x00\x00\x02{]",
    b"\x00\x00\x00\x02[]",
    b"\x00\x00\x00\x0f" + b'{"kind":"stop"}',
    b"\x00\x00\x00\x1a" + b'{"kind":"stop","number":1}',
    b"\x00\x00\x10\x01" + b"x" * 4097,
    b"\x00\x00\x00\x10" + b"[" * 16,
)


async def events_of(testbed: DaemonTestbed, run: str) -> list[Recorded]:
    async with testbed.records() as records:
        return [recorded async for recorded in records.log.read_all(stream_of(run))]


async def until_begun(testbed: DaemonTestbed, run: str, step: str) -> None:
    with anyio.fail_after(SECONDS):
        while not testbed.is_begun(run, step):  # noqa: ASYNC110 (another process works)
            await anyio.sleep(0.01)


async def test_clients_that_come_at_once_start_one_daemon_and_later_ones_find_it(testbed: DaemonTestbed) -> None:
    launch, pids = testbed.launch(), list[int]()

    async def come() -> None:
        async with connect(testbed.settings, launch=launch) as daemon:
            pids.append((await daemon.status()).pid)

    async with anyio.create_task_group() as doors:
        for _ in range(4):
            doors.start_soon(come)
    await come()
    assert set(pids) == {testbed.pid}
    assert testbed.log.count("listens") == 1


async def test_the_daemon_says_how_it_is_doing(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch(idle_seconds=77)) as daemon:
        assert asdict(await daemon.status()) == snapshot(
            {
                "pid": IsPositiveInt(),
                "version": "1.0",
                "since": IsStr(regex=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"),
                "runs_at_work": 0,
                "connections": 1,
                "idle_seconds": 77.0,
                "web": "",
            }
        )


async def test_its_socket_and_files_are_its_owners_alone(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in testbed.home.glob("daemon.*")}
    assert modes == {"daemon.sock": 0o600, "daemon.pid": 0o600, "daemon.lock": 0o600, "daemon.log": 0o600}


async def test_a_run_started_in_one_client_is_seen_in_all_and_outlives_its_client(testbed: DaemonTestbed) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        run = await daemon.start(a_goal())
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        assert (await daemon.status()).runs_at_work == 1
    async with testbed.records() as records:
        assert [status.run for status in await records.runs()] == [run]
    testbed.let_go()
    await testbed.until(run, "done")
    events = [recorded.event for recorded in await events_of(testbed, run)]
    assert RunEnded(workflow=run, name="run", outcome="done") in events
    assert testbed.worked(run) == list(STEPS)


async def test_a_start_that_is_said_again_starts_one_run(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        assert [await daemon.start(a_goal(), run="mine") for _ in range(3)] == ["mine"] * 3
        await testbed.until("mine", "done")
        assert await daemon.start(a_goal("another"), run="mine") == "mine"
    assert testbed.worked("mine") == list(STEPS)
    async with testbed.records() as records:
        assert len(await records.runs()) == 1


@pytest.mark.slow
async def test_runs_are_cancelled_resumed_and_forked_over_the_socket(testbed: DaemonTestbed) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
        await daemon.cancel("mine", reason="enough")
        await testbed.until("mine", "cancelled")
        testbed.let_go()
        await daemon.resume("mine", person="ada")
        await testbed.until("mine", "done")
        fork = await daemon.fork("mine", from_step=3)
        await testbed.until(fork, "done")
    assert testbed.worked("mine") == list(STEPS)
    events = [recorded.event for recorded in await events_of(testbed, "mine")]
    assert RunEnded(workflow="mine", name="run", outcome="cancelled", error="enough") in events


async def test_an_error_comes_back_as_it_was_raised(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        with pytest.raises(UserError) as unknown:
            await daemon.cancel("nobody")
        assert (unknown.value.message, unknown.value.hint) == ("No run 'nobody'.", "GET /runs lists them.")
        with pytest.raises(UserError, match="no name for a run"):
            await daemon.start(a_goal(), run="../etc")
        await daemon.start(a_goal(), run="mine")
        with pytest.raises(UserError) as no_task:
            await daemon.retry("mine", "load", person="ada")
        assert (no_task.value.message, no_task.value.hint) == ("No task 'load'.", "Ask ada.")
        with pytest.raises(UserError, match=r"1,0.* bytes"):
            await daemon.start(a_goal("x" * (1 << 20)))
        assert (await daemon.status()).connections == 1


@pytest.mark.slow
async def test_after_kill_9_the_next_client_starts_another_and_the_run_goes_on_each_step_once(
    testbed: DaemonTestbed,
) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
        testbed.kill()
        testbed.let_go()
        # The same door: it does not even notice.
        assert await daemon.start(a_goal(), run="mine") == "mine"
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)
    begun = [line.split() for line in lines(testbed.folder / "begun.txt")]
    assert [step for _, step, _ in begun] == ["first", "second", "second", "third"]
    assert len({pid for _, _, pid in begun}) == 2


@pytest.mark.slow
async def test_what_may_not_be_said_twice_is_told_as_lost(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await testbed.until("mine", "done")
        testbed.kill()
        with pytest.raises(Unavailable) as lost:
            await daemon.fork("mine")
        assert (lost.value.message, lost.value.hint) == (
            "The daemon ended before it answered.",
            "Look at the list of runs, then try again.",
        )
        await testbed.until(await daemon.fork("mine"), "done")


@pytest.mark.slow
async def test_a_client_that_comes_while_it_closes_gets_the_next_one(testbed: DaemonTestbed) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
        before = (await daemon.status()).pid
        await daemon.stop()
        # The same door, and another.
        after = (await daemon.status()).pid
        async with connect(testbed.settings, launch=testbed.launch()) as another:
            assert (await another.status()).pid == after != before
        testbed.let_go()
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)


async def test_a_second_daemon_makes_way_for_the_first(testbed: DaemonTestbed) -> None:
    launch = testbed.launch()
    async with connect(testbed.settings, launch=launch) as daemon:
        pid = (await daemon.status()).pid
        told_too = json.dumps(start_message(DaemonStart(settings=testbed.settings))).encode()
        ended = await anyio.run_process(launch.command, input=told_too, stderr=None)
        # Whoever started it was looking for a daemon, and there is one.
        assert ended.stdout == READY
        assert (await daemon.status()).pid == pid


@pytest.mark.slow
async def test_a_waiting_run_waits_on_in_the_next_daemon(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(ASK), run="mine")
        await testbed.until("mine", "waiting")
        await daemon.stop()
    testbed.until_ended()
    async with testbed.records() as records:
        (question,) = await records.questions.pending("mine")
        await records.questions.answer(question.id, "yes", by="ada")
        assert (await records.status("mine")).is_going
    async with connect(testbed.settings, launch=testbed.launch()):
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "stop"])
async def test_told_to_end_it_closes_in_order_and_what_was_in_flight_goes_on_later(
    testbed: DaemonTestbed, how: str
) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
        pid = testbed.pid
        assert pid is not None
        if how == "stop":
            await daemon.stop(why="enough for today")
        else:
            os.kill(pid, signal.Signals[how])
    testbed.until_ended()
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    assert not (testbed.home / "daemon.sock").exists()
    assert ("enough for today" if how == "stop" else how) in testbed.log
    assert testbed.log.rstrip().endswith("has ended")
    assert testbed.worked("mine") == ["first"]
    testbed.let_go()
    async with connect(testbed.settings, launch=testbed.launch()):
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)


def is_gone(process: psutil.Process) -> bool:
    """Whether it has ended; whether somebody took note of that is not our concern."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def mounts_of(testbed: DaemonTestbed) -> list[str]:
    return [line for line in lines(Path("/proc/self/mountinfo")) if str(testbed.folder) in line]


@pytest.mark.slow
@pytest.mark.parametrize("number", some([signal.SIGKILL, signal.SIGTERM], 1))
async def test_kernels_and_cages_end_with_it_and_nothing_is_left_behind(
    testbed: DaemonTestbed, write_notebook: Callable[..., Path], number: signal.Signals
) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        notebook = write_notebook("x = 1")
        await daemon.start(replace(a_goal(KERNEL), notebook=str(notebook), project=str(notebook.parent)), run="mine")
        await until_begun(testbed, "mine", "second")
        pid = testbed.pid
        assert pid is not None
        started_by_it = psutil.Process(pid).children(recursive=True)
        assert started_by_it
        os.kill(pid, number)
    testbed.until_ended()
    eventually(lambda: all(map(is_gone, started_by_it)))
    assert mounts_of(testbed) == []
    assert ((testbed.home / "daemon.sock").exists()) == (number == signal.SIGKILL)
    testbed.let_go()
    async with connect(testbed.settings, launch=testbed.launch()):
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)


@pytest.mark.slow
async def test_told_twice_it_ends_at_once_and_nothing_is_lost(testbed: DaemonTestbed) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
        pid = testbed.pid
        assert pid is not None
        # Stopped meanwhile, so that it finds both when it goes on.
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            os.kill(pid, number)
    testbed.until_ended()
    assert "ends at once: told so twice" in testbed.log
    assert not (testbed.home / "daemon.sock").exists()
    testbed.let_go()
    async with connect(testbed.settings, launch=testbed.launch()):
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)


@pytest.mark.slow
async def test_told_to_end_when_idle_it_waits_for_its_runs(testbed: DaemonTestbed) -> None:
    testbed.hold()
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
        await daemon.stop("idle")
        assert (await daemon.status()).runs_at_work == 1
        testbed.let_go()
        testbed.until_ended()
    assert testbed.worked("mine") == list(STEPS)


@pytest.mark.slow
async def test_a_daemon_nobody_needs_ends_but_not_while_a_run_or_a_client_is_there(testbed: DaemonTestbed) -> None:
    testbed.hold()
    launch = testbed.launch(idle_seconds=0.1)
    async with connect(testbed.settings, launch=launch) as daemon:
        pid = testbed.pid
        await daemon.start(a_goal(), run="mine")
        await until_begun(testbed, "mine", "second")
    # Only the run is there.
    await for_a_while(testbed, "1")
    async with connect(testbed.settings, launch=launch) as daemon:
        testbed.let_go()
        await testbed.until("mine", "done")
        # Only the door is there.
        await for_a_while(testbed, "0")
        assert (await daemon.status()).pid == pid
    testbed.until_ended()
    assert not (testbed.home / "daemon.sock").exists()
    assert "nobody needs it" in testbed.log


async def for_a_while(testbed: DaemonTestbed, at_work: str) -> None:
    """Until the daemon has looked far more often than fits into its idle time, and found so many runs each time."""
    known = len(looks := lines(testbed.folder / "looks.txt"))
    with anyio.fail_after(SECONDS):
        while looks[known:].count(at_work) < 20:
            await anyio.sleep(0.01)
            looks = lines(testbed.folder / "looks.txt")


async def test_a_client_that_only_looks_starts_nothing(testbed: DaemonTestbed) -> None:
    with pytest.raises(Unavailable, match="No daemon runs"):
        async with connect(testbed.settings, start=False):
            pass
    assert testbed.pid is None


async def test_garbage_ends_its_own_connection_only(testbed: DaemonTestbed) -> None:
    async with connect(testbed.settings, launch=testbed.launch()) as daemon:
        pid = (await daemon.status()).pid
        for said in GARBAGE:
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.settimeout(SECONDS)
                stranger.connect(str(testbed.home / "daemon.sock"))
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
                assert b"HTTP/1.1 200" not in await anyio.to_thread.run_sync(all_said, stranger)
            standing = await daemon.status()
            assert (standing.pid, standing.runs_at_work) == (pid, 0)


def test_a_socket_of_another_user_is_not_spoken_to(testbed: DaemonTestbed) -> None:
    with listen(testbed.resident) as listener, socket.socket(socket.AF_UNIX) as door:
        door.connect(str(testbed.home / "daemon.sock"))
        with pytest.raises(RefusedByPolicy, match="another user"):
            DaemonConnection(uid=os.getuid() + 1).greet(door)
        listener.setblocking(True)
        at_the_other_end, _ = listener.accept()
        with at_the_other_end:
            door.close()
            assert at_the_other_end.recv(100) == b""


@pytest.mark.parametrize("command", [("/bin/false",), ("/bin/sh", "-c", "echo no luck today >&2; exit 1")])
async def test_where_no_daemon_can_be_started_runs_work_here_and_that_is_said(
    testbed: DaemonTestbed, command: tuple[str, ...]
) -> None:
    notes = list[str]()
    launch = DaemonLaunch(command=command, version="1.0")
    opener = tiny_opener(testbed.folder)
    async with runs_here_or_there(testbed.settings, notes.append, launch=launch, opener=opener) as door:
        assert not door.is_daemon
        await door.start(a_goal(), run="mine")
        await testbed.until("mine", "done")
    assert testbed.worked("mine") == list(STEPS)
    (note,) = notes
    assert "could not be started" in note
    assert "in this process instead" in note
    assert ("no luck today" in note) == (command[0] == "/bin/sh")


async def test_where_a_daemon_can_be_started_runs_work_there(testbed: DaemonTestbed) -> None:
    notes = list[str]()
    async with runs_here_or_there(testbed.settings, notes.append, launch=testbed.launch()) as door:
        assert door.is_daemon
        assert isinstance(door, DaemonClient)
        await door.start(a_goal(), run="mine")
    await testbed.until("mine", "done")
    assert notes == []
    assert any(isinstance(recorded.event, RunStarted) for recorded in await events_of(testbed, "mine"))


async def test_a_daemon_that_cannot_have_the_journal_says_why(testbed: DaemonTestbed) -> None:
    notes = list[str]()
    async with tiny_opener(testbed.folder)(testbed.settings):
        with pytest.raises(UserError, match="Another process runs the workflows"):
            async with runs_here_or_there(
                testbed.settings, notes.append, launch=testbed.launch(), opener=tiny_opener(testbed.folder)
            ):
                pass
    assert "Another process runs the workflows" in notes[0]
    assert daemon_at(testbed.home).file("sock").exists() is False
