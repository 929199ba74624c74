"""`cellwright notebook verify` and `proof` through the door: what they tell, how they end, and what a kill leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from tests.cli.in_process import run_here
from tests.kernel.test_environment_kernels import needed_by, tiny_wheel, wheel_of

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
Write = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


def told(home: Path, *words: str | Path, code: int = 0) -> Any:
    return json.loads(run_here(home, "notebook", *map(str, words), "--json", code=code).stdout)


def kept(home: Path) -> list[str]:
    """Everything on the shelf, half or whole."""
    return sorted(path.name for path in home.glob("proofs/**/*") if path.is_file())


@pytest.mark.slow
def test_a_verified_notebook_has_a_proof_that_holds_until_something_changes(
    home: Path, write_notebook: Write, tmp_path: Path
) -> None:
    path = write_notebook("import csv\nrows = list(csv.reader(open('data/sales.csv')))", "len(rows)")
    data, out = tmp_path / "elsewhere" / "sales.csv", tmp_path / "proof.json"
    data.parent.mkdir()
    data.write_text("n\n1\n")
    before = path.read_bytes()
    view = told(home, "verify", path, "--data", data, "--out", out)
    assert (view["verified"], view["reasons"], view["environment"]["has_header"]) == (True, [], False)
    assert view["data"] == [{"path": "data/sales.csv", "sha256": view["data"][0]["sha256"], "bytes": 4, "why": "given"}]
    assert json.loads(out.read_text()) == json.loads(Path(view["stored"]).read_text())
    assert json.loads(out.read_text())["proof"] == view["proof"]["proof"]
    assert path.read_bytes() == before

    said = run_here(home, "notebook", "proof", str(path)).stdout
    assert "nothing has changed since" in said
    data.write_text("n\n1\n2\n")
    changed = told(home, "proof", path, code=1)
    assert (changed["trust"], changed["sound"]) == ("ours", False)
    assert changed["changes"] == [{"about": "data", "text": "data/sales.csv changed (4 → 6 bytes)"}]
    path.write_text(path.read_text().replace("len(rows)", "len(rows) + 1"))
    said = run_here(home, "notebook", "proof", str(path), code=1).stdout
    assert "code: cell 2 changed" in said
    assert "data: data/sales.csv changed" in said

    # Elsewhere: the same proof under another key, then one that somebody improved.
    elsewhere = tmp_path / "another state"
    assert told(elsewhere, "proof", path, "--proof", out, code=1)["trust"] == "unknown key"
    out.write_text(out.read_text().replace('"tier": "', '"tier": "A'))
    tampered = run_here(home, "notebook", "proof", str(path), "--proof", str(out), code=1)
    assert "signature does not hold" in tampered.stderr
    assert "hint:" in tampered.stderr


@pytest.mark.slow
def test_a_package_that_would_be_another_today_is_named(
    home: Path, write_notebook: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name in needed_by("marimo", "msgspec"):
        wheel_of(name, wheels)
    tiny_wheel(wheels)
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    monkeypatch.setenv("UV_OFFLINE", "1")
    path = write_notebook("import tiny_tool\ntiny_tool.shout('hi')")
    path.write_text('# /// script\n# dependencies = ["tiny-tool"]\n# ///\n\n' + path.read_text())
    view = told(home, "verify", path)
    assert (view["verified"], view["environment"]["has_header"]) == (True, True)
    assert told(home, "proof", path)["sound"]
    kept_wheel, new_wheel = (wheels / f"tiny_tool-{version}-py3-none-any.whl" for version in ("1.2", "1.3"))
    with zipfile.ZipFile(kept_wheel) as old, zipfile.ZipFile(new_wheel, "w") as new:
        for name in old.namelist():
            new.writestr(name.replace("1.2", "1.3"), old.read(name).replace(b"1.2", b"1.3"))
    changed = told(home, "proof", path, code=1)
    assert changed["changes"] == [{"about": "environment", "text": "tiny-tool 1.2 → 1.3"}]
    for wheel in wheels.glob("tiny_tool*"):
        wheel.unlink()
    (gone,) = told(home, "proof", path, code=1)["changes"]
    assert gone["text"].startswith("it is not to be had any more")


@pytest.mark.slow
def test_a_notebook_runs_on_the_minor_version_its_header_wants_and_its_proof_names_that_one(
    home: Path, write_notebook: Write
) -> None:
    minor, version = another_python()
    path = write_notebook(f"import sys\nassert sys.version_info[:2] == (3, {minor})", "print(sys.version_info[:3])")
    header = f'# /// script\n# requires-python = "==3.{minor}.*"\n# dependencies = ["marimo"]\n# ///\n\n'
    path.write_text(header + path.read_text())
    view = told(home, "verify", path)
    assert (view["verified"], view["reasons"]) == (True, [])
    assert view["proof"]["proof"]["tools"]["python"] == version


def another_python() -> tuple[int, str]:
    """Minor and whole version of an installed Python that is not ours; ours where this machine has no other."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    command = [find_uv_bin(), "python", "list", "--only-installed", "--no-python-downloads", "--output-format", "json"]
    listed = [Path(python["path"]) for python in json.loads(subprocess.check_output(command))]
    found = dict[int, list[tuple[int, ...]]]()
    for python in {*listed, *versions.glob("*/bin/python")}:
        told = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True)
        if re.fullmatch(r"3\.1[1-4]\.\d+", told.strip()):
            _, minor, patch = map(int, told.split("."))
            found.setdefault(minor, []).append((3, minor, patch))
    found.pop(sys.version_info.minor, None)
    minor = max(found, default=sys.version_info.minor)
    newest = max(found[minor]) if found else sys.version_info[:3]
    return minor, ".".join(map(str, newest))


