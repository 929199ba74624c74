"""`cellwright mcp [install]`: runs and notebooks as tools for other agents, over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellwright.cli.daemon_pump import pump_or_start
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console
from cellwright.errors import UserError
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
    pump_or_start(Settings.read(), "mcp", str(Path(folder).resolve()))


@app.command()
def install(
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help="claude-code, codex, opencode, vscode, cursor or zed.")
    ],
    is_printed: Annotated[bool, typer.Option("--print", help="Only show what would stand in its settings.")] = False,
    is_removed: Annotated[bool, typer.Option("--remove", help="Take it out again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Put this server into the settings of a client; everything else in them stays as it is."""
    from cellwright.cli.mcp_clients import CLIENTS, change_settings, entry_for, shown_entry

    if (known := CLIENTS.get(client)) is None:
        raise UserError(f"There is no client {client!r}.", hint=f"Known: {', '.join(CLIENTS)}.")
    settings = Settings.read()
    entry, path = entry_for(known, settings), known.place(settings)
    if is_printed and not as_json:
        console.note(f"For {path}:")
        console.line(shown_entry(known, entry).rstrip())
        return
    is_changed = False if is_printed else change_settings(known, path, None if is_removed else entry)
    done = "taken out of" if is_removed else "in"
    words = f"Cellwright is {done} the settings of {client}, {path}." if is_changed else f"{path} needed no change."
    view = {"client": client, "path": str(path), "section": known.section, "entry": entry, "is_changed": is_changed}
    console.result(view, as_json, words)
