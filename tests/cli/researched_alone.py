"""A research on one machine: `researched_alone.py HOME FOLDER`, with a scripted model of its own, private.

Tells as JSON which ways to a network there are, how each command ended, what it told, and what the model was asked.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from cellwright.testing.server import ProviderServer
from tests.runs import research_script as script

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 1_000
MODELS = """
[tiers]
smart = ["near:one"]
fast = ["near:one"]
code = ["near:one"]
[endpoints.near]
kind = "openai-chat"
base_url = "{chat}"
key = "none"
[models."near:one"]
tools = true
schema = true
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""
RESEARCH = (
    "research",
    script.QUESTION,
    "--data",
    "papers",
    "--as",
    "brief",
    "--notebook",
    "norwell.py",
    "--project",
    ".",
)
COMMANDS = (
    (*RESEARCH, "--private", "--effort", "quick", "--approve", "never", "--json"),
    ("runs", "cards", "last", "--json"),
    ("serve", "stop", "--json"),
)


def main(home: Path, folder: Path) -> None:
    with ProviderServer.running() as provider:
        home.mkdir(mode=0o700)
        (home / "models.toml").write_text(MODELS.format(chat=provider.base_url("openai-chat")))
        script.script_research(provider)
        told = list[tuple[int, str, str]]()
        for words in COMMANDS:
            done = subprocess.run(
                [CELLWRIGHT, *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            told.append((done.returncode, done.stdout, done.stderr[-3000:]))
        interfaces = [name for _, name in socket.if_nameindex()]
        sys.stdout.write(json.dumps({"interfaces": interfaces, "told": told, "asked": len(provider.requests)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
