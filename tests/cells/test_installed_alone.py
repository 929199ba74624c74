"""`cellwright-cells` as its wheel, in an environment that has nothing else of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
from uv import find_uv_bin

CELLS = Path(__file__).parents[2] / "cells"
SECONDS = 300
OPENED = """
import fsspec
try:
    with fsspec.open("cellwright://lake/orders.csv") as file:
        file.read()
except Exception as problem:
    print(type(problem).__module__, type(problem).__name__, problem)
"""
BARE = """
import cellwright_cells as cellwright
try:
    cellwright.files("lake")
except ImportError as problem:
    print(problem)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel, built here."""
    folder = tmp_path_factory.mktemp("alone")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheels")]
    subprocess.run(built, cwd=CELLS, check=True, capture_output=True, timeout=SECONDS)
    [wheel] = (folder / "wheels").glob("*.whl")
    uv, place = find_uv_bin(), folder / "environment"
    subprocess.run([uv, "venv", "--python", sys.executable, place], check=True, capture_output=True, timeout=SECONDS)
    install = [uv, "pip", "install", "--offline", "--no-deps", "--python", place / "bin/python", wheel]
    subprocess.run(install, check=True, capture_output=True, timeout=SECONDS)
    return place / "bin/python"


def said(python: Path, code: str, folder: Path, more: str = "") -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "CELLWRIGHT_HOME": str(folder)}
    environment |= {"PYTHONPATH": more} if more else {}
    ran = subprocess.run(
        [python, "-c", code], env=environment, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return ran.stdout.strip()


def test_an_address_is_found_by_fsspec_and_says_which_connection_is_missing(python: Path, tmp_path: Path) -> None:
    # fsspec itself, and nothing beside it: the package's own entry point is what is tried.
    site = tmp_path / "site"
    site.mkdir()
    (site / "fsspec").symlink_to(Path(fsspec.__file__).parent)
    told = said(python, OPENED, tmp_path, str(site))
    assert told.startswith("cellwright_cells.replies ConnectionFailed The connection 'lake' is not on this machine")


def test_without_fsspec_it_says_what_to_add(python: Path, tmp_path: Path) -> None:
    assert said(python, BARE, tmp_path) == "Files of connections need fsspec: add it to the notebook's packages."
