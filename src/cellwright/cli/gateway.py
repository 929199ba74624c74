"""`cellwright gateway start|status|stop`: the process that holds the keys. Doors start it by themselves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
import typer

from cellwright.cli.gateway_launch import launch_here
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console, model_tables
from cellwright.errors import Unavailable
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import connect, running_pid
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
    view = anyio.run(_status)
    if as_json:
        console.as_json(view)
    else:
        model_tables.gateway(view)


@app.command()
def stop(
    now: Annotated[bool, typer.Option("--now", help="Do not wait for calls in flight.")] = False,
    as_json: JsonOption = False,
) -> None:
    """End it when nothing is in flight any more."""
    view = anyio.run(_stop, now)
    if as_json:
        console.as_json(view)
    else:
        console.note(_stop_words(view))


@asynccontextmanager
async def open_models(idle_seconds: float = 300) -> AsyncGenerator[Models]:
    """The models of this person, through their gateway, which is started if need be."""
    settings = Settings.read()
    launch = launch_here(settings, idle_seconds=idle_seconds)
    async with Models.open(settings.home, launch=launch) as models:
        yield models


@asynccontextmanager
async def running_models() -> AsyncGenerator[Models | None]:
    """The same through a gateway that runs already; None if none does."""
    home = Settings.read().home
    if running_pid(home) is None:
        yield None
        return
    async with open_models() as models:
        yield models


async def is_endpoint_open(models: Models) -> bool:
    """Whether other programs can connect: a gateway that has just begun opens its endpoint a moment later."""
    for _ in range(_MAX_OPEN_POLLS):
        if (await models.status()).endpoint:
            return True
        await anyio.sleep(_POLL_INTERVAL_SECONDS)
    return False


async def _start(stay: bool, idle: float, as_json: bool) -> None:
    async with open_models(idle) as models:
        await is_endpoint_open(models)
        view = await _view(models)
        if as_json:
            console.as_json(view)
        else:
            model_tables.gateway(view)
        if stay:
            console.note("It stays until Ctrl-C.")
            await _while_it_runs(models)


async def _while_it_runs(models: Models) -> None:
    """An open connection keeps a gateway from being idle; one that died is started again."""
    while True:
        await anyio.sleep(_END_TIMEOUT_SECONDS)
        await models.status()


async def _status() -> dict[str, Any]:
    async with running_models() as models:
        return {"running": False} if models is None else await _view(models)


async def _view(models: Models) -> dict[str, Any]:
    report = await models.status()
    return {
        "running": True,
        "pid": report.pid,
        "version": report.version,
        "started_at": report.started_at,
        "calls_in_flight": report.calls_in_flight,
        "connections": report.connections,
        "idle_seconds": report.idle_seconds,
        "endpoint": report.endpoint or None,
    }


async def _stop(now: bool) -> dict[str, Any]:
    home = Settings.read().home
    pid = running_pid(home)
    if pid is None:
        return {"was_running": False, "ended": True, "calls_in_flight": 0}
    try:
        is_answering = await anyio.to_thread.run_sync(_is_answering, home)
    except Unavailable:
        is_answering = False
    in_flight = 0
    if is_answering:
        async with open_models() as models:
            in_flight = (await models.status()).calls_in_flight
            await models.stop_gateway(at_once=now)
    else:
        # Whoever holds the lock on its file is the gateway and nobody else.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if now else signal.SIGTERM)
    ended = (now or not in_flight) and await anyio.to_thread.run_sync(_has_ended, home, pid)
    return {"was_running": True, "ended": ended, "calls_in_flight": in_flight}


def _is_answering(home: Path) -> bool:
    connection = connect(home)
    if connection is not None:
        connection.close()
    return connection is not None


def _has_ended(home: Path, pid: int) -> bool:
    deadline = time.monotonic() + _END_TIMEOUT_SECONDS
    while (is_running := running_pid(home) == pid) and time.monotonic() < deadline:
        time.sleep(_POLL_INTERVAL_SECONDS)
    return not is_running


def _stop_words(view: dict[str, Any]) -> str:
    if not view["was_running"]:
        return "No gateway runs."
    if view["ended"]:
        return "The gateway has ended."
    if view["calls_in_flight"]:
        return f"The gateway ends when {view['calls_in_flight']} calls in flight are done."
    return "The gateway has not ended yet; `cellwright gateway stop --now` does not wait."
