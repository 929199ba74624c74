"""A notebook with its data in a real kernel, whose answer is reviewed by code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cellwright.app.notebooks import open_notebook
from cellwright.data.files import DataFile, parse_data
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import Profiler
from cellwright.notebook.edits import EditCell
from cellwright.runs.review.code_review import CodeReview, review_by_code
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.notebook.editor import NotebookEditor
from tests.conftest import notebook_source

_FIRST = ("import marimo as mo\nimport pandas as pd", "folder = mo.notebook_dir()")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedNotebook:
    """An open notebook, its data and what answers."""

    editor: NotebookEditor
    files: tuple[DataFile, ...]
    profiler: Profiler

    async def replace(self, place: int, code: str) -> None:
        """Other code in the cell of this place, those that every notebook has not counted."""
        cell = self.editor.notebook.document.cells[place + len(_FIRST)]
        edit = EditCell(cell=cell.id, base_version=cell.version, code=code)
        came = await self.editor.apply([edit], key=f"test/{cell.id}-{cell.version}")
        assert came.observation.is_ok, came.observation

    async def fill(self, template: str) -> str:
        """The answer with the notebook's values."""
        filled = await self.editor.notebook.side_calls.fill(template)
        assert not filled.error, filled.error
        return filled.text

    async def review(self, goal: str, template: str) -> CodeReview:
        return await review_by_code(
            self.editor,
            goal=goal,
            data=self.files,
            answer=await self.fill(template),
            template=template,
            profiler=self.profiler,
        )

    @property
    def targets(self) -> list[DataFile]:
        """The files as a profile of a review calls them."""
        return [replace(file, place=file.target) for file in self.files]


@asynccontextmanager
async def open_reviewed(
    pool: KernelPool, folder: Path, data: Sequence[str], *cells: str
) -> AsyncGenerator[ReviewedNotebook]:
    """A notebook beside its data, which lies in this folder already, with these cells run."""
    path = folder / "notebook.py"
    path.write_text(notebook_source(*_FIRST, *cells), encoding="utf-8")
    async with open_notebook(path, pool=pool) as notebook:
        editor = await NotebookEditor.open(notebook, folder.parent / "history.json")
        ran = await notebook.run("all")
        assert ran.is_ok, ran
        files = parse_data(data, here=folder, notebook=path, project=folder)
        yield ReviewedNotebook(editor=editor, files=files, profiler=Profiler(pool=pool, tier=probe().tier))
