"""The data of a goal as the analyst meets it: which files, what a profile says of them, which variables reach them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.profile import Profile, Table, one_line, profile_json, read_profile
from cellwright.errors import RefusedByPolicy, Unavailable, UserError
from cellwright.notebook import Document
from cellwright.notebook.wording import literal, variable_name
from cellwright.runs.goal import Goal
from cellwright.runs.new_notebook import COMMENT, DATA_CELL, DataFile, data_code, data_files
from cellwright.runs.place import Eyes
from cellwright.tools.drafted_cells import defined_in

_MOST_FOUND: Final = 12
"""Data files of a project that are looked at when the goal names none."""
_MOST_SAID: Final = 5
NO_DATA: Final = "There is no data to look at: none was named, and none is in the project."
NAME_DATA: Final = "Name files or folders with --data."


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file or folder, and how the notebook reaches it."""

    shown: str
    """What the profile calls it."""
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What the analyst knows before it writes anything. Plain values: a step's result."""

    profile: str = ""
    """As JSON."""
    sources: tuple[Source, ...] = ()
    code: str = ""
    """Of the cell that knows where the files lie; empty: the notebook has it already."""
    taken: tuple[str, ...] = ()
    """Variables and cell names of the notebook before the analyst came."""
    needs_marimo: bool = False
    """No cell imports marimo yet."""
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why there is nothing to go on with, in words; then the rest is empty."""

    def read(self) -> Profile:
        """The profile itself."""
        return read_profile(self.profile.encode())

    @property
    def paths(self) -> dict[str, str]:
        """Each file or folder of the profile, and its variable."""
        return {source.shown: source.variable for source in self.sources}

    def first_cells(self) -> tuple[CellDraft, ...]:
        """What every other cell needs, where the notebook does not have it."""
        marimo = (CellDraft(name="imports", code="import marimo as mo"),) if self.needs_marimo else ()
        return (*marimo, CellDraft(name=DATA_CELL, code=self.code)) if self.code else marimo


async def look_at_data(goal: Goal, eyes: Eyes, document: Document) -> Data:
    """The data of the goal, or of its project; expected failures are said in `problem`."""
    try:
        files, notes = await _files(goal, eyes)
        if not files:
            return Data(problem=f"{NO_DATA} {NAME_DATA}")
        shown = _shown_names(files, Path(goal.project))
        profile = await eyes.profile([(file.source, name) for file, name in zip(files, shown, strict=True)])
    except (UserError, RefusedByPolicy, Unavailable) as problem:
        return Data(problem=f"{problem.message} {problem.hint}".rstrip())
    if not any(table.columns and table.looked_at for table in profile.tables):
        return Data(problem=_unreadable(profile))
    is_known = any(cell.code.strip() == data_code(files).strip() for cell in document.cells)
    # An earlier run of its own is taken up: the names it gave are not somebody else's.
    defined = defined_in(document.cells) if not goal.continues else frozenset[str]()
    cells = document.cells if not goal.continues else ()
    variables = _variables(files, taken=() if is_known else defined)
    return Data(
        profile=profile_json(profile).decode(),
        sources=tuple(Source(shown=name, variable=variable) for name, variable in zip(shown, variables, strict=True)),
        code="" if is_known else _code(files, variables),
        taken=tuple(sorted(defined | {cell.name for cell in cells})),
        needs_marimo="mo" not in defined_in(document.cells),
        notes=notes,
    )


async def _files(goal: Goal, eyes: Eyes) -> tuple[tuple[DataFile, ...], tuple[str, ...]]:
    words, notes = goal.data, tuple[str, ...]()
    if not words:
        found = _nearest(await eyes.data_files(), goal.words)
        words = tuple(str(path) for path in found[:_MOST_FOUND])
        if len(found) > len(words):
            notes = (f"Of the {len(found)} data files of the project {len(words)} were looked at.",)
    notebook, project = Path(goal.notebook), Path(goal.project)
    files = await anyio.to_thread.run_sync(lambda: data_files(words, notebook=notebook, project=project))
    return files, notes


def _nearest(found: Sequence[Path], words: str) -> list[Path]:
    """Those that the goal speaks of first."""
    said = words.casefold()
    return sorted(found, key=lambda path: path.stem.casefold().replace("_", " ") not in said.replace("_", " "))


def _shown_names(files: Sequence[DataFile], project: Path) -> list[str]:
    """What each is called in the profile: never a path that leads out of a folder."""
    inside, names = project.resolve(), list[str]()
    for file in files:
        plain = file.name if file.is_outside else file.source.relative_to(inside).as_posix()
        name, number = plain, 1
        while name in names or name in {"", "."}:
            number += 1
            name = f"{number}-{file.name}"
        names.append(name)
    return names


def _variables(files: Sequence[DataFile], taken: Collection[str]) -> list[str]:
    used, names = set(taken), list[str]()
    for file in files:
        names.append(variable_name(file.name, is_folder=file.is_folder, taken=used))
        used.add(names[-1])
    return names


def _code(files: Sequence[DataFile], variables: Sequence[str]) -> str:
    places = zip(files, variables, strict=True)
    return "\n".join([COMMENT, *(f"{name} = mo.notebook_dir() / {literal(file.place)}" for file, name in places)])


def _unreadable(profile: Profile) -> str:
    why = [f"{one_line(each.path, 200)}: {each.why}" for each in profile.skipped[:_MOST_SAID]]
    why += [f"{one_line(table.name, 200)}: {_lack(table)}" for table in profile.tables[:_MOST_SAID]]
    said = "; ".join(why) or "it is empty"
    return f"None of the data can be used: {said}. Name other files with --data."


def _lack(table: Table) -> str:
    return "it has names of columns, but no rows" if table.columns else "it has no columns"
