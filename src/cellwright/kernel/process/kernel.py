"""One kernel: a caged process, the link to its guest, and the control line to its init."""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import anyio
import anyio.lowlevel

from cellwright.errors import KernelLost, Unavailable
from cellwright.kernel.observation import KernelEnd, kernel_end_of
from cellwright.kernel.process.link import Link, LinkBroken, LinkCaps, LinkClosed, MarimoNotification
from cellwright.kernel.process.zygote import CagedProcess, Zygote
from cellwright.remedies import remedy
from cellwright.sandbox.host.control import MAIN, BranchSlot, CageControl
from cellwright.sandbox.host.file_changes import FileChange, KeepReport
from cellwright.sandbox.host.keep_terms import KeepTerms
from cellwright.sandbox.spec import CageSpec
from cellwright_guest import wire

_READY_SECONDS = 60
_END_SECONDS = 10
_CONDEMN_SECONDS = 2
_INTERRUPT_SECONDS = (1.0, 2.0)
"""How long a cell may take to heed the first and the second interrupt before its kernel is killed."""

logger = logging.getLogger(__name__)

Deliver = Callable[[wire.FromGuest | MarimoNotification], Awaitable[None]]


class Kernel:
    """A live kernel. Ends by `close`, by its own code, or by a limit."""

    def __init__(
        self, process: CagedProcess, spec: CageSpec, *, began: float, link: Link, control: CageControl, slot: BranchSlot
    ) -> None:
        self.process = process
        self.spec = spec
        self._began = began
        self._is_ready = anyio.Event()
        self.ready_seconds: float = _READY_SECONDS
        """How long it may take until it listens."""
        self.ready_ms = 0.0
        """From the request until it listened."""
        self.link = link
        self.control = control
        self.slot = slot
        """Which process of its cage it is: the first, or a branch that took its place."""
        self.deliver: Deliver = lambda message: anyio.lowlevel.checkpoint()
        """To whom it speaks. A branch that becomes the notebook's kernel speaks to somebody else from then on."""
        self.on_end: Callable[[KernelEnd], None] = lambda end: None
        self._outlet: socket.socket | None = None
        self.end: KernelEnd | None = None
        self._killed_as: KernelEnd | None = None

    @classmethod
    async def start(
        cls,
        zygote: Zygote,
        spec: CageSpec,
        bind: wire.Bind,
        *,
        command: list[str] | None = None,
        copy_seconds: float = 0,
    ) -> Kernel:
        """A kernel that can be spoken to. One from the zygote hears it as soon as it is ready, in milliseconds.

        `copy_seconds` is how much longer it may take where the project is copied for it.
        """
        began = time.perf_counter()
        process = await zygote.start(spec, command=command)
        link = Link(process.kernel, LinkCaps(bytes_per_request=spec.limits.output_mb << 20))
        control = CageControl(process.control, proxy_port=spec.proxy_port, tier=spec.tier)
        kernel = cls(process, spec, began=began, link=link, control=control, slot=MAIN)
        kernel.ready_seconds += copy_seconds
        try:
            await kernel.link.send(bind)
            if spec.proxy_port is not None:
                kernel._outlet = await kernel.control.listener()
            if command is not None:
                # Its own environment takes seconds to load, which no call's deadline should pay for.
                await kernel._await_ready()
        except (LinkClosed, LinkBroken, TimeoutError, Unavailable) as error:
            reason = await kernel._why_it_never_was()
            raise KernelLost(
                f"The kernel was never ready: {reason}.", hint=remedy("see_doctor", says="says what is missing")
            ) from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await kernel.close()
            raise
        return kernel

    @property
    def is_over(self) -> bool:
        """True once it has ended, or is about to because its zygote is gone."""
        return self.end is not None or self.process.ended.is_set()

    @property
    def pid(self) -> int:
        """The cage's init, as the host sees it."""
        return self.process.pid

    def take_outlet(self) -> socket.socket | None:
        """Where its connections to the outside arrive, for whoever serves and closes it; only with a proxy port."""
        outlet, self._outlet = self._outlet, None
        return outlet

    async def listen(self) -> KernelEnd:
        """Hand over every message to whoever `deliver` is then, until the kernel ends; says how it ended."""
        try:
            if not self._is_ready.is_set():
                await self._await_ready()
            while True:
                # Who is told is looked up when there is something to tell.
                message = await self.link.receive()
                await self.deliver(message)
        except LinkBroken as error:
            await self.kill(f"it broke the protocol: {error}", limit=error.limit)
        except TimeoutError:
            await self.kill("it took too long to start")
        except LinkClosed:
            pass
        except BaseException:
            # Nobody hears it from now on: whoever waits until it is ready, to stop it for one, would wait for ever.
            self._is_ready.set()
            raise
        end = self._killed_as or await self._how_it_ended()
        self.end = end if self._is_ready.is_set() else replace(end, reason=f"it was never ready: {end.reason}")
        self._is_ready.set()
        return self.end

    async def kill(self, reason: str, *, limit: str | None = None) -> None:
        """Kill the kernel and all it started, and remember why. Its files can still be kept: init lives on."""
        self._killed_as = self._killed_as or KernelEnd(reason=reason, limit=limit)
        with anyio.move_on_after(_CONDEMN_SECONDS):
            try:
                await self.control.signal(signal.SIGKILL, self.slot)
                return
            except (Unavailable, OSError):
                logger.info("the cage did not answer; killing it whole")
        self._kill()

    def _kill(self) -> None:
        self.process.kill()

    async def stop(self) -> None:
        """End the kernel and all it started; its init lives on, to hand over the changed files."""
        if self.end is None:
            # One killed while it starts would look like one that could not start.
            await self._is_ready.wait()
            await self.kill("it was stopped")
            with anyio.move_on_after(_CONDEMN_SECONDS):
                await self._observed_end()

    async def interrupt(self, is_over: anyio.Event) -> None:
        """Stop what runs: ask, ask again, then kill. Returns when `is_over`, or when the kernel is gone."""
        await self._is_ready.wait()
        for seconds in _INTERRUPT_SECONDS:
            await self.control.interrupt(self.slot)
            with anyio.move_on_after(seconds):
                await is_over.wait()
                return
        await self.kill("it ignored two interrupts")

    async def changes(self) -> tuple[FileChange, ...]:
        """Files of the project that its code made, changed or removed."""
        return await self.control.changes(self.slot)

    def read(self, path: str) -> AsyncGenerator[bytes]:
        """The bytes of one of those files."""
        return self.control.read(path, self.slot)

    async def keep(self, project: Path, terms: KeepTerms) -> KeepReport:
        """Carry those changes over into the real project; ends the kernel and all it started."""
        hidden = (*self.spec.hidden, *self.spec.protected)
        return await self.control.keep(project, hidden=hidden, slot=self.slot, terms=terms)

    async def end_process(self) -> None:
        """End this kernel's process, whose place another of its cage has taken; the cage goes on."""
        try:
            await self.control.signal(signal.SIGKILL, self.slot)
        except (Unavailable, OSError):
            logger.info("the cage of a kernel that was replaced is gone")
        finally:
            self.link.close()

    async def close(self) -> None:
        """End the cage and everything in it; waits until nothing is left."""
        try:
            await self.process.end(self.control)
        finally:
            # Whoever cancels a task natively knows no shields: what is held goes back all the same.
            self.link.close()
            if self._outlet is not None:
                self._outlet.close()

    async def _why_it_never_was(self) -> str:
        try:
            return (await self._observed_end()).reason
        except Unavailable as error:
            return error.message
        finally:
            await self.close()

    async def _await_ready(self) -> None:
        with anyio.fail_after(self.ready_seconds):
            while not isinstance(first := await self.link.receive(), wire.Ready):
                self._heard_first(first)
            self._heard_ready(first)
        self.ready_ms = (time.perf_counter() - self._began) * 1e3
        self._is_ready.set()

    def _heard_first(self, message: wire.FromGuest | MarimoNotification) -> None:
        """What is said before it is ready is for nobody."""

    def _heard_ready(self, ready: wire.Ready) -> None:
        """It says who it is."""

    async def _how_it_ended(self) -> KernelEnd:
        try:
            return await self._observed_end()
        except Unavailable as error:
            return KernelEnd(reason=error.message)

    async def _observed_end(self) -> KernelEnd:
        with anyio.move_on_after(_END_SECONDS):
            last = await self.control.wait_kernel()
            return kernel_end_of(last.exit_code, last.signal, out_of_memory=last.out_of_memory, limit=last.limit)
        return KernelEnd(reason="it vanished")


async def own_memory_kb(kernel: Kernel) -> int:
    """What a kernel and all it started hold and share with nobody; 0 where its cage cannot say."""
    try:
        told = (await measure(kernel)).get("own_memory_kb")
    except Unavailable:
        return 0
    return max(0, told) if isinstance(told, int) else 0


async def measure(kernel: Kernel) -> dict[str, object]:
    """What its cage counts of a kernel and all it started: a stranger's words, which may be anything."""
    answer = await kernel.control.command("measure", branch=kernel.slot.number)
    return cast("dict[str, object]", answer["meters"]) if isinstance(answer.get("meters"), dict) else {}
