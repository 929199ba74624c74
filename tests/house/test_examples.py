"""The bundled examples are ordinary notebooks that run anywhere, from data anyone can make again."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.house.places import ROOT
from tests.sampling import some

EXAMPLES = ROOT / "examples"
GENERATORS = sorted(EXAMPLES.glob("*/make_*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.py"))


def made(folder: Path) -> dict[str, bytes]:
    """Every file of a folder; of a database what it holds, because its file names the version that wrote it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): _content(path) for path in files}


def _content(path: Path) -> bytes:
    if path.suffix != ".db":
        return path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        return "\n".join(database.iterdump()).encode()


@pytest.mark.parametrize("notebook", some(NOTEBOOKS, 0), ids=lambda path: path.name)
def test_an_example_runs_as_a_plain_script_on_the_base_packages(notebook: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    script = tmp_path / "examples" / notebook.name
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.sampled(4)
@pytest.mark.parametrize("generator", GENERATORS, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_the_bundled_data_is_what_its_generator_writes(generator: Path, tmp_path: Path) -> None:
    before = made(generator.parent)
    shutil.copy(generator, tmp_path)
    subprocess.run([sys.executable, "-B", tmp_path / generator.name], check=True)
    (tmp_path / generator.name).unlink()
    after = made(tmp_path)
    assert after
    assert {name: before.get(name) for name in after} == after
