"""`cellwright serve [DIR|status|stop|url|tokens]`: the process in which runs live, and its control room."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import webbrowser
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import typer
from typer.core import TyperGroup

from cellwright.background import has_ended, running_pid
from cellwright.cli import serve_tokens
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console
from cellwright.errors import Unavailable, UserError
from cellwright.server import DaemonLaunch, WebAddress, WebOptions, connect
from cellwright.server.daemon.launch import (
    COMMAND,
    FOREGROUND,
    IDLE_SECONDS,
    DaemonStart,
    daemon_at,
    daemon_environment,
    start_message,
)
from cellwright.server.http.addresses import LOOPBACK, check_web_options, tls_files
from cellwright.server.http.page_build import ready_page
from cellwright.settings import Settings


class _FolderOrCommand(TyperGroup):
    """`serve DIR` and `serve status`: a first word that names a command is one. Others: write `./status`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The folder's place is filled with nothing in front of a command; without one, options may follow it."""
        position = next((index for index, word in enumerate(args) if not word.startswith("-")), None)
        if position is not None and args[position] in self.commands:
            return super().parse_args(ctx, [*args[:position], "", *args[position:]])
        ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="The process in which runs live, and its control room in the browser.",
    invoke_without_command=True,
    cls=_FolderOrCommand,
)
app.add_typer(serve_tokens.app, name="tokens")

_END_SECONDS: Final = 100