@pytest.mark.slow
def test_a_notebook_that_is_not_verified_says_why_and_leaves_no_proof(home: Path, write_notebook: Write) -> None:
    path = write_notebook("import random\nrandom.random()", "def test_it():\n    assert 1 == 2")
    said = run_here(home, "notebook", "verify", str(path), code=1)
    assert "cell 1 (import random): its output differs between two runs" in said.stdout
    assert "check test_it" in said.stdout
    assert "not verified" in said.stdout
    assert "first run: 2/2" in said.stderr
    assert "second run: 2/2" in said.stderr
    assert "hint:" in said.stderr
    assert kept(home) == []
    none = run_here(home, "notebook", "proof", str(path), code=1)
    assert "There is no proof of this notebook" in none.stderr
    assert "hint:" in none.stderr


def test_wrong_words_are_usage_errors(home: Path, write_notebook: Write, tmp_path: Path) -> None:
    path = write_notebook("x = 1")
    (tmp_path / "script.py").write_text("print('hi')\n")
    run_here(home, "notebook", "verify", str(tmp_path / "script.py"), code=2)
    run_here(home, "notebook", "verify", str(path), "--tier", "Z", code=2)
    run_here(home, "notebook", "verify", str(path), "--timeout", "-1", code=2)
    run_here(home, "notebook", "verify", str(path), "--data", "/nowhere/at/all", code=2)
    assert (
        "never goes into the notebook"
        in run_here(home, "notebook", "verify", str(path), "--out", str(path), code=2).stderr
    )
    run_here(home, "notebook", "proof", str(path), "--proof", str(tmp_path / "gone.json"), code=2)
    assert "not a proof" in run_here(home, "notebook", "proof", str(path), "--proof", str(path), code=2).stderr
    assert kept(home) == []


def test_where_nothing_contains_the_code_it_is_refused(home: Path, write_notebook: Write) -> None:
    refused = run_here(home, "notebook", "verify", str(write_notebook("x = 1")), "--tier", "D", code=3)
    assert "--allow-uncontained" in refused.stderr


@pytest.mark.slow
def test_a_cell_that_never_ends_is_stopped(home: Path, write_notebook: Write) -> None:
    path = write_notebook("while True:\n    pass")
    view = told(home, "verify", path, "--timeout", "4", code=1)
    assert [reason["text"] for reason in view["reasons"]] == ["cell 1 (while True:): did not end in 4 s"]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)], ids=["kill -9", "Ctrl-C"])
def test_ended_in_the_middle_it_leaves_no_half_proof(
    home: Path, write_notebook: Write, way: signal.Signals, code: int
) -> None:
    path = write_notebook("x = 1", "import time\nwhile x:\n    time.sleep(0.1)")
    process = subprocess.Popen(
        [CELLWRIGHT, "notebook", "verify", path],
        env=os.environ | {"CELLWRIGHT_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        assert any("first run: 1/2" in line for line in iter(process.stderr.readline, ""))
        process.send_signal(way)
        out, _ = process.communicate(timeout=300)
    assert process.returncode == code
    assert out == ""
    assert kept(home) == []
    assert told(home, "proof", path, code=1)["trust"] == "no proof"
