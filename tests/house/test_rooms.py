"""Rooms are nouns with a door plate, and nothing is called `utils`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.places import ROOT, SOURCE, modules

NAMELESS = {"utils", "util", "common", "helpers", "helper", "shared", "core", "base", "misc"}
PLATE = ("Owns:", "Above:", "Below:", "Never:")


def nameless_parts(path: Path) -> set[str]:
    """The parts of a module's path that say nothing about what is in it."""
    return {part for part in path.with_suffix("").parts if part.strip("_") in NAMELESS}


def missing_from_plate(source: str) -> list[str]:
    """What a room's docstring does not say."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return [word for word in PLATE if word not in docstring]


def rooms() -> list[Path]:
    """The `__init__` of each room, of the guest, and of what notebooks write."""
    inside = sorted(SOURCE.glob("cellwright/*/__init__.py"))
    return [*inside, *(SOURCE / name / "__init__.py" for name in ("cellwright_cells", "cellwright_guest"))]


def test_no_module_has_a_name_that_says_nothing() -> None:
    ours = [path.relative_to(ROOT) for folder in (SOURCE, ROOT / "tests") for path in modules(folder)]
    assert [str(path) for path in ours if nameless_parts(path)] == []


@pytest.mark.parametrize("path", ["kernel/utils.py", "core/graph.py", "notebook/_helpers.py", "shared/__init__.py"])
def test_a_name_that_says_nothing_is_found(path: str) -> None:
    assert nameless_parts(Path("src/cellwright", path))


@pytest.mark.parametrize("room", rooms(), ids=lambda path: path.parent.name)
def test_a_room_says_what_it_owns_and_who_its_neighbours_are(room: Path) -> None:
    assert missing_from_plate(room.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("room", rooms(), ids=lambda path: path.parent.name)
def test_a_room_is_not_empty(room: Path) -> None:
    assert [path for path in modules(room.parent) if path != room]


@pytest.mark.parametrize("room", rooms(), ids=lambda path: path.parent.name)
def test_a_client_plate_holds_no_logic(room: Path) -> None:
    def is_plate(node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
                return True
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return True
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]):
                return all(is_plate(inner) for inner in body)
            case _:
                return False

    tree = ast.parse(room.read_text(encoding="utf-8"))
    assert [f"{room.parent.name}:{node.lineno}" for node in tree.body if not is_plate(node)] == []


def test_a_plate_without_its_words_is_found() -> None:
    assert missing_from_plate('"""Kernels.\n\nOwns: starting.\n"""') == ["Above:", "Below:", "Never:"]
    assert missing_from_plate("x = 1") == list(PLATE)
