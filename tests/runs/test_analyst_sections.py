"""What the analyst says of data before it writes anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import Profiler
from cellwright.notebook.document import Document
from cellwright.runs.execute.analyst_sections import DataOverview, read_data_overview
from cellwright.runs.goal.goal import Goal
from cellwright.sandbox.host.tiers import probe


async def seen(pool: KernelPool, project: Path, **files: str) -> DataOverview:
    for name, text in files.items():
        (project / f"{name}.csv").write_text(text)
    data = tuple(str(project / f"{name}.csv") for name in files)
    goal = Goal(words="Tell me.", notebook=str(project / "first.py"), project=str(project), data=data, person="ada")
    return await read_data_overview(goal, Profiler(pool=pool, tier=probe().tier), None, Document())


@pytest.mark.slow
async def test_data_without_a_row_is_refused_with_what_it_lacks(pool: KernelPool, project: Path) -> None:
    data = await seen(pool, project, names="a,b,c\n", nothing="")
    assert data.problem == (
        "None of the data can be used: nothing.csv: it is empty; "
        "names: it has names of columns, but no rows. Name other files as data."
    )
    assert data.sources == ()


@pytest.mark.slow
async def test_one_table_with_rows_is_enough(pool: KernelPool, project: Path) -> None:
    data = await seen(pool, project, names="a,b,c\n", numbers="a,b\n1,2\n3,4\n")
    assert data.problem == ""
    assert [(source.shown, source.variable) for source in data.sources] == [
        ("names.csv", "names_csv"),
        ("numbers.csv", "numbers_csv"),
    ]


async def test_the_projects_own_data_is_found_and_stored_with_no_path_that_leads_out_of_a_folder(
    pool: KernelPool, project: Path
) -> None:
    (project / "raw").mkdir()
    (project / "raw/hens.csv").write_text("day,eggs\n2024-01-01,4\n2024-01-02,5\n")
    (project / "settings.json").write_text("{}")
    goal = Goal(words="Hens?", notebook=str(project / "work/n.py"), project=str(project), person="ada")
    data = await read_data_overview(goal, Profiler(pool=pool, tier=probe().tier), None, Document())
    assert [source.shown for source in data.sources] == ["raw/hens.csv"]
    assert [table.reading.path for table in data.read().tables] == ["raw/hens.csv"]
    assert 'hens_csv = mo.notebook_dir() / "../raw/hens.csv"' in data.code
