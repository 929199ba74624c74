"""The gateway put together: what it is told at its start becomes a process that listens until it is idle.

Beside its socket it opens the OpenAI-compatible endpoint, on loopback only: other programs use our keys, budgets and
fallback, and see no key. A web server is loaded when the first program connects: until then it costs nothing.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import CellwrightError
from cellwright.models.config.keys import KeyRing
from cellwright.models.gateway.call_executor import CallExecutor
from cellwright.models.gateway.call_plan import CallPlanner
from cellwright.models.gateway.gateway_reports import GatewayReports
from cellwright.models.gateway.lifetime import AtGatewayCrash, IdleTimer, carry_on
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.gateway.openai_access import EndpointAccount, EndpointAddress, bind_endpoint, standing_limits
from cellwright.models.gateway.server import Server
from cellwright.models.money import Ledger
from cellwright.models.money.budgets import Budgets
from cellwright.models.routing.breaker import Breakers
from cellwright.models.routing.fallback import Attempts

__all__ = ["EndpointAccount", "open_endpoint"]


@asynccontextmanager
async def open_endpoint(work: CallExecutor, *, home: Path, account: EndpointAccount) -> AsyncGenerator[EndpointAddress]:
    """The endpoint, listening for as long as the context is open. Raises `UserError` if its file is no secret."""
    listener, address = await anyio.to_thread.run_sync(bind_endpoint, home)
    with listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve_endpoint, listener, address, work, account)
            yield address
            tasks.cancel_scope.cancel()


async def _serve_endpoint(
    listener: socket.socket, address: EndpointAddress, work: CallExecutor, account: EndpointAccount
) -> None:
    await anyio.wait_readable(listener)
    from cellwright.models.gateway.openai_http import OpenAIRoutes, serve

    await serve(OpenAIRoutes(work, account).application(address), listener)


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayStart:
    """What a gateway is told at its start, over its standard input."""

    home: Path
    keys: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """By provider."""
    idle_seconds: float = 300
    person: str = ""
    """On whose account calls of the OpenAI-compatible endpoint go."""
    team_rules: Path | None = None


async def run_gateway(
    start: GatewayStart,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    mask_log: Callable[[Callable[[str], str]], None] = lambda mask: None,
    at_crash: AtGatewayCrash = carry_on,
) -> None:
    """Be the gateway until nobody has needed it for a while, or it is told to stop."""
    keys = KeyRing(start.home, start.keys)
    desk = ModelRegistry(start.home, keys, Breakers())
    mask_log(desk.mask)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(desk.aclose)
        ledger = stack.enter_context(Ledger.open(start.home / "models.db", mask=desk.mask, price_of=desk.price_of))
        ledger.adopt()
        for name, probed in ledger.probes().items():
            desk.learn(name, probed)
        idle, stopping = IdleTimer(start.idle_seconds), _StopSignal()
        async with anyio.create_task_group() as tasks:
            planning = CallPlanner(desk, Budgets(ledger, lambda: datetime.now(UTC)))
            reporting = GatewayReports(desk=desk, ledger=ledger, idle=idle, version=version("cellwright"))
            work = CallExecutor(
                desk=desk,
                ledger=ledger,
                planning=planning,
                attempts=Attempts(ask=desk.ask, breakers=desk.breakers),
                reporting=reporting,
                idle=idle,
                tasks=tasks,
                at_crash=at_crash,
            )
            server = Server(work=work, keys=keys, idle=idle, stop=stopping.stop, uid=os.getuid())
            tasks.start_soon(server.serve, listener)
            tasks.start_soon(_watch_signals, stopping)
            tasks.start_soon(_run_endpoint, work, start, reporting)
            on_ready()
            await _until_over(idle, stopping, work)
            tasks.cancel_scope.cancel()


class _StopSignal:
    """Whether the gateway was told to stop."""

    def __init__(self) -> None:
        self._asked = anyio.Event()
        self._at_once = False

    def stop(self, at_once: bool) -> None:
        """End when nothing is in flight, or at once. Told twice means at once."""
        self._at_once = at_once or self._asked.is_set()
        asked, self._asked = self._asked, anyio.Event()
        self._asked.set()
        asked.set()

    async def wait(self, work: CallExecutor) -> None:
        """Until it is time."""
        await self._asked.wait()
        if not self._at_once:
            await work.drained()


async def _until_over(idle: IdleTimer, stopping: _StopSignal, work: CallExecutor) -> None:
    async with anyio.create_task_group() as waiting:

        async def until_idle() -> None:
            await idle.wait()
            waiting.cancel_scope.cancel()

        async def until_told() -> None:
            await stopping.wait(work)
            waiting.cancel_scope.cancel()

        waiting.start_soon(until_idle)
        waiting.start_soon(until_told)


async def _watch_signals(stopping: _StopSignal) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stopping.stop(False)


async def _run_endpoint(work: CallExecutor, start: GatewayStart, reporting: GatewayReports) -> None:
    """The OpenAI-compatible endpoint, beside what doors need: without it the gateway is still a gateway."""
    try:
        # Loads an HTTP server: no door should wait for that.
        pass

        account = EndpointAccount(person=start.person, limits=lambda: standing_limits(start.home, start.team_rules))
        async with open_endpoint(work, home=start.home, account=account) as address:
            reporting.endpoint = {"base_url": address.base_url}
            await anyio.sleep_forever()
    except (CellwrightError, OSError) as problem:
        logger.warning("the OpenAI-compatible endpoint is not open: %s", problem)
