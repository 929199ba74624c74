"""Writes what is generated of both clients; with a folder, there instead."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from clients.generator.python_client import python_calls, python_shapes
from clients.generator.typescript_client import typescript_calls

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "web/openapi.json"
PYTHON = Path("clients/python/src/cellwright_client")
TYPESCRIPT = Path("clients/typescript/src")


def generated() -> dict[Path, str]:
    """What each file reads, by its path in the repository."""
    document = json.loads(DOCUMENT.read_text())
    return {
        PYTHON / "shapes.py": formatted(python_shapes(document)),
        PYTHON / "calls.py": formatted(python_calls(document)),
        TYPESCRIPT / "calls.ts": typescript_calls(document),
    }


def formatted(source: str) -> str:
    """Python as the house writes it."""
    ruff = [Path(sys.executable).with_name("ruff"), "format", "--line-length", "120", "-"]
    return subprocess.run(ruff, cwd=ROOT, input=source, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    for path, text in generated().items():
        (ROOT / path).write_text(text)
