"""Draw what each client's page shows: `python -m tests.clients.pictures`, after `make test-clients` has fetched them.

Of the three that have a command line a real session before the loopback model; of editors what is written for them.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from rich.console import Console
from rich.text import Text

from cellwright.testing import ProviderServer
from tests.clients.real_clients import CLIENTS, TYPED, Machine, script_call
from tests.clients.test_mcp_clients import EDITS
from tests.conftest import notebook_source
from tests.server.mcp.test_mcp_over_stdio import a_client

FOLDER: Final = Path(__file__).parents[2] / "docs/images/clients"
EDITORS: Final = ("vscode", "cursor", "zed")
WORDS: Final = "Make a cell that multiplies x by seven."


async def main() -> None:
    """All of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    async with a_machine() as machine:
        for client in EDITORS:
            shown = await machine.run("cellwright", "mcp", "install", client, "--print")
            draw(client, [(f"cellwright mcp install {client} --print", neutral(machine, shown.stdout))])
    for client in CLIENTS:
        async with a_machine() as machine, ProviderServer.open() as model:
            script_call(model, client, "apply", EDITS)
            told = await machine.run("cellwright", "mcp", "install", client)
            done = await machine.say(client, WORDS, model)
            shown = await machine.run("cellwright", "notebook", "show", "lab.py")
            said = f"{done.stderr}{done.stdout}" if client == "opencode" else done.stdout
            session = [
                (f"cellwright mcp install {client}", neutral(machine, told.stdout + told.stderr)),
                (f'{" ".join(TYPED[client])} "{WORDS}"', neutral(machine, said)),
                ("cellwright notebook show lab.py", neutral(machine, shown.stdout)),
            ]
            draw(client, session)


@asynccontextmanager
async def a_machine() -> AsyncGenerator[Machine]:
    """Somebody's home and project, with the daemon up."""
    with tempfile.TemporaryDirectory() as folder:
        made = Machine(home=Path(folder, "ada"), state=Path(folder, "state"), project=Path(folder, "lab"))
        for each in (made.home, made.project):
            each.mkdir()
        (made.project / "lab.py").write_text(notebook_source("x = 6"))
        try:
            async with a_client(made.state, made.project, "legacy") as first:
                await first.call_tool("run_cells", {"notebook": "lab.py", "cells": "all"})
            yield made
        finally:
            await made.run("cellwright", "serve", "stop")


def neutral(machine: Machine, text: str) -> str:
    """Without paths of this machine."""
    for path, name in ((machine.home, "~"), (machine.state, "~/.local/state/cellwright"), (machine.project, "~/lab")):
        text = text.replace(str(path), name)
    return re.sub(r'"[^"\n]*/bin/cellwright"', '"~/.venv/bin/cellwright"', text).strip("\n")


def draw(client: str, session: list[tuple[str, str]]) -> None:
    """A terminal with what was typed and what it said."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    for typed, said in session:
        console.print(Text(f"$ {typed}", style="bold"))
        console.print(Text.from_ansi(said), soft_wrap=False)
        console.print()
    # Without the fonts that it would load from elsewhere: a reader's own do.
    picture = re.sub(r"\s*(@font-face \{[^}]*\}|<!--.*?-->)", "", console.export_svg(title=client, unique_id=client))
    (FOLDER / f"{client}.svg").write_text(picture)


if __name__ == "__main__":
    anyio.run(main)
