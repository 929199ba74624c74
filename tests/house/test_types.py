"""What the type checker must find, however its settings change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.house.places import ROOT, VENV_BIN

MISTAKES = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Literal, assert_never, cast
import anyio
from typing_extensions import deprecated

@dataclass
class In: ...
@dataclass
class Out: ...
class Base:
    def go(self, way: In) -> None: ...
LIMIT = 3
@deprecated("Use new().")
def old() -> None: ...

async def await_(tasks: anyio.abc.TaskGroup) -> None:
    anyio.sleep(1)  # unused-coroutine
    tasks.start_soon(old)  # bad-argument-type deprecated

def case_(way: In | Out, word: Literal["in", "out"]) -> None:
    match way:  # non-exhaustive-match-open-type
        case In(): pass
    if word == "in":
        return
    assert_never(word)  # bad-argument-type

def types_(one, two: list) -> None: ...  # implicit-any-parameter implicit-any-type-argument

def none_(text: str | None, number: int) -> None:
    print(text.strip())  # missing-attribute
    print(number == "1")  # incompatible-comparison
    print(cast("int", number))  # redundant-cast
    print(number)  # pyrefly: ignore  # unused-ignore
    if number:
        found = 1
    print(found)  # unbound-name

class Derived(Base):
    def go(self, way: Out) -> None: ...  # bad-override
LIMIT = 4  # bad-assignment
"""


def test_a_forgotten_await_case_annotation_or_none_is_found(tmp_path: Path) -> None:
    (file := tmp_path / "mistakes.py").write_text(MISTAKES)
    command = [VENV_BIN / "pyrefly", "check", "--config", ROOT / "pyproject.toml", "--output-format", "json", file]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    found = {(error["line"], error["name"]) for error in json.loads(ran.stdout)["errors"]}
    lines = enumerate(MISTAKES.splitlines(), start=1)
    said = {(number, kind) for number, line in lines for kind in line.rpartition("  # ")[2].split() if "  # " in line}
    assert found == said
    assert ran.returncode == 1
