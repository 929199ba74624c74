"""Cells as the analyst drafts them, written into a notebook, run in a real kernel on real files, and looked at."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cellwright.analyst.drafts import CellDraft, Section
from cellwright.data.files import parse_data
from cellwright.kernel.observation import CellOutcome, Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import CellConfig
from cellwright.notebook.edits import AtEnd, AtStart, CreateCell
from cellwright.notebook.marimo_check import check, tests_code, tests_in
from cellwright.notebook.source_text import variable_name
from cellwright.profiles.profile import Profile, ProfileRequest, profile_json, read_profile
from cellwright.runs.deliver.cleanup import is_readable
from cellwright.runs.goal.new_notebook import new_notebook_text
from cellwright_guest.profiling.profiler import profile_tables
from cellwright_guest.profiling.readers.reader import read_tables

_PROBES = ("probe_", "checked_")
Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@dataclass(slots=True, kw_only=True)
class SectionNotebook:
    """An open notebook that knows its data files, to which sections are added."""

    notebook: OpenNotebook
    paths: Mapping[str, str]
    """Each file or folder, relative to the project → its variable: what `name_tables` takes."""

    async def write(self, *sections: Section | CellDraft) -> Observation:
        """Write the cells and run what follows from them. Fails the test if one of them fails."""
        observation = await self.notebook.apply([_creation(draft) for draft in _drafts(sections)], seconds=120)
        assert observation.refused is None, observation.refused
        assert not observation.problem, observation.problem
        failed = [(cell.name, cell.status, cell.error) for cell in observation.cells if cell.status != "ok"]
        assert not failed, failed
        return observation

    async def values(self, *names: str) -> dict[str, Any]:
        """Plain variables whole, as JSON says them; of a `mo.ui` element its value."""
        found = await self.notebook.values(names, tokens=4_000)
        assert all(value.is_whole for value in found.values()), {name: value.preview for name, value in found.items()}
        return {name: value.json for name, value in found.items()}

    async def evaluate(self, expression: str) -> Any:
        """What an expression gives in the live notebook: plain values only. Leaves a cell behind."""
        name = self._free("probe")
        await self.write(CellDraft(name=name, code=f"{name} = {expression}"))
        return (await self.values(name))[name]

    def outcome(self, cell: str) -> CellOutcome:
        """The latest outcome of the cell of this name."""
        (found,) = self.notebook.document.named(cell)
        return self.notebook.outcomes[found.id]

    def shown(self, cell: str) -> str:
        """What the cell shows, as text for a model; markdown as it is drawn."""
        output = self.outcome(cell).output
        return output.text if output else ""

    async def complaints(self) -> list[str]:
        """What a reader or `marimo check` would find fault with; the cells of these probes aside."""
        document = self.notebook.document
        served = replace(document, cells=tuple(cell for cell in document.cells if not cell.name.startswith(_PROBES)))
        findings = await check(served)
        return [*is_readable(served), *(f"{each.code} {each.message}" for each in findings)]

    async def check_results(self) -> dict[str, str]:
        """Every test function in the notebook run there: its name → `passed`, or what is wrong."""
        tests = [test for cell in self.notebook.document.cells for test in tests_in(cell.code)]
        if not tests:
            return {}
        name = self._free("checked")
        await self.write(CellDraft(name=name, code=tests_code(name, tests, tests)))
        results = (await self.values(name))[name]
        return {each["name"]: each["outcome"] if not each["message"] else each["message"] for each in results}

    def _free(self, word: str) -> str:
        return f"{word}_{len(self.notebook.document.cells)}"


@asynccontextmanager
async def open_section_notebook(opened: Opener, project: Path, *data: str) -> AsyncGenerator[SectionNotebook]:
    """A new notebook in the project as a run begins it, with these files and folders of the project."""
    path = project / "notebook.py"
    files = parse_data(data, here=project, notebook=path, project=project)
    path.write_text(new_notebook_text("What the data says", files))
    taken, paths = set[str](), dict[str, str]()
    for each, file in zip(data, files, strict=True):
        paths[each] = variable_name(file.name, is_folder=file.is_folder, taken=taken)
        taken.add(paths[each])
    async with opened(path=path) as notebook:
        written = SectionNotebook(notebook=notebook, paths=paths)
        await notebook.run("all")
        yield written


def _drafts(sections: Iterable[Section | CellDraft]) -> Sequence[CellDraft]:
    return [draft for each in sections for draft in (each.cells if isinstance(each, Section) else (each,))]


def _creation(draft: CellDraft) -> CreateCell:
    return CreateCell(
        code=draft.code,
        name=draft.name,
        config=CellConfig(hide_code=draft.is_words),
        place=AtStart() if draft.at_start else AtEnd(),
    )


def profile_of(project: Path, *paths: str, most_rows: int = 200_000) -> Profile:
    """The real profile of files in the project, through the same bytes that leave the cage."""
    with chdir(project), warnings.catch_warnings():
        # In the cage nobody hears them: what matters is the answer.
        warnings.simplefilter("ignore")
        tables, skipped, notes = read_tables(ProfileRequest(paths=paths, most_rows=most_rows))
        return read_profile(profile_json(profile_tables(tables, skipped, notes)))
