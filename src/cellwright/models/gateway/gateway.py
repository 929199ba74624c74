"""The gateway put together: what it is told at its start becomes a process that listens until it is idle."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import anyio

from cellwright.errors import CellwrightError
from cellwright.models.attempts import Attempts
from cellwright.models.breaker import Breakers
from cellwright.models.budgeting import Budgets
from cellwright.models.gateway.crash import AtGatewayCrash, carry_on
from cellwright.models.gateway.desk import Desk
from cellwright.models.gateway.idle import Idle
from cellwright.models.gateway.planning import Planning
from cellwright.models.gateway.reporting import Reporting
from cellwright.models.gateway.server import Server
from cellwright.models.gateway.standing import standing_limits
from cellwright.models.gateway.work import Work
from cellwright.models.keys import KeyRing
from cellwright.models.ledger import Ledger

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a gateway is told at its start, over its standard input."""

    home: Path
    keys: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """By provider."""
    idle_seconds: float = 300
    person: str = ""
    """On whose account calls of the OpenAI-compatible endpoint go."""
    team_rules: Path | None = None


async def run_gateway(
    start: Start,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    mask_log: Callable[[Callable[[str], str]], None] = lambda mask: None,
    at_crash: AtGatewayCrash = carry_on,
) -> None:
    """Be the gateway until nobody has needed it for a while, or it is told to stop."""
    keys = KeyRing(start.home, start.keys)
    desk = Desk(start.home, keys, Breakers())
    mask_log(desk.mask)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(desk.aclose)
        ledger = stack.enter_context(Ledger.open(start.home / "models.db", mask=desk.mask, price_of=desk.price_of))
        ledger.adopt()
        for name, probed in ledger.probes().items():
            desk.learn(name, probed)
        idle, stopping = Idle(start.idle_seconds), _Stopping()
        async with anyio.create_task_group() as tasks:
            planning = Planning(desk, Budgets(ledger, lambda: datetime.now(UTC)))
            reporting = Reporting(desk=desk, ledger=ledger, idle=idle, version=version("cellwright"))
            work = Work(
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
            tasks.start_soon(_hear_signals, stopping)
            tasks.start_soon(_open_endpoint, work, start, reporting)
            on_ready()
            await _until_over(idle, stopping, work)
            tasks.cancel_scope.cancel()


class _Stopping:
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

    async def wait(self, work: Work) -> None:
        """Until it is time."""
        await self._asked.wait()
        if not self._at_once:
            await work.drained()


async def _until_over(idle: Idle, stopping: _Stopping, work: Work) -> None:
    async with anyio.create_task_group() as waiting:

        async def until_idle() -> None:
            await idle.wait()
            waiting.cancel_scope.cancel()

        async def until_told() -> None:
            await stopping.wait(work)
            waiting.cancel_scope.cancel()

        waiting.start_soon(until_idle)
        waiting.start_soon(until_told)


async def _hear_signals(stopping: _Stopping) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stopping.stop(False)


async def _open_endpoint(work: Work, start: Start, reporting: Reporting) -> None:
    """The OpenAI-compatible endpoint, beside what doors need: without it the gateway is still a gateway."""
    try:
        # Loads an HTTP server: no door should wait for that.
        from cellwright.models.gateway.openai_endpoint import Account, open_endpoint

        account = Account(person=start.person, limits=lambda: standing_limits(start.home, start.team_rules))
        async with open_endpoint(work, home=start.home, account=account) as address:
            reporting.endpoint = {"base_url": address.base_url}
            await anyio.sleep_forever()
    except (CellwrightError, OSError) as problem:
        logger.warning("the OpenAI-compatible endpoint is not open: %s", problem)
