"""A question asked of files, answered by the analyst's own cells: run in this process, in the order of their graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import marimo

from cellwright.analyst.answers.answer import answer_of
from cellwright.analyst.answers.notebook import ShortNotebook, short_notebook
from cellwright.analyst.drafts import CellDraft, TestRow
from cellwright.analyst.goal.question import DeclinedQuestion, Question
from cellwright.analyst.goal.question_reader import read_question
from cellwright.analyst.names import name_tables
from cellwright.ids import CellId
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.source_text import literal, variable_name
from cellwright.profiles.profile import Profile
from tests.analyst.sections.section_notebook import profile_of


@dataclass(slots=True, kw_only=True)
class Files:
    """Data files in a folder, looked at once."""

    folder: Path
    names: tuple[str, ...]
    profile: Profile = field(init=False)

    def __post_init__(self) -> None:
        self.profile = profile_of(self.folder, *self.names)

    @property
    def paths(self) -> dict[str, str]:
        taken, paths = set[str](), dict[str, str]()
        for name in self.names:
            paths[name] = variable_name(Path(name).name, is_folder=False, taken=taken)
            taken.add(paths[name])
        return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, its cells, and what they came to."""

    question: Question
    notebook: ShortNotebook
    values: dict[str, Any]

    @property
    def told(self) -> dict[str, Any]:
        return self.values["told"]

    @property
    def words(self) -> str:
        """Everything that is said."""
        return " ".join([self.told["headline"], *(each["says"] for each in self.told["findings"]), *self.told["trust"]])


def ask(files: Files, words: str, tests: Sequence[TestRow] = ()) -> Asked | DeclinedQuestion:
    """The answer, with every cell run and every check of the notebook passed."""
    question = read_question(words, files.profile)
    return answered(files, question, tests) if isinstance(question, Question) else question


def answered(files: Files, question: Question, tests: Sequence[TestRow] = ()) -> Asked | DeclinedQuestion:
    names = name_tables(files.profile, files.paths)
    answer = answer_of(question, files.profile, names, tests)
    if isinstance(answer, DeclinedQuestion):
        return answer
    notebook = short_notebook(answer.story, answer.frame, names, files.profile)
    places = "\n".join(
        f"{variable} = Path({literal(str(files.folder))}) / {literal(path)}" for path, variable in files.paths.items()
    )
    first = [CellDraft(name="data_files", code=f"from pathlib import Path\n{places}")]
    values = run_cells([*first, *notebook.data, *notebook.answer])
    for name, value in values.items():
        if name.startswith("test_"):
            value()
    return Asked(question=question, notebook=notebook, values=values)


def run_cells(cells: Sequence[CellDraft]) -> dict[str, Any]:
    """The variables of cells that were run in the order in which they need each other."""
    document = Document(cells=tuple(Cell(id=CellId(f"cell-{at}"), code=cell.code) for at, cell in enumerate(cells)))
    nodes = graph(document).nodes
    names: dict[str, Any] = {"mo": marimo}
    left = {cell.id: cell for cell in document.cells}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while left:
            ready = [one for one in left if not any(other in left for other in _needed(nodes, one))]
            assert ready, "cells need each other in a circle"
            for one in ready:
                exec(compile(left.pop(one).code, f"<{one}>", "exec"), names)  # the analyst's own cells
    return names


def _needed(nodes: Any, cell: Any) -> list[Any]:
    refs = set(nodes[cell].refs)
    return [other for other, node in nodes.items() if other != cell and refs & set(node.defs)]
