"""The MCP Inspector and the official conformance suite, over stdio and at `/mcp`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.clients.real_clients import Machine
from tests.server.mcp.test_mcp_over_http import McpTestbed, room

pytestmark = pytest.mark.clients
__all__ = ["room"]
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_finds_nothing_to_say_about_our_tools(machine: Machine, era: str) -> None:
    asked = ("--cli", "--method", "tools/list", "--strict", "--protocol-era", era, "--connect-timeout", "0")
    done = await machine.node(INSPECTOR, *asked, "cellwright", "mcp")
    assert done.code == 0, done
    assert [each["name"] for each in json.loads(done.stdout)["tools"]][0] == "start_run"
    assert "portability" not in done.stderr


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_two_hundred_calls_ten_at_a_time_all_answer(machine: Machine, era: str) -> None:
    load = ("--load", "--load-requests", "200", "--format", "json", "--protocol-era", era, "--connect-timeout", "0")
    tool = ("--method", "tools/call", "--tool-name", "list_notebooks")
    done = await machine.node(INSPECTOR, "--cli", *tool, *load, "cellwright", "mcp")
    assert done.code == 0, done
    told = json.loads(done.stdout)
    print(told)


@pytest.mark.parametrize(
    "scenario",
    [
        "server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ],
)  # fmt: skip
async def test_the_conformance_suite_passes(room: McpTestbed, tmp_path: Path, scenario: str) -> None:
    machine = Machine(home=tmp_path, state=tmp_path / "state", project=tmp_path)
    done = await machine.node(CONFORMANCE, "server", "--url", room.url, "--scenario", scenario)
    assert done.code == 0, done
    assert "failed" in done.stdout