@app.callback()
def serve(
    context: typer.Context,
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Where notebooks and data are; else the current folder.")
    ] = "",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Else the first free one from 8300 on.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at; else only this machine.")] = LOOPBACK,
    behind_proxy: Annotated[
        str, typer.Option("--behind-proxy", metavar="ORIGIN", help="A proxy speaks TLS, at this https:// origin.")
    ] = "",
    editor_origin: Annotated[
        str, typer.Option("--editor-origin", metavar="ORIGIN", help="Behind a proxy: where it has the editor.")
    ] = "",
    editor_port: Annotated[
        int | None, typer.Option("--editor-port", min=1, max=65535, help="The editor's; else the one after the page's.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Speak TLS with this certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="The certificate's key (PEM).")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    no_page: Annotated[bool, typer.Option("--no-page", help="The API alone, where the page is not built.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Start it in the background, if it does not run.")] = False,
    idle: Annotated[
        float | None, typer.Option("--idle", metavar="SECONDS", min=1, help="End after so long without work.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open the control room in the browser and carry out runs until Ctrl-C; cut-off runs go on at the next start."""
    if context.invoked_subcommand is not None:
        return
    if not Path(folder or ".").is_dir():
        raise UserError(f"{folder!r} is not a folder.", hint="Name one: `cellwright serve FOLDER`.")
    settings = Settings.read()
    options = WebOptions(
        folder=str(Path(folder or ".").absolute()),
        host=host,
        port=port,
        public_origin=behind_proxy,
        editor_origin=editor_origin,
        editor_port=editor_port,
        certificate=_absolute(tls_cert),
        key=_absolute(tls_key),
    )
    check_web_options(options)
    tls_files(options)
    if not no_page:
        ready_page(console.note)
    is_browser_wanted = not no_browser and not as_json and sys.stdout.isatty()
    if detach or running_pid(daemon_at(settings.ready_home())) is not None:
        view = anyio.run(_open, settings, options, idle or IDLE_SECONDS, bool(folder))
        console.result(view, as_json, _show_address)
        if is_browser_wanted:
            webbrowser.open(view["url"])
    else:
        _become_daemon(settings, idle or math.inf, options, as_json, is_browser_wanted)


@app.command()
def url(as_json: JsonOption = False) -> None:
    """Give a fresh address of the control room that is open; each lets one browser in, once."""
    console.result(anyio.run(_address, Settings.read()), as_json, _show_address)


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Say whether it runs and what it does; starts nothing."""
    console.result(anyio.run(_status, Settings.read()), as_json, lambda view: console.line(_status_text(view)))


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
    console.result(view, as_json, _stop_note(view))


def _become_daemon(
    settings: Settings, idle_seconds: float, options: WebOptions, as_json: bool, is_browser_wanted: bool
) -> NoReturn:
    """Go on as the daemon, in this very process, with the environment a daemon has."""
    start = DaemonStart(
        settings=settings,
        idle_seconds=idle_seconds,
        web=options,
        is_json=as_json,
        url_to=_browser_to_be() if is_browser_wanted else None,
    )
    reading, writing = os.pipe()
    os.write(writing, json.dumps(start_message(start)).encode())
    os.close(writing)
    os.dup2(reading, 0)
    os.execve(COMMAND[0], [*COMMAND, FOREGROUND], daemon_environment(settings))


def _browser_to_be() -> int:
    """A descriptor; a process with the person's environment opens the address that is written to it."""
    reading, writing = os.pipe()
    # Forked twice: the daemon must not be left with a child that it does not know.
    if (child := os.fork()) == 0:
        if os.fork() == 0:
            os.close(writing)
            with os.fdopen(reading) as waiting:
                address = waiting.read()
            if address:
                webbrowser.open(address)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(reading)
    os.set_inheritable(writing, True)
    return writing


async def _open(settings: Settings, options: WebOptions, idle_seconds: float, is_folder_given: bool) -> dict[str, Any]:
    """Ask the daemon, in the background if none runs, to open its web server."""
    async with connect(settings, on_note=console.note, launch=DaemonLaunch(idle_seconds=idle_seconds)) as daemon:
        opened = await daemon.web(options)
        if is_folder_given and opened.folder != options.folder:
            raise _open_otherwise(opened, f"for the folder {opened.folder!r}")
        if options.port and not options.public_origin and urlsplit(opened.origin).port != options.port:
            raise _open_otherwise(opened, "at another port")
        return {"running": True, **asdict(await daemon.status()), **_opened(opened)}


async def _address(settings: Settings) -> dict[str, Any]:
    async with connect(settings, start=False) as daemon:
        return _opened(await daemon.web())


def _opened(opened: WebAddress) -> dict[str, Any]:
    return {"url": opened.url, "web": opened.origin, "folder": opened.folder}


def _open_otherwise(opened: WebAddress, how: str) -> UserError:
    return UserError(
        f"The control room is open already, at {opened.origin}, {how}.",
        hint="`cellwright serve url` gives its address; `cellwright serve stop` closes it, and runs go on afterwards.",
    )


async def _status(settings: Settings) -> dict[str, Any]:
    if running_pid(daemon_at(settings.home)) is None:
        return {"running": False}
    async with connect(settings, start=False) as daemon:
        return {"running": True, **asdict(await daemon.status())}


async def _stop(settings: Settings, when_idle: bool, kill: bool) -> dict[str, Any]:
    process = daemon_at(settings.home)
    pid, at_work = running_pid(process), 0
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
    ended = not is_waiting and await anyio.to_thread.run_sync(has_ended, process, pid, _END_SECONDS)
    return {"was_running": True, "ended": ended, "runs_at_work": at_work}


def _absolute(path: Path | None) -> str:
    return str(path.absolute()) if path is not None else ""


def _send(pid: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, what)


def _show_address(view: dict[str, Any]) -> None:
    console.line(view["url"])
    console.note(f"The control room of {view['folder']} is at this address, which works once.")


def _status_text(view: dict[str, Any]) -> str:
    if not view["running"]:
        return "No daemon runs; it is started when a run needs it."
    idle = view["idle_seconds"]
    ends = "ends when told" if idle is None else f"ends after {idle:g} s without either"
    doing = f"{view['runs_at_work']} runs at work, {view['connections']} connections"
    web = f"control room at {view['web']}" if view["web"] else "control room not open; `cellwright serve` opens it"
    return f"daemon {view['version']}, process {view['pid']}, since {view['since']}\n{doing}; {ends}\n{web}"


def _stop_note(view: dict[str, Any]) -> str:
    at_work = view["runs_at_work"]
    if not view["was_running"]:
        return "No daemon runs."
    if not view["ended"]:
        return f"The daemon ends when {at_work} runs are done." if at_work else "The daemon has not ended yet."
    return f"The daemon has ended; {at_work} runs go on at the next start." if at_work else "The daemon has ended."
