"""Following runs over HTTP: nothing lost or doubled, whoever hangs up where; and nobody waits for a slow reader."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from cellwright.journal.events import Fact
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.runs.events import GoalSet, StageEntered
from cellwright.server.http.sse import HELLO, KEEPALIVE, StreamPages
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_follower import following
from tests.server.http.a_served_folder import SECONDS, RunsTestbed, Served, serve, tiny_runs


@pytest.fixture(scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[RunsTestbed]:
    async with tiny_runs(tmp_path_factory.mktemp("live"), template) as found:
        yield found


@pytest.fixture(scope="module")
async def served(live: RunsTestbed) -> AsyncGenerator[Served]:
    async with serve(live[0].home.parent / "folder", *live) as opened:
        yield opened


async def ended(served: Served, run: str) -> int:
    """A tiny run that has ended; the number of its last event."""
    await served.testbed.live.start(a_goal(), run=run)
    return await last_of(served.testbed.live.records, run)


async def last_of(records: Records, run: str) -> int:
    with anyio.fail_after(SECONDS):
        while True:
            grown = records.log.growth.next()
            if (await records.status(run)).standing == "done":
                return (await records.log.read(stream_of(run)))[-1].sequence
            await grown.wait()


def some(count: int, text: str = "x") -> list[Fact]:
    return [Fact(topic="test", subject=str(number), text=text) for number in range(count)]


async def test_a_follower_is_told_what_was_and_then_what_comes(served: Served) -> None:
    last = await ended(served, "past")
    async with following(served, "/runs/past/events") as follower:
        assert await follower.ids(last) == [*range(1, last + 1)]
        await served.testbed.live.records.log.append(stream_of("past"), *some(2))
        assert await follower.ids(last + 2) == [*range(1, last + 3)]
        assert follower.told[0].kind == "run-started"
        assert follower.told[-1].data["event"] == {"topic": "test", "subject": "1", "text": "x", "numbers": {}}


async def test_the_stream_says_what_the_timeline_says(served: Served) -> None:
    last = await ended(served, "same")
    async with following(served, "/runs/same/events") as follower:
        await follower.ids(last)
    timeline = await served.get("/runs/same/timeline", params={"limit": 1000})
    assert [each.data for each in follower.told] == timeline["events"]
    assert timeline["last"] == last


async def test_nothing_is_lost_or_doubled_wherever_the_connection_breaks(served: Served) -> None:
    last = await ended(served, "breaks")
    await served.testbed.live.records.log.append(stream_of("breaks"), *some(700, "é\n\ndata: no\r\n"))
    last += 700
    seen = [0]
    while seen[-1] < last:
        async with following(served, "/runs/breaks/events", last=seen[-1]) as follower:
            # What came whole counts, however much more was on its way when they hung up.
            seen += await follower.ids(seen[-1] + 1)
    assert seen == [*range(last + 1)]


async def test_a_follower_who_names_where_to_begin_in_the_address_begins_there(served: Served) -> None:
    last = await ended(served, "begins")
    async with following(served, "/runs/begins/events?after=2") as follower:
        assert await follower.ids(last) == [*range(3, last + 1)]
    async with following(served, "/runs/begins/events?after=2", last=3) as follower:
        assert await follower.ids(last) == [*range(4, last + 1)]


@pytest.mark.slow
async def test_a_reader_who_does_not_read_slows_nobody_and_misses_nothing(served: Served) -> None:
    last, log = await ended(served, "slow"), served.testbed.live.records.log
    async with following(served, "/runs/slow/events") as sleeper, following(served, "/runs/slow/events") as awake:
        for _ in range(20):
            # Far more than the buffers between hold: with nobody reading, the sending of this one stands still.
            await log.append(stream_of("slow"), *some(100, "y" * 10_000))
        assert (await awake.ids(last + 2_000))[-1] == last + 2_000
        assert await served.get("/runs/slow/timeline", params={"after": last + 1_999}) != {}
        assert await sleeper.ids(last + 2_000) == [*range(1, last + 2_001)]


@pytest.mark.slow
async def test_many_followers_are_all_told_everything(served: Served) -> None:
    last, log = await ended(served, "many"), served.testbed.live.records.log
    heard = list[list[int]]()

    async def follow() -> None:
        async with following(served, "/runs/many/events") as follower:
            heard.append(await follower.ids(last + 300))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(follow)
        for _ in range(30):
            await log.append(stream_of("many"), *some(10))
    assert heard == [[*range(1, last + 301)]] * 20


@pytest.mark.parametrize("leaving", [[0], [1], [0, 1], [1, 0, 2], [2, 2]])
async def test_whoever_leaves_while_reading_takes_nothing_from_the_others(served: Served, leaving: list[int]) -> None:
    log, stream = served.testbed.live.records.log, f"run:leaving-{'-'.join(map(str, leaving))}"
    await log.append(stream, *some(450))
    pages, heard = StreamPages(log), list[int]()

    async def follow(leaves_after: int | None) -> None:
        count, pieces = 0, 0
        with anyio.CancelScope() as scope:
            async with aclosing(pages.follow(stream, 0)) as told:
                async for body in told:
                    count += body.count(b"id: ")
                    pieces += 1
                    if count == 450:
                        break
                    if leaves_after is not None and pieces > leaves_after:
                        # In the middle of the next reading, which others may wait for.
                        tasks.start_soon(cancel, scope)
        heard.append(count)

    async def cancel(scope: anyio.CancelScope) -> None:
        scope.cancel()

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            for leaves_after in (*leaving, None, None):
                tasks.start_soon(follow, leaves_after)
    assert heard.count(450) >= 2


async def test_a_quiet_stream_gives_a_sign_of_life(served: Served) -> None:
    pages = StreamPages(served.testbed.live.records.log, beat_seconds=0.01)
    told = pages.follow("run:nothing-here", 0)
    with anyio.fail_after(SECONDS):
        assert [await anext(told), await anext(told), await anext(told)] == [HELLO, KEEPALIVE, KEEPALIVE]
    await told.aclose()


async def test_a_timeline_is_read_page_by_page(served: Served) -> None:
    last = await ended(served, "pages")
    first = await served.get("/runs/pages/timeline", params={"limit": 2})
    assert [event["sequence"] for event in first["events"]] == [1, 2]
    rest = await served.get("/runs/pages/timeline", params={"after": first["last"]})
    assert [event["sequence"] for event in rest["events"]] == [*range(3, last + 1)]
    assert await served.get("/runs/pages/timeline", params={"after": last}) == {"events": [], "last": last}


@pytest.mark.parametrize("path", ["/runs/nobody/events", "/runs/nobody/timeline"])
async def test_a_run_that_is_not_there_cannot_be_followed(served: Served, path: str) -> None:
    assert (await served.get(path, status=404))["error"]["kind"] == "not_found"


@pytest.mark.parametrize("last", ["-1", "x", str(1 << 64)])
async def test_a_last_event_id_that_is_no_number_is_refused(served: Served, last: str) -> None:
    refused = await served.get("/runs/nobody/events", headers={"last-event-id": last}, status=422)
    assert "last-event-id" in refused["error"]["message"].lower()


# ── the whole testbed ──


@pytest.mark.slow
async def test_a_follower_of_everything_is_told_how_it_stands_and_then_what_changes(served: Served) -> None:
    await ended(served, "before")
    live, log = served.testbed.live, served.testbed.live.records.log
    async with following(served, "/events") as follower:
        told = await follower.until(lambda told: {each.kind for each in told} == {"runs", "questions"})
        assert "before" in {run["run"] for run in told[0].data["runs"]}
        waiting = told[-1].data["waiting"]
        await live.start(a_goal(ASK), run="asks")
        told = await follower.until(lambda told: told[-1].data.get("waiting") == waiting + 1)
        await log.append(stream_of("asks"), GoalSet(goal=a_goal("Why?")), StageEntered(stage="build"))
        told = await follower.until(
            lambda told: any(run.get("goal") == "Why?" for each in told for run in each.data.get("runs", ()))
        )
        changed = next(each for each in reversed(told) if each.kind == "runs")
        assert [(run["run"], run["status"], run["questions"]) for run in changed.data["runs"]] == [
            ("asks", "waiting", 1)
        ]
        ids = [each.id for each in told]
        assert ids == sorted(set(ids))
    async with following(served, "/events") as again:
        told = await again.until(lambda told: len(told) >= 2)
        assert {"before", "asks"} <= {run["run"] for run in told[0].data["runs"]}
        assert told[1].data == {"waiting": waiting + 1}


async def test_a_burst_is_told_in_a_few_words(served: Served) -> None:
    await ended(served, "burst")
    log = served.testbed.live.records.log
    async with following(served, "/events") as follower:
        await follower.until(lambda told: len(told) >= 2)
        before = len(follower.told)
        for number in range(100):
            await log.append(stream_of("burst"), GoalSet(goal=a_goal(f"Goal {number}.")))
        told = await follower.until(
            lambda told: any(run["goal"] == "Goal 99." for each in told for run in each.data.get("runs", ()))
        )
        assert len(told) - before < 50


async def test_nobody_follows_without_a_token(served: Served) -> None:
    for path in ("/events", "/runs/past/events", "/runs/past/timeline"):
        refused = await served.get(path, headers={"authorization": "Bearer cw_nothing"}, status=401)
        assert refused["error"]["kind"] == "not_admitted"
