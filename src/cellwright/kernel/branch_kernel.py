"""A branch as a kernel: a process forked from another kernel of the same cage, in a place of its own."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

import anyio

from cellwright.errors import Unavailable
from cellwright.kernel.kernel import Kernel
from cellwright.kernel.link import Link, LinkBroken, LinkCaps, LinkClosed, MarimoNotification
from cellwright.kernel.observation import KernelEnd, ended
from cellwright.sandbox import FileChange
from cellwright.sandbox.control import Seat
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
    leaves_places: int = 0
    """So many places of the cage must stay free for others: parts of a run share one, with all they keep."""


class BranchKernel(Kernel):
    """A kernel in another kernel's cage. It ends alone; when the cage ends, it ends too."""

    _refusal = ""
    pid_inside = 0

    @classmethod
    async def enter(
        cls, parent: Kernel, ours: socket.socket, seat: Seat, limits: BranchLimits, began: float
    ) -> BranchKernel:
        """The branch that was just forked, once it says so; `Unavailable` if it could not become one."""
        link = Link(ours, LinkCaps(bytes_per_request=parent.spec.limits.output_mb << 20))
        branch = cls(parent.process, parent.spec, began=began, link=link, control=parent.control, seat=seat)
        try:
            with anyio.fail_after(_START_SECONDS):
                await branch._await_ready()
            await branch.control.command(
                "adopt", branch=seat.number, pid=branch.pid_inside,
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
        await self.leave()

    async def leave(self) -> None:
        """End the branch and everything in its place; the cage goes on."""
        try:
            with anyio.CancelScope(shield=True):
                await self.control.command("unbranch", branch=self.seat.number)
        except (Unavailable, OSError):
            # The cage is gone, and the branch with it.
            pass
        finally:
            self.link.close()

    async def own_changes(self) -> tuple[FileChange, ...]:
        """Files it changed since it was forked."""
        return await self.control.changes(Seat(number=self.seat.number, is_whole=False))

    def _kill(self) -> None:
        """What lives in the cage besides the branch is not its own to end."""

    def _heard_first(self, message: wire.FromGuest | MarimoNotification) -> None:
        if isinstance(message, wire.Forked):
            self._refusal = message.error[:500]

    def _heard_ready(self, ready: wire.Ready) -> None:
        self.pid_inside = ready.pid

    async def _observed_end(self) -> KernelEnd:
        limit = await self.control.wait_branch(self.seat.number)
        if limit is not None:
            return ended(None, None, out_of_memory=limit == "memory", limit=limit)
        return KernelEnd(reason="its process ended")
