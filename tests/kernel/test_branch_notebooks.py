"""Whole notebooks, written one cell after the other: each is tried in a branch first, and committed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import marimo
import pytest

from cellwright.kernel.branches.branch import Committed
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Cell
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.files import read
from tests.conftest import notebook_source

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

SHIPPED = Path(marimo.__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
TUTORIALS = sorted((SHIPPED / "_tutorials").glob("*.py"))
OURS = sorted(path for path in EXAMPLES.rglob("*.py") if "\napp = marimo.App(" in path.read_text())
SNIPPETS = [
    SHIPPED / "_snippets" / "data" / f"{name}.py"
    for name in (
        "altair-1", "altair-3", "altair-5", "duckdb-1", "matplotlib-0", "matplotlib-4", "matplotlib-7",
        "pandas-1", "pandas-9", "pandas-17", "polars-0", "polars-2", "polars-8",
    )
]  # fmt: skip
NOTEBOOKS = {path.stem: path for path in (*TUTORIALS, *OURS, *SNIPPETS) if path.name != "__init__.py"}
FEW = ("fileformat",)
PATIENCE_SECONDS = 900

# They draw numbers without a seed: no two runs are the same.
DRAWS = frozenset({"plots", "polars-2", "sql"})
# They show what happens when two cells define one name: the first goes on if it was there first.
NAMES_TWICE = frozenset({"dataflow", "for_jupyter_users"})


def test_there_are_thirty_notebooks() -> None:
    assert len(NOTEBOOKS) >= 30
    assert all(path.exists() for path in NOTEBOOKS.values())


def project_with(source: Path, folder: Path) -> Path:
    """A new notebook without cells, where it finds the data of the one it will become."""
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "pyproject.toml").touch()
    path = project / source.name
    if source in OURS:
        shutil.copytree(EXAMPLES, project, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "*.html", "*.md"))
        path = project / source.relative_to(EXAMPLES)
    path.write_text(notebook_source())
    return path


def told(notebook: OpenNotebook) -> dict[str, object]:
    """How every cell came out, without what differs between two runs anyway."""
    return {
        cell.code: (
            outcome.status,
            outcome.error and (outcome.error.type, _plain(outcome.error.message)),
            outcome.output and (outcome.output.mimetype, _plain(outcome.output.text)),
            [(variable.name, variable.type, _plain(variable.text)) for variable in outcome.variables],
        )
        for cell in notebook.document.cells
        if (outcome := notebook.outcomes.get(cell.id)) is not None
    }


def _plain(text: str) -> str:
    return re.sub(r"0x[0-9a-f]{6,}|random-id='[^']*'|/tmp/marimo_\d+/\S+|\d+(\.\d+)? ?ms", "…", text)


async def plain_run(
    opened: Opener, path: Path, cells: tuple[Cell, ...], *, at_once: bool
) -> tuple[dict[str, object], dict[str, str]]:
    async with opened(path=path) as notebook:
        edits = [_made_again(cell) for cell in cells]
        for some in [edits] if at_once else [[edit] for edit in edits]:
            await notebook.apply(some, cell_seconds=300)
        return told(notebook), await _variables(notebook)


async def cell_by_cell(
    opened: Opener, path: Path, cells: tuple[Cell, ...], *, even_if_different: bool
) -> tuple[dict[str, object], dict[str, str]]:
    async with opened(path=path) as notebook:
        for cell in cells:
            async with notebook.branch() as branch:
                before = told(notebook)
                tried = await branch.apply([_made_again(cell)], cell_seconds=300)
                assert tried.refused is None, tried
                assert tried.method is not None
                assert told(notebook) == before
                committed = await branch.commit(even_if_different=even_if_different)
                assert isinstance(committed, Committed), committed
        return told(notebook), await _variables(notebook)


def _made_again(cell: Cell) -> CreateCell:
    # Some of marimo's own are called `__`, which nobody may give a cell any more.
    name = "_" if cell.name.startswith("__") else cell.name
    return CreateCell(code=cell.code, name=name, config=cell.config, id=None if name == "setup" else cell.id)


async def _variables(notebook: OpenNotebook) -> dict[str, str]:
    return {variable.name: f"{variable.type} {_plain(variable.text)}" for variable in await notebook.look()}


async def both_ways(opened: Opener, name: str, tmp_path: Path) -> tuple[object, object]:
    """What a plain run makes, and what trying and committing does; only the names where numbers are drawn unseeded."""
    source = NOTEBOOKS[name]
    cells = read(source).document.cells
    with anyio.fail_after(PATIENCE_SECONDS):
        plain = await plain_run(
            opened, project_with(source, tmp_path / "plain"), cells, at_once=name not in NAMES_TWICE
        )
        tried = await cell_by_cell(
            opened, project_with(source, tmp_path / "tried"), cells, even_if_different=name in DRAWS
        )
    if name in DRAWS:
        return [[*outcome] for outcome in plain], [[*outcome] for outcome in tried]
    return plain, tried


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
async def test_a_notebook_tried_and_committed_cell_by_cell_is_what_a_plain_run_makes(
    opened: Opener, name: str, tmp_path: Path
) -> None:
    plain, tried = await both_ways(opened, name, tmp_path)
    assert tried == plain


@pytest.mark.slow
@pytest.mark.sampled(len(NOTEBOOKS), often=14)
@pytest.mark.parametrize("name", sorted(NOTEBOOKS.keys() - set(FEW)))
async def test_every_other_notebook_is_too(opened: Opener, name: str, tmp_path: Path) -> None:
    plain, tried = await both_ways(opened, name, tmp_path)
    assert tried == plain
