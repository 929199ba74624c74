"""The gateway put together: what it is told at its start becomes a process that listens until it is idle.

Beside its socket it opens the OpenAI-compatible endpoint, on loopback only: other programs use our keys, budgets and
fallback, and see no key. A web server is loaded when the first program connects: until then it costs nothing.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib.metadata import version

import anyio
import anyio.to_thread

from cellwright.errors import CellwrightError
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.keys import KeyRing
from cellwright.models.gateway.call_executor import CallExecutor
from cellwright.models.gateway.call_plan import CallPlanner
from cellwright.models.gateway.gateway_reports import GatewayReports
from cellwright.models.gateway.in_flight import AtGatewayCrash, IdleTimer, carry_on
from cellwright.models.gateway.model_registry import ModelRegistry
from cellwright.models.gateway.openai_access import bind_endpoint
from cellwright.models.gateway.server import Server
from cellwright.models.money.budgets import Budgets
from cellwright.models.money.ledger import Ledger
from cellwright.models.routing.breaker import Breakers
from cellwright.models.routing.fallback import Attempts

logger = logging.getLogger(__name__)


async def run_gateway(
    start: GatewayLaunch,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    mask_log: Callable[[Callable[[str], str]], None] = lambda mask: None,
    at_crash: AtGatewayCrash = carry_on,
) -> None:
    """Be the gateway until nobody has needed it for a while, or it is told to stop."""
    keys = KeyRing(start.home, start.keys)
    registry = ModelRegistry(start.home, keys, Breakers())
    mask_log(registry.mask)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(registry.aclose)
        ledger = stack.enter_context(Ledger(start.home / "models.db", mask=registry.mask, price_of=registry.price_of))
        ledger.adopt()
        for name, probed in ledger.probes().items():
            registry.learn(name, probed)
        idle, stopping = IdleTimer(start.idle_seconds), _StopSignal()
        async with anyio.create_task_group() as tasks:
            reports = GatewayReports(registry=registry, ledger=ledger, idle=idle, version=version("cellwright"))
            executor = CallExecutor(
                registry=registry,
                ledger=ledger,
                planner=CallPlanner(registry, Budgets(ledger)),
                attempts=Attempts(ask=registry.ask, breakers=registry.breakers),
                reports=reports,
                idle=idle,
                tasks=tasks,
                at_crash=at_crash,
            )
            server = Server(executor=executor, keys=keys, idle=idle, stop=stopping.stop, uid=os.getuid())
            tasks.start_soon(server.serve, listener)
            tasks.start_soon(_watch_signals, stopping)
            tasks.start_soon(_run_endpoint, executor, start, reports)
            on_ready()
            await _until_over(idle, stopping, executor)
            tasks.cancel_scope.cancel()


class _StopSignal:
    """Whether the gateway was told to stop."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.at_once = anyio.Event()

    def stop(self, at_once: bool) -> None:
        """End when nothing is in flight, or at once. Told twice means at once."""
        if at_once or self.asked.is_set():
            self.at_once.set()
        self.asked.set()


async def _until_over(idle: IdleTimer, stopping: _StopSignal, executor: CallExecutor) -> None:
    async def drained() -> None:
        await stopping.asked.wait()
        await executor.drained()

    async with anyio.create_task_group() as waiting:

        async def until(is_over: Callable[[], Awaitable[None]]) -> None:
            await is_over()
            waiting.cancel_scope.cancel()

        for is_over in (idle.wait, drained, stopping.at_once.wait):
            waiting.start_soon(until, is_over)


async def _watch_signals(stopping: _StopSignal) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stopping.stop(False)


async def _run_endpoint(executor: CallExecutor, start: GatewayLaunch, reports: GatewayReports) -> None:
    """The OpenAI-compatible endpoint, beside what clients need: without it the gateway is still a gateway."""
    try:
        listener, address = await anyio.to_thread.run_sync(bind_endpoint, start.home)
        with listener:
            reports.endpoint = {"base_url": address.base_url}
            await anyio.wait_readable(listener)
            # An HTTP server is loaded for the first program that connects: no client should wait for that.
            from cellwright.models.gateway.openai_http import OpenAIRoutes, serve

            await serve(OpenAIRoutes(executor, start).application(address), listener)
    except (CellwrightError, OSError) as problem:
        logger.warning("the OpenAI-compatible endpoint is not open: %s", problem)
