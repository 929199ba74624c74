"""`cellwright acp --marimo-panel`: in the foreground, until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

import anyio

from cellwright.cli.daemon_pump import Options, dial, start_daemon
from cellwright.cli.render import console
from cellwright.errors import Unavailable
from cellwright.settings import Settings


def serve_panel(settings: Settings, folder: str, options: Options, origins: Sequence[str], port: int) -> None:
    """Be there for the panel. Raises `UserError` for an origin that is none and a port that is taken."""
    from cellwright.server.acp.marimo_panel import check_origins, listen_for_panel, serve_panel_at

    allowed, listener = check_origins(origins), listen_for_panel(port)
    start_daemon(settings)
    asked = {**options, "client": ["marimo"]}

    def connect() -> socket.socket:
        connection = dial(settings, "acp", folder, asked)
        if connection is None:
            start_daemon(settings)
            connection = dial(settings, "acp", folder, asked)
        if connection is None:
            raise Unavailable("The daemon ended at once.", hint="See its log, daemon.log in the state directory.")
        return connection

    where = " or ".join(sorted(allowed))
    console.note(f"marimo's editor at {where}: open its agents panel and choose OpenCode. Ctrl-C ends this.")
    # Whoever ends it this way wants it so; runs go on in the daemon.
    with suppress(KeyboardInterrupt):
        anyio.run(serve_panel_at, listener, allowed, connect)
