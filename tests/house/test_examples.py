"""The bundled examples are ordinary notebooks that run anywhere, from data anyone can make again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.places import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_an_example_runs_as_a_plain_script_on_the_base_packages(notebook: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    script = tmp_path / "examples" / notebook.name
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_bundled_data_is_what_its_generator_writes(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/data/make_penguins.py", tmp_path)
    subprocess.run([sys.executable, tmp_path / "make_penguins.py"], check=True)
    assert (tmp_path / "penguins.csv").read_bytes() == (ROOT / "examples/data/penguins.csv").read_bytes()
