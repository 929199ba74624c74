"""`cellwright acp`: runs as sessions of an editor, over standard input and output or in marimo's own panel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from cellwright.cli.daemon_pump import pump_or_start
from cellwright.errors import UserError
from cellwright.settings import Settings

app = typer.Typer(help="Runs as sessions of an editor.", invoke_without_command=True)
_PANEL_PORT: Final = 3023
"""Where marimo's panel looks for the agent it calls OpenCode."""


@app.callback()
def acp(
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Where to start; each session names its own folder.")
    ] = "",
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="MODEL", help="As `cellwright run --model`: PROVIDER:MODEL, or analyst."),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option("--tools", metavar="NAME", help="As `cellwright run --tools`: a tool server its agents may call."),
    ] = None,
    budget: Annotated[str, typer.Option("--budget", metavar="USD", help="What a run may cost at most.")] = "",
    is_panel: Annotated[
        bool, typer.Option("--marimo-panel", help="Be the agent in the panel of marimo's editor instead.")
    ] = False,
    origins: Annotated[
        list[str] | None,
        typer.Option("--origin", metavar="URL", help="With --marimo-panel: where that editor is open."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", help="With --marimo-panel: where its panel looks for it.")
    ] = _PANEL_PORT,
) -> None:
    """Speak ACP over standard input and output; a daemon is started if none runs. Editors start this, not people."""
    settings, where = Settings.read(), str(Path(folder).resolve())
    options = {"model": model or [], "tools": tools or [], "budget": [budget] if budget else []}
    if not is_panel:
        if origins or port != _PANEL_PORT:
            raise UserError("--origin and --port are for --marimo-panel.")
        return pump_or_start(settings, "acp", where, options)
    # A web server, which no editor waits for.
    from cellwright.cli.marimo_panel import serve_panel

    serve_panel(settings, where, options, origins or [], port)
