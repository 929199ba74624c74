"""FastMCP with a run as its task, Jupyter AI's client with our persona, and a tool server of the MCP project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cellwright.settings import Settings
from tests.clients.real_clients import Machine
from tests.house.places import ROOT
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import DaemonTestbed
from tests.server.mcp.test_mcp_over_stdio import start_daemon

pytestmark = pytest.mark.clients
SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture
def lab(testbed: DaemonTestbed, tmp_path: Path) -> Machine:
    """Whose daemon has tiny runs."""
    start_daemon(testbed)
    made = Machine(home=tmp_path / "person", state=testbed.home, project=testbed.folder / "project")
    for folder in (made.home, made.project):
        folder.mkdir()
    return made


async def test_fastmcp_has_a_run_as_its_task_and_answers_what_it_asks(lab: Machine) -> None:
    done = await lab.python(SCRIPTS / "fastmcp_task.py", ASK)
    assert done.code == 0, done
    assert "asked: Go on?" in done.stdout
    task = done.stdout.partition("task: ")[2].split()[0]
    assert f"The run {task} is over" in done.stdout


async def test_jupyter_ais_client_speaks_with_what_our_persona_starts(lab: Machine) -> None:
    paths = {"PYTHONPATH": str(ROOT / "personas/src")}
    done = await lab.python(SCRIPTS / "jupyter_persona.py", more=paths)
    assert done.code == 0, done
    assert "loads sessions: True" in done.stdout
    assert "modes: ['quick', 'normal', 'thorough']" in done.stdout


async def test_a_server_of_the_mcp_project_is_added_allowed_and_listed(lab: Machine) -> None:
    package = ("--package", "mcp-server-time==2026.10.19", "--json", "--", "mcp-server-time")
    added = await lab.run("cellwright", "tools", "add", "time", *package, more=Settings.read().connection.variables)
    assert added.code == 0, added
    told = json.loads(added.stdout)
    assert {each["name"]: each["standing"] for each in told["tools"]} == {
        "convert_time": "new",
        "get_current_time": "new",
    }
    shown = ("--fingerprint", told["fingerprint"], "--json")
    allowed = await lab.run("cellwright", "tools", "allow", "time", *shown)
    assert sorted(json.loads(allowed.stdout)["allowed"]) == ["convert_time", "get_current_time"]
