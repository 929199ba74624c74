"""The memory of several processes together, where no control group counts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from cellwright.sandbox.linux.processes import MemoryMeter

MB = 1024
"""In kilobytes, as the meter counts."""
TOUCH = """
import mmap, os, sys, time
pids = [os.getpid()]
def touch(area):
    for _ in range(len(area) >> 20):
        area.write(b"1" * (1 << 20))
"""
PRIVATE = (
    TOUCH
    + """
area = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
touch(area)
"""
)
IN_FORKS = (
    PRIVATE
    + """
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
    pids.append(pid)
"""
)
LEFT_BY_A_CHILD = (
    TOUCH
    + """
area = mmap.mmap(-1, 64 << 20)
if os.fork() == 0:
    touch(area)
    os._exit(0)
os.wait()
"""
)
TELL = """
print(*pids, flush=True)
sys.stdin.read()
for pid in pids[1:]:
    os.kill(pid, 9)
"""


@contextmanager
def running(program: str) -> Generator[set[int]]:
    """A program that has taken its memory and waits; the numbers of its processes."""
    command = [sys.executable, "-I", "-S", "-c", program + TELL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield set(map(int, process.stdout.readline().split()))


def is_over(pids: set[int], limit_kb: int) -> bool:
    meter = MemoryMeter()
    assert not meter.is_over(pids, limit_kb=limit_kb), "one look is not enough"
    return meter.is_over(pids, limit_kb=limit_kb)


def test_private_memory_is_counted() -> None:
    with running(PRIVATE) as pids:
        assert is_over(pids, 50 * MB)
        assert not is_over(pids, 100 * MB)


def test_what_forks_share_is_counted_once() -> None:
    with running(IN_FORKS) as pids:
        assert len(pids) == 5
        assert is_over(pids, 50 * MB)
        assert not is_over(pids, 150 * MB)


def test_shared_memory_counts_although_whoever_touched_it_has_gone() -> None:
    with running(LEFT_BY_A_CHILD) as pids:
        assert is_over(pids, 60 * MB)
        assert not is_over(pids, 100 * MB)


def test_looking_becomes_urgent_when_more_than_half_is_used() -> None:
    meter = MemoryMeter()
    with running(PRIVATE) as pids:
        meter.is_over(pids, limit_kb=1000 * MB)
        assert not meter.is_urgent
        meter = MemoryMeter()
        meter.is_over(pids, limit_kb=100 * MB)
        assert meter.is_urgent


def test_processes_that_have_gone_have_nothing() -> None:
    with running(PRIVATE) as pids:
        pass
    assert not is_over(pids, 0)
