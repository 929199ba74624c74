"""The MCP Inspector and the official conformance suite, over stdio and at `/mcp`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.real_clients import NODE, PACKAGES, Machine
from tests.server.mcp.test_mcp_over_http import McpTestbed, room

pytestmark = pytest.mark.clients
__all__ = ["room"]
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"


def own_state(machine: Machine) -> tuple[str, str]:
    """The Inspector gives its server only a few variables: without this, a second daemon would start."""
    return "-e", f"CELLWRIGHT_HOME={machine.state}"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_finds_nothing_to_say_about_our_tools(machine: Machine, era: str) -> None:
    asked = ("--cli", "--method", "tools/list", "--strict", "--protocol-era", era, "--connect-timeout", "0")
    done = await machine.node(INSPECTOR, *asked, *own_state(machine), "cellwright", "mcp")
    assert done.code == 0, done
    assert json.loads(done.stdout)["tools"][0]["name"] == "start_run"
    assert "portability" not in done.stderr


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_two_hundred_calls_ten_at_a_time_all_answer(machine: Machine, era: str) -> None:
    load = ("--load", "--load-requests", "200", "--format", "json", "--protocol-era", era, "--connect-timeout", "0")
    tool = ("--method", "tools/call", "--tool-name", "list_notebooks")
    done = await machine.node(INSPECTOR, "--cli", *tool, *load, *own_state(machine), "cellwright", "mcp")
    assert done.code == 0, done
    told = json.loads(done.stdout)["result"]
    assert (told["requests"], told["ok"], told["errors"]) == (200, 200, 0)


@pytest.mark.parametrize(
    "scenario",
    ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams"],
)
async def test_the_conformance_suite_passes(room: McpTestbed, tmp_path: Path, scenario: str) -> None:
    machine = Machine(home=tmp_path, state=tmp_path / "state", project=tmp_path)
    bearer = room.served.bearing("steer")["authorization"]
    # The suite has no option for a token: each of its requests gets one on its way out.
    (tmp_path / "token.mjs").write_text(
        "const plain = globalThis.fetch\n"
        "globalThis.fetch = (to, init = {}) => {\n"
        "  const headers = new Headers(init.headers)\n"
        f"  headers.set('authorization', '{bearer}')\n"
        "  return plain(to, { ...init, headers })\n"
        "}\n"
    )
    more = {"NODE_OPTIONS": f"--import={tmp_path}/token.mjs"}
    asked = ("server", "--url", room.url, "--scenario", scenario, "--verbose")
    done = await machine.run(NODE, PACKAGES / CONFORMANCE, *asked, more=more)
    assert done.code == 0, done


async def test_the_conformance_suite_finds_that_rebound_names_are_refused(room: McpTestbed, tmp_path: Path) -> None:
    machine = Machine(home=tmp_path, state=tmp_path / "state", project=tmp_path)
    bearer = room.served.bearing("steer")["authorization"]
    # This scenario asks with undici's own `request`, which takes its dispatcher from where any copy of it may put one.
    (tmp_path / "token.mjs").write_text(
        f"import undici from '{PACKAGES}/undici/index.js'\n"
        "undici.setGlobalDispatcher(new undici.Agent().compose((dispatch) => (asked, handler) =>\n"
        f"  dispatch({{ ...asked, headers: {{ ...asked.headers, authorization: '{bearer}' }} }}, handler)))\n"
    )
    more = {"NODE_OPTIONS": f"--import={tmp_path}/token.mjs"}
    asked = ("server", "--url", room.url, "--scenario", "dns-rebinding-protection", "--verbose")
    done = await machine.run(NODE, PACKAGES / CONFORMANCE, *asked, more=more)
    assert done.code == 0, done
