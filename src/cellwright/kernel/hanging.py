"""Telling a branch that hangs from one that is slow: the first neither works nor waits for anything that can come.

A fork whose library lost its threads waits in a futex for one of them, for ever. A slow cell uses the processor, or
waits for a clock, a file, a socket or a child.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.branch_kernel import BranchKernel

_PAUSE_SECONDS = 1.0
_STILL_SAMPLES = 8
_IDLE_CPU_SECONDS = 0.02
_FUTEX = {"x86_64": "202", "aarch64": "98"}.get(platform.machine(), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at everything that runs in a branch."""

    cpu_seconds: float
    waits_for: tuple[str, ...]
    """The system call each process' main thread is in."""


def is_hanging(samples: Sequence[Sample]) -> bool:
    """Whether nothing moved for a while and everybody waits for a lock that nobody holds any more."""
    last = samples[-_STILL_SAMPLES:]
    if len(last) < _STILL_SAMPLES:
        return False
    is_still = last[-1].cpu_seconds - last[0].cpu_seconds < _IDLE_CPU_SECONDS
    return is_still and all(sample.waits_for and set(sample.waits_for) == {_FUTEX} for sample in last)


class HangWatch:
    """Looks at a branch while it runs, and ends it when it hangs."""

    def __init__(self, kernel: BranchKernel) -> None:
        self._kernel = kernel

    async def watch(self) -> None:
        """Until cancelled, or until the branch was ended."""
        samples: list[Sample] = []
        while True:
            await anyio.sleep(_PAUSE_SECONDS)
            try:
                answer = await self._kernel.control.command("measure", branch=self._kernel.seat.number)
            except Unavailable:
                return
            samples = [*samples[-_STILL_SAMPLES:], sample_of(answer.get("meters"))]
            if is_hanging(samples):
                await self._kernel.condemn("it hung: it waited for a lock that nobody held")
                return


def sample_of(raw: object) -> Sample:
    """What an init measured; anything odd in it is nothing."""
    meters = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    cpu, waits = meters.get("cpu_seconds"), meters.get("waits_for")
    return Sample(
        cpu_seconds=float(cpu) if isinstance(cpu, int | float) else 0.0,
        waits_for=tuple(str(one)[:20] for one in cast("list[object]", waits)) if isinstance(waits, list) else (),
    )
