"""Claude Code, Codex and OpenCode use our server, each with the settings that `cellwright mcp install` writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cellwright.testing import ProviderServer
from tests.clients.real_clients import CLIENTS, Machine, last_shown, script_call
from tests.house.places import ROOT
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import DaemonTestbed
from tests.server.mcp.test_mcp_over_stdio import a_client, start_daemon, started

pytestmark = pytest.mark.clients
EDITS = {"notebook": "lab.py", "edits": [{"op": "create", "code": "x * 7", "name": "answer"}]}


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_clients_model_makes_a_cell_and_sees_its_value(
    client: str, machine: Machine, model: ProviderServer
) -> None:
    script_call(model, client, "apply", EDITS)
    done = await machine.say(client, "Make a cell that multiplies x by seven.", model)
    assert (done.code, "That is done." in done.stdout) == (0, True), done
    assert "-> 42" in last_shown(model)
    assert "x * 7" in (machine.project / "lab.py").read_text()


@pytest.mark.parametrize("client", CLIENTS)
async def test_the_lines_of_a_clients_page_start_a_run(client: str, machine: Machine, model: ProviderServer) -> None:
    page = (ROOT / f"docs/clients/{client}.md").read_text()
    install, ask = (block.splitlines() for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL))
    (machine.project / "sales.csv").write_text("month,revenue\n1,10\n2,20\n3,5\n")
    goal = {"goal": "which month has the highest revenue?", "data": ["sales.csv"], "models": ["analyst"]}
    script_call(model, client, "start_run", goal)
    assert (await machine.run(*shlex.split(install[0]))).code == 0
    done = await machine.type(client, shlex.split(ask[0]), model)
    assert (done.code, "That is done." in done.stdout) == (0, True), done
    begun = await machine.run("cellwright", "runs", "list", "--json")
    assert "which month has the highest revenue?" in begun.stdout
    assert (await machine.run(*shlex.split(install[1]))).code == 0


@pytest.mark.parametrize("client", CLIENTS)
async def test_what_a_run_asks_stays_open_where_nobody_sits_at_the_client(
    client: str, testbed: DaemonTestbed, tmp_path: Path, model: ProviderServer
) -> None:
    start_daemon(testbed)
    machine = Machine(home=tmp_path / "person", state=testbed.home, project=testbed.folder / "project")
    machine.home.mkdir()
    async with a_client(testbed.home, machine.project, "legacy") as person:
        run = await started(person, ASK)
    script_call(model, client, "follow_run", {"run": run})
    done = await machine.say(client, "How is my run?", model)
    assert done.code == 0, done
    assert "Go on?" in last_shown(model)
    assert "Only a person can answer" in last_shown(model)
    async with testbed.records() as records:
        assert (await records.status(run)).standing == "waiting"
