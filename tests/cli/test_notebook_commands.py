"""`cellwright notebook …` and `doctor`: exit code, stdout and stderr; once as the installed program."""

from __future__ import annotations

import json
import os
import platform
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from dirty_equals import IsFloat, IsInstance, IsPositive, IsStr
from inline_snapshot import snapshot

from tests.cli.in_process import Said, run_here
from tests.conftest import notebook_source

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
Write = Callable[..., Path]


class Commands(Protocol):
    """`cellwright WORDS…` in this process."""

    def __call__(self, *words: str | Path, code: int = 0, stdin: str = "") -> Said: ...


@pytest.fixture
def cellwright(tmp_path: Path) -> Commands:
    def run(*words: str | Path, code: int = 0, stdin: str = "") -> Said:
        return run_here(tmp_path / "home", *map(str, words), code=code, typed=stdin)

    return run


def read(said: Said) -> Any:
    return json.loads(said.stdout)


@pytest.mark.slow
def test_run_answers_with_one_json_object(write_notebook: Write, tmp_path: Path) -> None:
    path = write_notebook("x = 20", "print('hello')\ny = x + 1\ny * 2")
    done = subprocess.run(
        [CELLWRIGHT, "notebook", "run", path, "--json"],
        env=os.environ | {"CELLWRIGHT_HOME": str(tmp_path / "home")},
        capture_output=True,
        check=True,
    )
    result = json.loads(done.stdout)
    assert result == snapshot(
        {
            "cells": [
                {
                    "id": "Hbol",
                    "name": "Hbol",
                    "status": "ok",
                    "error": None,
                    "console": "",
                    "output": None,
                    "ms": IsFloat(),
                },
                {
                    "id": "MJUe",
                    "name": "MJUe",
                    "status": "ok",
                    "error": None,
                    "console": "hello\n",
                    "output": {"mimetype": "text/html", "text": "42"},
                    "ms": IsFloat(),
                },
            ],
            "stale": [],
            "kernel_end": None,
            "problem": "",
            "sandbox": {
                "tier": IsStr(regex="[ABC]"),
                "limits": {
                    "memory_mb": 4096,
                    "cpu_seconds": None,
                    "wall_seconds": None,
                    "processes": 256,
                    "open_files": 1024,
                    "disk_mb": 2048,
                    "inodes": 200000,
                    "tmp_mb": 512,
                    "output_mb": 64,
                    "kept_files": 10000,
                    "kept_mb": 1024,
                    "keep_seconds": 120.0,
                },
                "hidden": [],
                "left_out": [],
                "volumes": [],
                "is_copied": IsInstance(bool),
            },
            "python": platform.python_version(),
            "kernel_ready_ms": IsPositive(),
            "ok": True,
            "files": [],
            "held_back": None,
        }
    )


@pytest.mark.slow
def test_run_exits_1_when_a_cell_fails_and_shows_why(cellwright: Commands, write_notebook: Write) -> None:
    done = cellwright("notebook", "run", write_notebook("x = 1 / 0"), code=1)
    assert "ZeroDivisionError (line 1): division by zero" in done.stdout


