"""A whole run on the bundled data where there is nothing but loopback: done, proven, and honest about its packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runs import research_script as script

ROOT = Path(__file__).parents[2]
DATA = ROOT / "examples" / "data"
CELLWRIGHT = Path(sys.executable).with_name("cellwright")
SECONDS = 1_500


def cellwright(home: Path, *words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a network namespace with loopback only, as a person without any settings."""
    return program(home, CELLWRIGHT, *words, folder=folder)


def program(home: Path, path: str | Path, *words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Any program there."""
    command = [sys.executable, "-m", "tests.cli.loopback_only", str(path), *map(str, words)]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home.parent),
        "CELLWRIGHT_HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@pytest.mark.slow
def test_a_run_without_any_network_is_done_and_proven_with_what_is_on_the_machine(tmp_path: Path) -> None:
    home, project = tmp_path / "state", tmp_path / "project"
    project.mkdir()
    goal = ("run", "Why did revenue fall in Q3 2025?", "--data", DATA / "orders.csv", "--data", DATA / "customers.csv")
    try:
        ran = cellwright(home, *goal, "--project", ".", "--model", "analyst", "--json", folder=project)
    finally:
        cellwright(home, "serve", "stop", folder=project)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    delivery: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert (delivery["status"], delivery["problems"], delivery["why"]) == ("done", [], "")
    assert all(check["has_passed"] for check in delivery["checks"])
    assert [caveat for caveat in delivery["caveats"] if caveat.startswith("No package index was reached: ")]
    proof = json.loads(Path(delivery["proof"]).read_text())["proof"]
    assert proof["environment"]["source"] == "installed"
    assert {"marimo", "scipy"} <= set(proof["environment"]["packages"])
    assert "No package index was reached" in Path(delivery["report"]).read_text()


@pytest.mark.slow
def test_a_private_research_without_any_network_is_done_and_cited(tmp_path: Path) -> None:
    home, project = tmp_path / "state", tmp_path / "project"
    script.write_documents(project / "papers")
    try:
        ran = program(home, sys.executable, "-m", "tests.cli.researched_alone", home, project, folder=project)
    finally:
        cellwright(home, "serve", "stop", folder=project)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["interfaces"] == ["lo"]
    [(code, said, error), (_, cards, _), _] = told["told"]
    assert code == 0, said[-3000:] + error
    delivery: dict[str, Any] = json.loads(said.splitlines()[-1])
    assert (delivery["status"], delivery["problems"], delivery["why"]) == ("done", [], "")
    assert all(check["has_passed"] for check in delivery["checks"])
    assert "41.2 million euros [1] or 57.9 million euros [2]" in delivery["answer"]
    known = {each["id"]: each["quote"] for each in json.loads(cards)["cards"]}
    assert known == {script.TRUE_CARD: script.REVENUE, script.FALSE_CARD: script.WRONG, script.STAFF_CARD: script.STAFF}
    # A planner, two readers of whom one looks into a letter first, an outliner, two writers, an editor.
    assert told["asked"] == 8
