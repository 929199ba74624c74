"""Host calls: what running cells ask of the host, answered by the services their notebook was given.

A kernel is hostile: what it asks is bounded, an unknown service is an answer like any other, and a service sees bytes
that it must read as a stranger's. A call ends with its cell, by an interrupt, or with its kernel.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
import anyio.abc

from cellwright.errors import CellwrightError
from cellwright.kernel.process.kernel import Kernel
from cellwright.kernel.process.link import LinkBroken, LinkClosed
from cellwright_guest import host_wire

_AT_ONCE = 8
"""Calls of one kernel: an honest one has one at a time, and those it has given up."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAnswer:
    """What a service answers."""

    body: bytes = b""
    error: str = ""
    """Why nothing came of it, for whoever wrote the cell."""
    descriptors: tuple[int, ...] = ()
    """Given to the kernel, and closed here once they are sent."""


HostService = Callable[[bytes], Awaitable[ServiceAnswer]]
"""Answers one call. Cancelled when nobody waits any more."""


@dataclass(slots=True)
class HostCallServer:
    """The calls of one notebook's kernels that are open now."""

    services: Mapping[str, HostService]
    tasks: anyio.abc.TaskGroup
    _open: dict[tuple[int, int], anyio.CancelScope] = field(default_factory=dict[tuple[int, int], anyio.CancelScope])

    def take(self, kernel: Kernel, call: host_wire.HostCall) -> None:
        """Begin to answer. Raises `LinkBroken` for what no honest kernel asks."""
        known = [number for owner, number in self._open if owner == id(kernel)]
        if len(known) >= _AT_ONCE or call.call in known or len(call.body) > host_wire.MAX_CALL_BYTES:
            raise LinkBroken("more calls to the host than a cell can make")
        self._open[id(kernel), call.call] = scope = anyio.CancelScope()
        self.tasks.start_soon(self._answer, kernel, call, scope)

    def cancel(self, kernel: Kernel, number: int) -> None:
        """Nobody waits for this any more."""
        if (scope := self._open.get((id(kernel), number))) is not None:
            scope.cancel()

    def end(self, kernel: Kernel) -> None:
        """The kernel is gone."""
        for (owner, _), scope in self._open.items():
            if owner == id(kernel):
                scope.cancel()

    async def _answer(self, kernel: Kernel, call: host_wire.HostCall, scope: anyio.CancelScope) -> None:
        answer = ServiceAnswer()
        try:
            with scope:
                answer = await self._serve(call)
                descriptors = answer.descriptors
                message = host_wire.HostAnswer(
                    call=call.call, body=answer.body, error=answer.error, descriptors=len(descriptors)
                )
                # Half a frame would be the end of the kernel.
                with anyio.CancelScope(shield=True):
                    await kernel.link.send(message, descriptors)
        except LinkClosed:
            logger.info("a kernel ended before it was answered")
        finally:
            del self._open[id(kernel), call.call]
            for descriptor in answer.descriptors:
                os.close(descriptor)

    async def _serve(self, call: host_wire.HostCall) -> ServiceAnswer:
        service = self.services.get(call.service)
        if service is None:
            return ServiceAnswer(error=f"The host has no service {call.service[:80]!r} for this notebook.")
        try:
            return await service(call.body)
        except CellwrightError as problem:
            return ServiceAnswer(error=" ".join(filter(None, (problem.message, problem.hint))))
        except Exception:
            # The cell is told that it failed; why is for whoever keeps the host.
            logger.exception("a service of the host failed")
            return ServiceAnswer(error="The host could not do it: it failed itself. Its log says why.")
