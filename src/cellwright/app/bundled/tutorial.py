"""The tutorial: a notebook that explains itself in three minutes."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Final

from cellwright.app.bundled.placing import place_new

TUTORIAL_TITLE: Final = "Cellwright in three minutes"


def write_tutorial(folder: Path) -> Path:
    """The tutorial as a notebook in this folder; one that was worked in stays, and a new one lies beside it.

    Raises `UserError`. Blocking.
    """
    # Kept under another name: of our own code, only the doorkeepers import marimo.
    notebook = importlib.resources.files("cellwright.app.bundled") / "data" / "tutorial.py.txt"
    return place_new(folder, "tutorial.py", notebook.read_bytes())
