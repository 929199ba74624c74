"""Databases on the bench: a real server, a real notebook that asks it, and each process's figures held apart."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest
from dirty_equals import IsFloat

from bench.data_testbed import CONNECT, cpu_ms, data_testbed, kernel_processes, peak_mb, resident_mb
from bench.peer import start_peer
from bench.scenarios import SCENARIOS
from bench.stage import Stage, expect_well
from cellwright.kernel.pool import KernelPool
from cellwright.settings import Settings

SECONDS = 240
ROWS = 500
ALL = "select * from public.orders"


def test_databases_are_among_the_scenarios() -> None:
    assert {"data-query", "data-large", "data-first"} <= set(SCENARIOS)


def test_a_process_is_asked_for_its_time_and_memory_from_outside() -> None:
    here = os.getpid()
    assert cpu_ms([here]) == pytest.approx(time.process_time() * 1e3, abs=100)
    assert 0 < resident_mb([here]) <= peak_mb(here) + 1


@pytest.mark.slow
async def test_what_a_query_takes_is_told_of_kernel_host_broker_and_worker(pool: KernelPool, tmp_path: Path) -> None:
    stage = Stage(pool=pool, settings=Settings.read(), python=Path(sys.executable), folder=tmp_path, is_quick=True)
    code = f'table = shop.sql("{ALL}", fresh=True)\nassert table.num_rows == {ROWS}'
    with anyio.fail_after(SECONDS):
        async with data_testbed(stage, "small", rows=ROWS) as testbed:
            assert testbed.broker == []
            async with testbed.notebook("small", CONNECT, code) as notebook:
                expect_well(await notebook.run())
                used = await testbed.used(notebook, lambda: notebook.run("all"))
                assert min(used.kernel, used.host, used.broker, used.worker) > 0
                assert resident_mb(kernel_processes(notebook)) > 0
            async with start_peer(stage.python, "postgres_frames", tmp_path) as peer:
                for way in ("psycopg_rows", "read_sql"):
                    answer = await peer.ask(way, address=testbed.address, statement=ALL)
                    whole = {"rows": ROWS, "columns": 10, "cpu_ms": IsFloat(gt=0), "mb": IsFloat(gt=0)}
                    assert answer == whole
