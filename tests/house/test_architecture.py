"""What docs/architecture.md draws and names is there, and what docs/glossary.md explains; nothing is imported."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.places import ROOT, SOURCE, modules, read_toml
from tests.house.test_names import class_names

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
REFERENCE = re.compile(r"`((?:cellwright|cellwright_cells|cellwright_guest|web/src|tests)/[\w./-]*)(?::([\w.]+))?`")
MOST_HOPS = 10


def references(page: str) -> list[tuple[str, str]]:
    """Every file or folder a page names, with the symbol, or nothing, that it names in it."""
    return sorted(set(REFERENCE.findall(page)))


def is_there(file: str, symbol: str) -> bool:
    """Whether the repository has this file or folder, and the file defines this symbol."""
    path = (SOURCE if file.startswith("cellwright") else ROOT) / file
    if not symbol:
        return path.is_dir() if file.endswith("/") else path.is_file()
    if not path.is_file():
        return False
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return has_symbol(ast.parse(source).body, symbol.split("."))
    return re.search(rf"^export (?:function|const|class|type) {symbol}\b", source, re.MULTILINE) is not None


def has_symbol(body: list[ast.stmt], path: list[str]) -> bool:
    """Whether these statements define the first name, and what defines it the others, one in the other."""
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner) | ast.FunctionDef(name=name, body=inner):
                names = [name]
            case ast.AsyncFunctionDef(name=name, body=inner):
                names = [name]
            case ast.Assign(targets=targets):
                names, inner = [each.id for each in targets if isinstance(each, ast.Name)], []
            case ast.AnnAssign(target=ast.Name(id=name)):
                names, inner = [name], []
            case _:
                continue
        if path[0] in names:
            return len(path) == 1 or has_symbol(inner, path[1:])
    return False


def journeys(page: str) -> dict[str, list[int]]:
    """The numbers of the hops of each journey, by its heading."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    found = {text.split("\n", 1)[0]: re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE) for text in sections}
    return {title: [int(hop) for hop in hops] for title, hops in found.items() if hops}


def drawn_floors(page: str) -> list[set[str]]:
    """The rooms of each line of the picture, from the top; the guest, and what notebooks write, behind the wall."""
    lines = re.findall(r"^ [^│\n]*│([^│\n]+)│", page, flags=re.MULTILINE)
    floors = [{room.strip() for room in line.split("·")} for line in lines]
    return [floor for floor in floors if floor not in ({"cellwright_guest"}, {"cellwright_cells"})]


def floors_of_the_contract(source: Path) -> list[set[str]]:
    """The layers of the import contract, without the rooms that do not exist yet."""
    contracts = read_toml(ROOT / "pyproject.toml")["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rooms = {path.stem for path in (source / "cellwright").iterdir()}
    return [{room.strip(" ()") for room in layer.split("|")} & rooms for layer in layers]


@pytest.mark.parametrize(("file", "symbol"), references(PAGE))
def test_what_the_architecture_page_names_exists(file: str, symbol: str) -> None:
    assert is_there(file, symbol)


def test_the_picture_has_the_floors_of_the_import_contract() -> None:
    assert drawn_floors(PAGE) == floors_of_the_contract(SOURCE)


def test_four_journeys_are_told_each_in_at_most_ten_hops() -> None:
    found = journeys(PAGE)
    assert list(found) == ["Goal → first cell", "Approval answer → tool", "Data file → prompt", "Token → browser"]
    assert all(hops == list(range(1, len(hops) + 1)) and len(hops) <= MOST_HOPS for hops in found.values())


@pytest.mark.parametrize(
    ("file", "symbol"),
    [
        ("cellwright/agents/lop.py", "work"),
        ("cellwright/agents/loop.py", "wrok"),
        ("cellwright/journal/log.py", "EventLog.nothing"),
        ("cellwright/lanes/", ""),
        ("web/src/api/stream.ts", "folow"),
    ],
)
def test_a_name_that_is_gone_is_found(file: str, symbol: str) -> None:
    assert not is_there(file, symbol)


def test_every_noun_of_the_glossary_names_a_class() -> None:
    nouns = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").split("## Old names", 1)[0]
    classes = {name for path in modules() for name in class_names(path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"`([A-Z][a-z]\w+)`", nouns)) - classes == set()
