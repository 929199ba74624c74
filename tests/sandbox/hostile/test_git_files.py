"""A notebook file is hostile before any kernel runs: opening, showing and editing it must not run what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.notebook.consequences import foresee
from cellwright.notebook.edits import CreateCell, EditRefused, apply_edits
from cellwright.notebook.files import read, save
from cellwright.notebook.prompt_summary import summary

HEAD = 'import marimo\n\n__generated_with = "0.25.2"\n'
TAIL = '\n\nif __name__ == "__main__":\n    app.run()\n'
PLANT = "__import__('os').mkdir({canary!r})"
FILES = {
    "before everything": PLANT + "\n" + HEAD + "app = marimo.App()\n" + TAIL,
    "after the app": HEAD + "app = marimo.App()\n" + PLANT + "\n" + TAIL,
    "in the app's options": HEAD + "app = marimo.App(width=" + PLANT + ")\n" + TAIL,
    "in a setup block": HEAD + "app = marimo.App()\n\nwith app.setup:\n    " + PLANT + "\n" + TAIL,
    "in a cell's options": HEAD
    + "app = marimo.App()\n\n@app.cell(hide_code="
    + PLANT
    + ")\ndef _():\n    return\n"
    + TAIL,
    "as a default": HEAD + "app = marimo.App()\n\n@app.function\ndef f(x=" + PLANT + "):\n    return x\n" + TAIL,
    "as a decorator": HEAD + "app = marimo.App()\n\n@(" + PLANT + " or app.cell)\ndef _():\n    return\n" + TAIL,
    "in a class": HEAD + "app = marimo.App()\n\n@app.class_definition\nclass C:\n    " + PLANT + "\n" + TAIL,
}

MARIMO = """
class App:
    def __init__(self, **options): pass
    def __call__(self, *given, **options): return given[0] if given else self
    def __getattr__(self, name): return self
    def __enter__(self): return self
    def __exit__(self, *error): pass
"""
"""As much of it as a file needs to be run."""


@pytest.fixture(params=FILES)
def notebook(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "notebook.py"
    path.write_text(FILES[request.param].format(canary=str(tmp_path / "hatched")), "utf-8")
    return path


def test_python_itself_would_run_it(notebook: Path) -> None:
    (notebook.parent / "marimo.py").write_text(MARIMO, "utf-8")
    subprocess.run([sys.executable, "-S", notebook], capture_output=True, check=False)
    assert (notebook.parent / "hatched").is_dir()


def test_opening_showing_editing_and_saving_runs_nothing_of_it(notebook: Path) -> None:
    try:
        file = read(notebook)
    except UserError:
        assert not (notebook.parent / "hatched").exists()
        return
    edit = CreateCell(code="x = 1")
    summary(file.document, {}, 1_000)
    foresee(file.document, [edit])
    edited = apply_edits(file.document, [edit])
    assert not isinstance(edited, EditRefused)
    save(file, edited)
    assert "x = 1" in notebook.read_text("utf-8")
    assert not (notebook.parent / "hatched").exists()
