"""A new notebook: its title, and one cell through which all its data is reached, wherever that lies."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from cellwright.data.files import DataFile, parse_data
from cellwright.errors import Defect, UserError
from cellwright.notebook.atomic_write import write_new
from cellwright.notebook.document import CellConfig, Document
from cellwright.notebook.edits import CreateCell, Edit, EditRefused, apply_edits
from cellwright.notebook.render import render
from cellwright.notebook.source_text import literal, markdown_text, variable_name
from cellwright.notebook.syntax_trees import walk_syntax
from cellwright.runs.goal.goal import Goal

DATA_CELL: Final = "data_files"
"""The name of the cell that knows where the data lies."""
COMMENT: Final = "# Every data file is reached through this cell: when files move, only this cell changes."
_LONGEST_TITLE: Final = 150
_LONGEST_PATH: Final = 300


def goal_data(goal: Goal) -> tuple[DataFile, ...]:
    """The data a goal names. Raises `UserError` for what is not there any more. Blocking."""
    project = Path(goal.project)
    return parse_data(goal.data, here=project, notebook=Path(goal.notebook), project=project)


def named_data(goal: Goal, document: Document) -> tuple[DataFile, ...]:
    """The files beside its notebook that the notebook's code names, for a goal that names none. Blocking."""
    project, notebook = Path(goal.project), Path(goal.notebook)
    words = [
        node.value
        for cell in document.cells
        for node in walk_syntax(cell.code)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) <= _LONGEST_PATH
    ]
    found = [str(path) for word in dict.fromkeys(words) if (path := _file_in(project, notebook.parent, word))]
    return parse_data(found, here=project, notebook=notebook, project=project)


def _file_in(project: Path, folder: Path, word: str) -> Path | None:
    try:
        path = (folder / word).resolve()
        return path if path.is_file() and path.is_relative_to(project.resolve()) else None
    except (OSError, ValueError):
        return None


# ── its text ──


def new_notebook_text(title: str, data: Sequence[DataFile]) -> str:
    """A marimo notebook with its title, if it has one already, and its data, ready to be worked on."""
    cells: list[Edit] = [CreateCell(code="import marimo as mo", name="imports")]
    line = title_line(title)
    if line:
        cells.append(CreateCell(code=title_code(line), name="title", config=CellConfig(hide_code=True)))
    if data:
        cells.append(CreateCell(code=data_code(data), name=DATA_CELL))
    document = apply_edits(Document.new(options={"app_title": line} if line else {}), cells)
    if isinstance(document, EditRefused):
        raise Defect(f"A new notebook cannot be made: {document.message}")
    return render(document)


def data_code(data: Sequence[DataFile]) -> str:
    """The cell that knows where each file lies, as its path relative to the notebook."""
    places = zip(data_variables(data), data, strict=True)
    lines = [f"{name} = data_folder / {literal(file.place)}" for name, file in places]
    return "\n".join([COMMENT, "data_folder = mo.notebook_dir()", *lines])


def data_variables(data: Sequence[DataFile], taken: Collection[str] = ()) -> list[str]:
    """What the cell calls each file, in order; no name is one that is taken."""
    used, names = set(taken), list[str]()
    for file in data:
        names.append(variable_name(file.name, is_folder=file.is_folder, taken=used))
        used.add(names[-1])
    return names


def title_line(words: str) -> str:
    """One printable line of it."""
    line = "".join(sign if sign.isprintable() else " " for sign in words)
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1].rstrip()}…"


def title_code(line: str, below: str = "") -> str:
    """The markdown cell of a title, as marimo's editor writes it. The words show as they are: no markup, no formula."""
    text = f"# {markdown_text(line)}" + (f"\n\n{markdown_text(below)}" if below else "")
    return f'mo.md(r"""\n{text}\n""")'


# ── its file ──


def create_if_missing(path: Path, text: str) -> bool:
    """Put the notebook there unless something is there already; whether it was put. All or nothing. Blocking.

    Raises `UserError` where no file can be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_new(path, text.encode())
    except OSError as error:
        raise UserError(
            f"Could not create {str(path)!r}: {error.strerror or error}.",
            hint="Check the folder's permissions and free space.",
        ) from error
