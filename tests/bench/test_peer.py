"""Talking to a program in another process, with our own interpreter in a peer's place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from anyio import fail_after

from bench.failure import BenchFailed
from bench.memory import family, proportional_mb
from bench.peer import start_peer

PYTHON = Path(sys.executable)


async def test_a_peer_answers_until_its_input_ends_and_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(family(os.getpid()))
    with fail_after(120):
        async with start_peer(PYTHON, "stock_marimo", tmp_path) as peer:
            children = set(family(os.getpid())) - before
            assert await peer.ask("close") == {}
        assert children
        assert not children & set(family(os.getpid()))


@pytest.mark.slow
async def test_what_a_peer_could_not_do_is_told_with_its_own_words(tmp_path: Path) -> None:
    with fail_after(120), pytest.raises(BenchFailed, match=r"(?s)'stock_marimo' failed: .*KeyError: 'dance'"):
        async with start_peer(PYTHON, "stock_marimo", tmp_path) as peer:
            await peer.ask("dance")


async def test_a_program_that_cannot_start_is_a_failure_with_its_last_words(tmp_path: Path) -> None:
    with fail_after(120), pytest.raises(BenchFailed, match=r"No module named bench\.peers\.nobody"):
        async with start_peer(PYTHON, "nobody", tmp_path):
            pass


def test_the_memory_of_a_process_is_more_than_nothing() -> None:
    assert proportional_mb([os.getpid()]) > 1


def test_a_process_that_ended_since_it_was_listed_takes_nothing_and_the_first_must_be_there() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert proportional_mb([os.getpid(), ended.pid]) > 1
    with pytest.raises(FileNotFoundError):
        proportional_mb([ended.pid])
