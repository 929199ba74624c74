"""The control room on the bench: a real daemon with its web door, real followers, and figures that are held apart."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from bench import metronome
from bench.control_room import ControlRoom
from bench.failure import BenchFailed
from bench.peer import start_peer
from bench.scenarios import SCENARIOS
from bench.scenarios.control_room import (
    Round,
    follower_findings,
    open_notebooks,
    percentile_95,
    thinking_run,
    told_ms,
    usual_step,
)
from bench.stage import Stage
from cellwright.kernel.pool import KernelPool
from cellwright.server.daemon.launch import DaemonLaunch
from cellwright.settings import Settings

SECONDS = 240


@pytest.fixture(scope="module")
async def room(pool: KernelPool, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[ControlRoom]:
    folder = tmp_path_factory.mktemp("bench")
    stage = Stage(pool=pool, settings=Settings.read(), python=Path(sys.executable), folder=folder, is_quick=True)
    launch = DaemonLaunch(command=(sys.executable, "-I", str(Path(metronome.__file__))))
    async with ControlRoom.open(stage, launch=launch) as opened:
        yield opened


def test_the_control_room_is_among_the_scenarios() -> None:
    assert {"room-followers", "room-paint", "room-memory"} <= set(SCENARIOS)


@pytest.mark.slow
async def test_every_follower_and_the_journals_own_are_told_every_tick(room: ControlRoom) -> None:
    with anyio.fail_after(SECONDS):
        run = await thinking_run(room)
        own, crowd = await told_ms(room, run, followers=3, count=5)
        alone, nobody = await told_ms(room, run, followers=0, count=2)
        await room.testbed.daemon.cancel(run)
    assert (len(own), len(crowd), len(alone), nobody) == (5, 15, 2, [])
    assert min([*own, *crowd, *alone]) > 0


@pytest.mark.slow
async def test_a_notebook_is_opened_over_http_and_its_kernel_is_in_the_figure_of_the_whole(room: ControlRoom) -> None:
    with anyio.fail_after(SECONDS):
        daemon, everything = await open_notebooks(room, 1)
    assert 0 < daemon[0] < everything[0]


@pytest.mark.slow
async def test_followers_who_are_refused_are_no_result(room: ControlRoom, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed, match=r"not greeted.*401"):
        async with start_peer(Path(sys.executable), "event_followers", tmp_path) as crowd:
            await crowd.ask("follow", port=room.port, path="/api/v1/events", token="nobody's", count=1)


def test_followers_are_held_against_the_journals_own_beside_them_and_without_them() -> None:
    found = follower_findings([Round(quiet=2, beside=30, crowd=60), Round(quiet=4, beside=30, crowd=62)])
    assert [(each.row.ours, each.row.peer, each.row.holds) for each in found] == [(61, 80, True), (61, 53, False)]


def test_a_95th_percentile_is_what_nineteen_of_twenty_do_not_exceed() -> None:
    assert percentile_95([float(number) for number in range(20, 0, -1)]) == 19
    assert percentile_95([7.0]) == 7


def test_what_one_more_adds_does_not_follow_a_jump_that_somebody_else_made() -> None:
    assert usual_step([100, 112, 124, 199, 211]) == 12
