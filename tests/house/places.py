"""Where things stand in the repository, and which files belong to it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
VENV_BIN = Path(sys.executable).parent


def tracked_files() -> list[Path]:
    """Every file git knows or would take up: what a clone would hold."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def modules(root: Path = SOURCE) -> Iterator[Path]:
    """Every Python file of our packages; what is hidden there, the bench's peers for one, is not ours."""
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def pages() -> list[Path]:
    """The documents a person reads: the README and everything under docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as plain values."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