def test_a_file_that_is_no_notebook_is_a_usage_error_with_a_hint(cellwright: Commands, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("print('hi')\n")
    done = cellwright("notebook", "run", path, code=2)
    assert "error:" in done.stderr
    assert "hint:" in done.stderr
    assert done.stdout == ""


def test_unknown_limits_and_modes_are_usage_errors(cellwright: Commands, write_notebook: Write) -> None:
    path = write_notebook("x = 1")
    for words in (("--limit", "memory=lots"), ("--limit", "colour=red"), ("--files", "burn"), ("--data", "/nowhere")):
        said = cellwright("notebook", "run", path, *words, code=2)
        assert ("hint:" in said.stderr, said.stdout) == (True, "")


@pytest.mark.slow
def test_nothing_contains_the_code_at_tier_d_so_it_is_refused_unless_told_otherwise(
    cellwright: Commands, write_notebook: Write
) -> None:
    path = write_notebook("x = 1")
    refused = cellwright("notebook", "run", path, "--tier", "D", code=3)
    assert "--allow-uncontained" in refused.stderr
    assert (
        read(cellwright("notebook", "run", path, "--tier", "D", "--allow-uncontained", "--json"))["sandbox"]["tier"]
        == "D"
    )


@pytest.mark.slow
def test_changed_files_are_kept_by_default_and_dropped_when_asked(cellwright: Commands, write_notebook: Write) -> None:
    path = write_notebook("from pathlib import Path\nPath('out.txt').write_text('made here')")
    made = {"path": "out.txt", "kind": "created", "bytes": 9, "reason": None}
    dropped = read(cellwright("notebook", "run", path, "--files", "drop", "--json"))
    assert dropped["files"] == [{**made, "kept": False}]
    assert not (path.parent / "out.txt").exists()
    kept = read(cellwright("notebook", "run", path, "--json"))
    assert kept["files"] == [{**made, "kept": True}]
    assert (path.parent / "out.txt").read_text() == "made here"


@pytest.mark.slow
def test_of_many_changed_files_none_is_kept_where_nobody_can_be_asked(
    cellwright: Commands, write_notebook: Write
) -> None:
    path = write_notebook(
        "from pathlib import Path\nfor _n in range(30):\n    Path(f'{_n}.txt').write_text('made here')"
    )
    before = sorted(path.parent.iterdir())
    done = cellwright("notebook", "run", path, "--limit", "kept_files=29")
    assert "No file was kept: 30 changed files, 270 bytes: more than 29 files" in " ".join(done.stderr.split())
    assert "--limit kept_files=30" in done.stderr
    assert "and 10 more files" in done.stdout
    assert sorted(path.parent.iterdir()) == before
    result = read(cellwright("notebook", "run", path, "--limit", "kept_files=30", "--json"))
    assert result["held_back"] is None
    assert {file["kept"] for file in result["files"]} == {True}
    assert len([*path.parent.glob("*.txt")]) == 30


@pytest.mark.slow
def test_data_from_elsewhere_is_readable_beside_the_notebook_and_not_writable(
    cellwright: Commands, write_notebook: Write, tmp_path: Path
) -> None:
    sales = tmp_path / "elsewhere" / "sales.csv"
    sales.parent.mkdir()
    sales.write_text("a,b\n1,2\n")
    path = write_notebook(
        "from pathlib import Path\ntext = Path('data/sales.csv').read_text()",
        "try:\n    Path('data/sales.csv').write_text('gone')\n    outcome = 'written'\n"
        "except OSError:\n    outcome = 'refused'\nprint(text, outcome)",
    )
    result = read(cellwright("notebook", "run", path, "--data", sales, "--json"))
    assert result["cells"][-1]["console"] == "a,b\n1,2\n refused\n"
    assert result["files"] == []
    assert sales.read_text() == "a,b\n1,2\n"


@pytest.mark.slow
def test_a_notebook_over_its_wall_time_is_ended_and_says_so(cellwright: Commands, write_notebook: Write) -> None:
    path = write_notebook("import time\ntime.sleep(60)")
    result = read(cellwright("notebook", "run", path, "--limit", "wall=1s", "--json", code=1))
    assert result["kernel_end"]["limit"] == "wall"
    assert result["cells"][0]["status"] == "lost"


@pytest.mark.slow
def test_a_notebook_over_its_memory_is_ended_and_says_so(cellwright: Commands, write_notebook: Write) -> None:
    path = write_notebook("blocks = []\nfor _ in range(64):\n    blocks.append(b'x' * (16 << 20))")
    result = read(cellwright("notebook", "run", path, "--limit", "memory=300m", "--json", code=1))
    end, cell = result["kernel_end"], result["cells"][0]
    if result["sandbox"]["tier"] == "A":
        assert (end["out_of_memory"], cell["status"]) == (True, "lost")
    else:
        assert cell["error"]["type"] == "MemoryError"


@pytest.mark.slow
def test_apply_edits_runs_what_they_affect_and_saves(
    cellwright: Commands, write_notebook: Write, tmp_path: Path
) -> None:
    path = write_notebook("x = 1", "y = x + 1")
    edits = tmp_path / "edits.json"
    edits.write_text(json.dumps([{"op": "edit", "cell": "Hbol", "base_version": 1, "code": "x = 10"}]))
    result = read(cellwright("notebook", "apply", path, edits, "--json"))
    assert [cell["id"] for cell in result["cells"]] == ["Hbol", "MJUe"]
    assert result["saved"] is True
    assert "x = 10" in path.read_text()


@pytest.mark.slow
def test_apply_refuses_a_stale_edit_with_both_texts_and_exit_code_3(
    cellwright: Commands, write_notebook: Write
) -> None:
    path = write_notebook("x = 1")
    before = path.read_text()
    edits = json.dumps([{"op": "edit", "cell": "Hbol", "base_version": 7, "code": "x = 10"}])
    result = read(cellwright("notebook", "apply", path, "-", "--json", stdin=edits, code=3))
    assert result["refused"]["current"] == "x = 1"
    assert result["refused"]["wanted"] == "x = 10"
    assert path.read_text() == before


@pytest.mark.slow
def test_apply_says_which_edit_and_field_is_wrong(cellwright: Commands, write_notebook: Write) -> None:
    done = cellwright(
        "notebook", "apply", write_notebook("x = 1"), "-", stdin='[{"op": "edit", "cell": "Hbol"}]', code=2
    )
    assert "base_version" in done.stderr


def test_show_draws_the_graph_without_running_anything(cellwright: Commands, write_notebook: Write) -> None:
    path = write_notebook("x = 1", "y = x + 1", "from os import *")
    shown = read(cellwright("notebook", "show", path, "--json"))
    first, second, broken = shown["cells"]
    assert (first["defs"], first["children"]) == (["x"], [second["id"]])
    assert (second["refs"], second["parents"]) == (["x"], [first["id"]])
    assert broken["problems"]


@pytest.mark.slow
def test_ctrl_c_stops_the_run_cleanly_and_leaves_no_process(write_notebook: Write) -> None:
    path = write_notebook("import time\nprint('on', flush=True)\ntime.sleep(600)")
    # A daemon of the person's own would lend it the process that is forked.
    environment = os.environ | {"CELLWRIGHT_HOME": str(Path(path).parent / "state")}
    process = subprocess.Popen(
        [CELLWRIGHT, "notebook", "run", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=environment,
    )
    children: set[int] = set()
    while len(children) < 2 and process.poll() is None:
        children |= _descendants(process.pid)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert not {pid for pid in children if _is_alive(pid)}


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = {int(child) for child in task.read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            found |= {child} | _descendants(child)
    return found


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_doctor_tells_the_tier_and_every_missing_protection(cellwright: Commands) -> None:
    report = read(cellwright("doctor", "--json"))
    assert report["ok"] is True
    assert report["sandbox"]["tier"] in ("A", "B", "C")
    assert all(item["consequence"] for item in report["sandbox"]["protections"] if not item["present"])
    told = {check["name"]: check["detail"] for check in report["checks"]}
    assert {"python", "marimo", "memory pages", "zygote", "disk"} <= told.keys()
    assert told["python"].startswith(platform.python_version())
    assert f"SQLite {sqlite3.sqlite_version}" in told["python"]


def test_the_program_says_what_it_can_do(cellwright: Commands) -> None:
    assert "notebook" in cellwright("--help").stdout


@pytest.mark.slow
def test_a_python_that_is_not_there_is_said_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = tmp_path / "project" / "notebook.py"
    path.parent.mkdir()
    path.write_text('# /// script\n# requires-python = ">=3.19"\n# ///\n' + notebook_source("x = 1"))
    said = run_here(tmp_path / "state", "notebook", "run", str(path), code=2).stderr
    assert "requires Python >=3.19" in " ".join(said.split())
    assert "python install 3.19" in " ".join(said.split())
    assert "--python ours" in said
    said = run_here(tmp_path / "state", "notebook", "run", str(path), "--python", "3.19", code=2).stderr
    assert "Unknown --python '3.19'." in said


@pytest.mark.slow
def test_ours_runs_a_notebook_whose_header_no_installed_python_fits_and_says_which_it_was(
    cellwright: Commands, write_notebook: Write
) -> None:
    path = write_notebook("import sys\nprint(sys.version_info[:3])")
    path.write_text('# /// script\n# requires-python = ">=3.19"\n# ///\n' + path.read_text())
    ran = read(cellwright("notebook", "run", path, "--python", "ours", "--json"))
    assert (ran["ok"], ran["python"]) == (True, platform.python_version())
    assert ran["cells"][0]["console"] == f"{sys.version_info[:3]}\n"
    assert f"Python {platform.python_version()}" in cellwright("notebook", "run", path, "--python", "ours").stderr
