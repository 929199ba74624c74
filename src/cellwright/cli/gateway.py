"""`cellwright gateway start|status|stop`: the process that holds the keys. Interfaces start it by themselves."""

from __future__ import annotations

import os
import signal
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import asdict
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
import typer

from cellwright.background import has_ended
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console, model_tables
from cellwright.errors import Unavailable
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import connect, gateway_at, running_pid
from cellwright.models.reports import StatusReport, TestReport
from cellwright.settings import Settings

app = typer.Typer(help="The process that holds your API keys and speaks to models.", no_args_is_help=True)

_END_TIMEOUT_SECONDS: Final = 10
_POLL_INTERVAL_SECONDS: Final = 0.05
_MAX_OPEN_POLLS: Final = 100


@app.command()
def start(
    stay: Annotated[bool, typer.Option("--stay", help="Keep it running until Ctrl-C.")] = False,
    idle: Annotated[
        float, typer.Option("--idle", metavar="SECONDS", min=1, help="End after so long without work.")
    ] = 300,
    as_json: JsonOption = False,
) -> None:
    """Start the gateway if it does not run; it ends by itself when nothing needs it."""
    anyio.run(_start, stay, idle, as_json)


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Say whether it runs and what it does; starts nothing."""
    console.result(anyio.run(_status), as_json, model_tables.gateway)


@app.command()
def stop(
    now: Annotated[bool, typer.Option("--now", help="Do not wait for calls in flight.")] = False,
    as_json: JsonOption = False,
) -> None:
    """End it when nothing is in flight any more."""
    view = anyio.run(_stop, now)
    console.result(view, as_json, _stop_note(view))


def open_models(idle_seconds: float = 300) -> AbstractAsyncContextManager[Models]:
    """The models of this person, through their gateway, which is started if need be."""
    launch = Settings.read().gateway_launch(idle_seconds=idle_seconds)
    return Models.open(launch.home, launch=launch)


def running_models() -> AbstractAsyncContextManager[Models | None]:
    """The same through a gateway that runs already; None if none does."""
    return nullcontext() if running_pid(Settings.read().home) is None else open_models()


async def is_endpoint_open(models: Models) -> bool:
    """Whether other programs can connect: a gateway that has just begun opens its endpoint a moment later."""
    for _ in range(_MAX_OPEN_POLLS):
        if (await models.status()).endpoint:
            return True
        await anyio.sleep(_POLL_INTERVAL_SECONDS)
    return False


def report_view(report: StatusReport | TestReport) -> dict[str, Any]:
    """As plain JSON values."""
    return {name: value for name, value in asdict(report).items() if name != "kind"}


async def _start(stay: bool, idle: float, as_json: bool) -> None:
    async with open_models(idle) as models:
        await is_endpoint_open(models)
        console.result(await _view(models), as_json, model_tables.gateway)
        if stay:
            console.note("It stays until Ctrl-C.")
        while stay:
            # An open connection keeps a gateway from being idle; one that died is started again.
            await anyio.sleep(_END_TIMEOUT_SECONDS)
            await models.status()


async def _status() -> dict[str, Any]:
    async with running_models() as models:
        return {"running": False} if models is None else await _view(models)


async def _view(models: Models) -> dict[str, Any]:
    report = report_view(await models.status())
    return {"running": True, **report, "endpoint": report["endpoint"] or None}


async def _stop(now: bool) -> dict[str, Any]:
    home = Settings.read().home
    pid, connection, in_flight = running_pid(home), None, 0
    if pid is None:
        return {"was_running": False, "ended": True, "calls_in_flight": 0}
    with suppress(Unavailable):
        connection = await anyio.to_thread.run_sync(connect, home)
    if connection is not None:
        connection.close()
        async with open_models() as models:
            in_flight = (await models.status()).calls_in_flight
            await models.stop_gateway(at_once=now)
    else:
        # Whoever holds the lock on its file is the gateway and nobody else.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if now else signal.SIGTERM)
    is_ending = now or not in_flight
    ended = is_ending and await anyio.to_thread.run_sync(has_ended, gateway_at(home), pid, _END_TIMEOUT_SECONDS)
    return {"was_running": True, "ended": ended, "calls_in_flight": in_flight}


def _stop_note(view: dict[str, Any]) -> str:
    if not view["was_running"]:
        return "No gateway runs."
    if view["ended"]:
        return "The gateway has ended."
    if view["calls_in_flight"]:
        return f"The gateway ends when {view['calls_in_flight']} calls in flight are done."
    return "The gateway has not ended yet; `cellwright gateway stop --now` does not wait."
