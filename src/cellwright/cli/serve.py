"""`cellwright serve [status|stop]`: the process in which runs live. Doors start it by themselves."""

from __future__ import annotations

import json
import math
import os
import signal
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, Final, NoReturn

import anyio
import anyio.to_thread
import typer
from rich.console import Console
from rich.text import Text

from cellwright.cli import render
from cellwright.cli.journal_place import JsonOption
from cellwright.errors import Unavailable, UserError
from cellwright.residents import has_ended, running_pid
from cellwright.server import Launch, Standing, connect
from cellwright.server.launching import (
    COMMAND,
    FOREGROUND,
    IDLE_SECONDS,
    Start,
    daemon_at,
    daemon_environment,
    package_version,
    told,
)
from cellwright.settings import Settings

app = typer.Typer(help="The process in which runs live.", invoke_without_command=True)

_END_SECONDS: Final = 100
_data = Console(highlight=False)


@app.callback()
def serve(
    context: typer.Context,
    detach: Annotated[bool, typer.Option("--detach", help="Start it in the background, if it does not run.")] = False,
    idle: Annotated[
        float | None, typer.Option("--idle", metavar="SECONDS", min=1, help="End after so long without work.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out runs until Ctrl-C; runs that are cut off go on at the next start."""
    if context.invoked_subcommand is not None:
        return
    settings = Settings.read()
    if detach:
        _show(anyio.run(_start, settings, idle or IDLE_SECONDS), as_json)
    else:
        _become_daemon(settings, idle or math.inf, as_json)


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Say whether it runs and what it does; starts nothing."""
    _show(anyio.run(_status, Settings.read()), as_json)


@app.command()
def stop(
    when_idle: Annotated[bool, typer.Option("--when-idle", help="Only once no run is at work.")] = False,
    kill: Annotated[bool, typer.Option("--kill", help="Do not let it close; for one that hangs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """End it; runs at work go on at the next start."""
    if when_idle and kill:
        raise UserError("--when-idle and --kill do not go together.", hint="Choose one.")
    view = anyio.run(_stop, Settings.read(), when_idle, kill)
    if as_json:
        render.as_json(view)
    else:
        render.note(_stop_words(view))


def _become_daemon(settings: Settings, idle_seconds: float, as_json: bool) -> NoReturn:
    """Go on as the daemon, in this very process, with the environment a daemon has."""
    resident = daemon_at(settings.ready_home())
    if (pid := running_pid(resident)) is not None:
        raise UserError(f"The daemon runs already, process {pid}.", hint="`cellwright serve stop` ends it.")
    where = {"pid": os.getpid(), "socket": str(resident.file("sock").absolute()), "version": package_version()}
    words = f"The daemon listens at {where['socket']}; Ctrl-C ends it.\n"
    start = Start(
        settings=settings,
        idle_seconds=idle_seconds,
        announcement="" if as_json else words,
        announcement_json=json.dumps(where) + "\n" if as_json else "",
    )
    reading, writing = os.pipe()
    os.write(writing, json.dumps(told(start)).encode())
    os.close(writing)
    os.dup2(reading, 0)
    os.execve(COMMAND[0], [*COMMAND, FOREGROUND], daemon_environment(settings))


async def _start(settings: Settings, idle_seconds: float) -> dict[str, Any]:
    async with connect(settings, on_note=render.note, launch=Launch(idle_seconds=idle_seconds)) as daemon:
        return _view(await daemon.status())


async def _status(settings: Settings) -> dict[str, Any]:
    if running_pid(daemon_at(settings.home)) is None:
        return {"running": False}
    async with connect(settings, start=False) as daemon:
        return _view(await daemon.status())


def _view(standing: Standing) -> dict[str, Any]:
    told_of = asdict(standing)
    return {"running": True, **{name: told_of[name] for name in told_of if name not in {"kind", "number"}}}


async def _stop(settings: Settings, when_idle: bool, kill: bool) -> dict[str, Any]:
    resident = daemon_at(settings.home)
    pid, at_work = running_pid(resident), 0
    if pid is None:
        return {"was_running": False, "ended": True, "runs_at_work": 0}
    try:
        if kill:
            _send(pid, signal.SIGKILL)
        else:
            async with connect(settings, start=False) as daemon:
                at_work = (await daemon.status()).runs_at_work
                await daemon.stop("idle" if when_idle else "now", why="cellwright serve stop")
    except Unavailable:
        # Whoever holds the lock on its file is the daemon and nobody else.
        _send(pid, signal.SIGTERM)
    is_waiting = when_idle and at_work > 0
    ended = not is_waiting and await anyio.to_thread.run_sync(has_ended, resident, pid, _END_SECONDS)
    return {"was_running": True, "ended": ended, "runs_at_work": at_work}


def _send(pid: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, what)


def _show(view: dict[str, Any], as_json: bool) -> None:
    if as_json:
        render.as_json(view)
    else:
        _data.print(Text(_status_words(view)), soft_wrap=True)


def _status_words(view: dict[str, Any]) -> str:
    if not view["running"]:
        return "No daemon runs; it is started when a run needs it."
    idle = view["idle_seconds"]
    ends = "ends when told" if idle is None else f"ends after {idle:g} s without either"
    doing = f"{view['runs_at_work']} runs at work, {view['connections']} connections"
    return f"daemon {view['version']}, process {view['pid']}, since {view['since']}\n{doing}; {ends}"


def _stop_words(view: dict[str, Any]) -> str:
    at_work = view["runs_at_work"]
    if not view["was_running"]:
        return "No daemon runs."
    if not view["ended"]:
        return f"The daemon ends when {at_work} runs are done." if at_work else "The daemon has not ended yet."
    return f"The daemon has ended; {at_work} runs go on at the next start." if at_work else "The daemon has ended."
