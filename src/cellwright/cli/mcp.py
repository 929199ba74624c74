"""`cellwright mcp [install]`: runs and notebooks as tools for other agents, over standard input and output."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Annotated

import typer

from cellwright.cli.mcp_pump import pump
from cellwright.cli.render import console
from cellwright.errors import Unavailable
from cellwright.settings import Settings

app = typer.Typer(help="Runs and notebooks as tools for other agents.", invoke_without_command=True)


@app.callback()
def mcp(
    context: typer.Context,
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="What the tools work in; else the current folder.")
    ] = "",
) -> None:
    """Speak MCP over standard input and output; a daemon is started if none runs. Clients start this, not people."""
    if context.invoked_subcommand is not None:
        return
    settings, where = Settings.read(), os.path.abspath(folder)
    if pump(settings, where):
        return
    _start_daemon(settings)
    if not pump(settings, where):
        raise Unavailable("The daemon ended at once.", hint="See its log, daemon.log in the state directory.")


def _start_daemon(settings: Settings) -> None:
    # Half a second that only the first client pays.
    from cellwright.server.daemon.connection import find_or_start_daemon
    from cellwright.server.daemon.launch import DaemonLaunch

    with closing(find_or_start_daemon(settings, DaemonLaunch(), console.note)):
        pass
