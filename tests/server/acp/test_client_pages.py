"""Pages about clients: a short recipe, a picture, and what an ACP client is told to start is an agent."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from cellwright.cli.mcp_clients import CLIENTS
from tests.house.places import ROOT
from tests.server.daemon_testbed import SECONDS, DaemonTestbed
from tests.server.mcp.test_mcp_over_stdio import start_daemon

FOLDER: Final = ROOT / "docs/clients"
PAGES: Final = ("zed", "jupyterlab", "emacs", "marimo", "terminal")
OURS: Final = Path(sys.executable).parent


def recipe(page: str) -> list[str]:
    """Its recipe: the lines of its first block."""
    text = (FOLDER / f"acp-{page}.md").read_text()
    found = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def started_by(page: str) -> list[str]:
    """What the client starts, as the recipe says it: JSON, Emacs Lisp, our persona, or words at a terminal."""
    text = "\n".join(recipe(page))
    match page:
        case "zed":
            agent = json.loads(f"{{{text}}}")["agent_servers"]["Cellwright"]
            return [agent["command"], *agent["args"]]
        case "emacs":
            command = re.search(r':command "(\S+)" :command-params \'\("(.*?)"\)', text)
            assert command is not None
            return [command[1], *command[2].split('" "')]
        case "jupyterlab":
            persona = (ROOT / "personas/src/cellwright_jupyter_ai/persona.py").read_text()
            assert 'shutil.which("cellwright")' in persona
            assert 'executable=[PROGRAM, "acp"]' in persona
            return ["cellwright", "acp"]
        case _:
            [line] = [line for line in text.splitlines() if "cellwright acp" in line]
            return shlex.split(re.search(r"cellwright acp[^\"']*", line)[0])  # pyrefly: ignore


@pytest.mark.parametrize("page", CLIENTS)
def test_a_page_of_an_mcp_client_has_a_picture_and_five_lines_to_type(page: str) -> None:
    text = (FOLDER / f"{page}.md").read_text()
    [picture] = re.findall(r"!\[[^\]]+\]\(\.\./(images/clients/[a-z-]+\.svg)\)", text)
    assert (ROOT / "docs" / picture).read_text().startswith("<svg")
    blocks = re.findall(r"```(?:text|bash)\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) <= 5
    assert lines[:3] == [f"cellwright mcp install {page}{more}" for more in (" --print", "", " --remove")]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_picture_and_a_recipe_of_five_lines(page: str) -> None:
    text = (FOLDER / f"acp-{page}.md").read_text()
    [picture] = re.findall(r"!\[[^\]]+\]\(\.\./(images/clients/[a-z-]+\.svg)\)", text)
    assert (ROOT / "docs" / picture).read_text().startswith("<svg")
    assert len(recipe(page)) <= 5


async def test_what_each_page_tells_its_client_to_start_is_an_agent(testbed: DaemonTestbed) -> None:
    start_daemon(testbed)
    commands = {tuple(started_by(page)) for page in PAGES if page != "marimo"}
    assert all(command[:2] == ("cellwright", "acp") for command in commands)
    for command in commands:
        assert await asked(testbed, [str(OURS / command[0]), *command[1:]]) == "Cellwright"


async def asked(testbed: DaemonTestbed, command: list[str]) -> Any:
    """Who answers a client that starts this."""
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    environment = {"CELLWRIGHT_HOME": str(testbed.home)}
    with anyio.fail_after(SECONDS):
        async with await anyio.open_process(command, env=environment, stderr=None) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdin.send(json.dumps(hello).encode() + b"\n")
            told = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1 << 20)
            process.kill()
    return json.loads(told)["result"]["agentInfo"]["title"]
