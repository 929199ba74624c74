"""A branch as a kernel: a process forked from another kernel of the same cage, and the watch that ends one that hangs.

A fork whose library lost its threads waits in a futex for one of them, for ever. A slow cell uses the processor, or
waits for a clock, a file, a socket or a child.
"""

from __future__ import annotations

import platform
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.observation import KernelEnd, kernel_end_of
from cellwright.kernel.process.kernel import Kernel, measure
from cellwright.kernel.process.link import Link, LinkBroken, LinkCaps, LinkClosed, MarimoNotification
from cellwright.sandbox.host.control import BranchSlot
from cellwright.sandbox.host.file_changes import FileChange
from cellwright_guest import wire

_START_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchLimits:
    """What one branch may use of its cage."""

    memory_mb: int | None = 2048
    """Of its own, besides what it shares with its parent."""
    cpu_seconds: float | None = None
    live_seconds: float | None = 3600
    """How long it may exist."""
    reserved_slots: int = 0
    """So many slots of the cage must stay free for others: parallel tasks of a run share one, with all they keep."""


class BranchKernel(Kernel):
    """A kernel in another kernel's cage. It ends alone; when the cage ends, it ends too."""

    _refusal = ""
    pid_inside = 0

    @classmethod
    async def enter(
        cls, parent: Kernel, ours: socket.socket, slot: BranchSlot, limits: BranchLimits, began: float
    ) -> BranchKernel:
        """The branch that was just forked, once it says so; `Unavailable` if it could not become one."""
        link = Link(ours, LinkCaps(bytes_per_request=parent.spec.limits.output_mb << 20))
        branch = cls(parent.process, parent.spec, began=began, link=link, control=parent.control, slot=slot)
        try:
            with anyio.fail_after(_START_SECONDS):
                await branch._await_ready()
            await branch.control.command(
                "adopt", branch=slot.number, pid=branch.pid_inside,
                memory_mb=limits.memory_mb, cpu_seconds=limits.cpu_seconds,
            )  # fmt: skip
        except (LinkClosed, LinkBroken, TimeoutError) as error:
            link.close()
            raise Unavailable(f"The branch did not start: {branch._refusal or 'it ended'}.") from error
        except BaseException:
            link.close()
            raise
        branch.ready_ms = (time.perf_counter() - began) * 1e3
        return branch

    async def close(self) -> None:
        """A branch has no cage of its own to end."""
        await self.end_process()

    async def end_process(self) -> None:
        """End the branch and everything in its place; the cage goes on."""
        try:
            with anyio.CancelScope(shield=True):
                await self.control.drop_branch(self.slot)
        except (Unavailable, OSError):
            # The cage is gone, and the branch with it.
            pass
        finally:
            self.link.close()

    async def own_changes(self) -> tuple[FileChange, ...]:
        """Files it changed since it was forked."""
        return await self.control.changes(BranchSlot(number=self.slot.number, is_whole=False))

    def _kill(self) -> None:
        """What lives in the cage besides the branch is not its own to end."""

    def _heard_first(self, message: wire.FromGuest | MarimoNotification) -> None:
        if isinstance(message, wire.Forked):
            self._refusal = message.error[:500]

    def _heard_ready(self, ready: wire.Ready) -> None:
        self.pid_inside = ready.pid

    async def _observed_end(self) -> KernelEnd:
        limit = await self.control.wait_branch(self.slot.number)
        if limit is not None:
            return kernel_end_of(None, None, out_of_memory=limit == "memory", limit=limit)
        return KernelEnd(reason="its process ended")


_PAUSE_SECONDS = 1.0
_STILL_SAMPLES = 8
_IDLE_CPU_SECONDS = 0.02
_FUTEX = {"x86_64": "202", "aarch64": "98"}.get(platform.machine(), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HangSample:
    """One look at everything that runs in a branch."""

    cpu_seconds: float
    waits_for: tuple[str, ...]
    """The system call each process' main thread is in."""


def is_hanging(samples: Sequence[HangSample]) -> bool:
    """Whether nothing moved for a while and everybody waits for a lock that nobody holds any more."""
    last = samples[-_STILL_SAMPLES:]
    if len(last) < _STILL_SAMPLES:
        return False
    is_still = last[-1].cpu_seconds - last[0].cpu_seconds < _IDLE_CPU_SECONDS
    return is_still and all(sample.waits_for and set(sample.waits_for) == {_FUTEX} for sample in last)


async def end_if_it_hangs(kernel: BranchKernel) -> None:
    """Look at a branch while it runs, and end it when it hangs; until cancelled, or until it has ended."""
    samples: list[HangSample] = []
    while True:
        await anyio.sleep(_PAUSE_SECONDS)
        try:
            meters = await measure(kernel)
        except Unavailable:
            return
        samples = [*samples[-_STILL_SAMPLES:], hang_sample_of(meters)]
        if is_hanging(samples):
            await kernel.kill("it hung: it waited for a lock that nobody held")
            return


def hang_sample_of(meters: dict[str, object]) -> HangSample:
    """What an init measured; anything odd in it is nothing."""
    cpu, waits = meters.get("cpu_seconds"), meters.get("waits_for")
    return HangSample(
        cpu_seconds=float(cpu) if isinstance(cpu, int | float) else 0.0,
        waits_for=tuple(str(one)[:20] for one in cast("list[object]", waits)) if isinstance(waits, list) else (),
    )
