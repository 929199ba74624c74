"""The third-party client acpx, fetched and headless: a goal to its report, each frame as the TypeScript SDK has it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.in_process import run_here
from tests.clients.real_clients import NODE, PACKAGES
from tests.server.acp.an_editor import PROGRAM

pytestmark = pytest.mark.clients
SCHEMA = PACKAGES / "@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js"
ACPX = PACKAGES / "acpx/dist/cli.js"
CHECK = Path(__file__).parent / "scripts/check_frames.mjs"


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    home = tmp_path / "home"
    try:
        yield home
    finally:
        run_here(home, "serve", "stop", code=None)


def test_acpx_gets_a_report_in_frames_that_are_valid(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "sales.csv").write_text("month,revenue\n1,10\n2,20\n3,5\n")
    agent = f"env CELLWRIGHT_HOME={home} {PROGRAM} acp --model analyst"
    command = [str(NODE), str(ACPX), "--agent", agent]
    options = ["--cwd", str(project), "--format", "json", "--approve-reads"]
    done = subprocess.run(
        [*command, *options, "exec", "which month has the highest revenue?"], capture_output=True, check=True, text=True
    )
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert frames[-1]["result"]["stopReason"] == "end_turn"
    assert "2 has the most revenue" in frames[-2]["params"]["update"]["content"]["text"]
    checked = subprocess.run(
        [str(NODE), str(CHECK), str(SCHEMA)],
        input=done.stdout,
        capture_output=True,
        check=True,
        text=True,
    )
    counts = json.loads(checked.stdout)
    assert counts["wrong"] == []
    assert counts["results"] == 3
    assert counts["updates"] > 10
