"""What the analyst says of data before it writes anything: here looked at without a cage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cellwright.analyst.profile import Profile
from cellwright.notebook import Document
from cellwright.runs import Goal
from cellwright.runs.execute.analyst_sections import DataOverview, read_data_overview
from tests.analyst.writing.serving import profiled


@dataclass(frozen=True, slots=True, kw_only=True)
class NearEyes:
    """Sees files of the project by their own names."""

    project: Path

    async def data_files(self) -> tuple[Path, ...]:
        return tuple(sorted(self.project.iterdir()))

    async def profile(self, named: Sequence[tuple[Path, str]]) -> Profile:
        return profiled(self.project, *(name for _, name in named))


async def seen(project: Path, **files: str) -> DataOverview:
    for name, text in files.items():
        (project / f"{name}.csv").write_text(text)
    data = tuple(str(project / f"{name}.csv") for name in files)
    goal = Goal(words="Tell me.", notebook=str(project / "first.py"), project=str(project), data=data, person="ada")
    return await read_data_overview(goal, NearEyes(project=project), Document())


async def test_data_without_a_row_is_refused_with_what_it_lacks(project: Path) -> None:
    data = await seen(project, names="a,b,c\n", nothing="")
    assert data.problem == (
        "None of the data can be used: nothing.csv: it is empty; "
        "names: it has names of columns, but no rows. Name other files with --data."
    )
    assert data.sources == ()


async def test_one_table_with_rows_is_enough(project: Path) -> None:
    data = await seen(project, names="a,b,c\n", numbers="a,b\n1,2\n3,4\n")
    assert data.problem == ""
    assert [(source.shown, source.variable) for source in data.sources] == [
        ("names.csv", "names_csv"),
        ("numbers.csv", "numbers_csv"),
    ]
