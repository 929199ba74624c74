"""Reading: a short cell per table gives exactly what the file holds, whatever its format."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.tables import step_of, tables_section
from cellwright.profiles.profile import (
    ColumnProfile,
    Format,
    Kind,
    Profile,
    ReadOptions,
    SkippedFile,
    TableProfile,
    Times,
)
from tests.analyst.sections.section_notebook import Opener, open_section_notebook

OVERVIEW = AnalysisRequest(purpose="overview")
FRAME = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
ROWS = [["1", "x"], ["2", None], ["3", "z"]]


def column(name: str, kind: Kind = "text") -> ColumnProfile:
    return ColumnProfile(name=name, kind=kind, meaning="measure", count=3, distinct=3)


def table(
    name: str, reading: ReadOptions, *, rows: int = 3, looked_at: int = 3, files: tuple[str, ...] = ()
) -> TableProfile:
    columns = (column("a", "integer"), column("b"))
    return TableProfile(name=name, reading=reading, rows=rows, looked_at=looked_at, columns=columns, files=files)


async def read_rows(
    opened: Opener, project: Path, tables: Sequence[TableProfile], *data: str
) -> dict[str, list[list[str | None]]]:
    """The rows of each table as the section's cells read them, in text."""
    profile = Profile(tables=tuple(tables))
    async with open_section_notebook(opened, project, *data) as written:
        names = name_tables(profile, written.paths)
        await written.write(tables_section(profile=profile, names=names, wanted=OVERVIEW))
        assert await written.complaints() == []
        assert set((await written.check_results()).values()) == {"passed"}
        rows = "[['a', 'b']].astype(object).map(str, na_action='ignore').values.tolist()"
        frames = ", ".join(f"{each.name!r}: {each.as_read}{rows}" for each in names.tables)
        return await written.evaluate(f"{{{frames}}}")


@pytest.mark.slow
async def test_text_is_read_as_it_stands(opened: Opener, project: Path) -> None:
    (project / "odd.csv").write_text("made by händ\na;b\n007;'x;y'\n2;NA\n3;\n", encoding="cp1252")
    odd = ReadOptions(path="odd.csv", format="csv", encoding="cp1252", delimiter=";", quote="'", skip_first=1)
    (project / "bare.csv.gz").write_bytes(gzip.compress(b"1, x\n2,\n3, z,too much\n"))
    bare = ReadOptions(
        path="bare.csv.gz",
        format="csv",
        compression="gzip",
        header_rows=(),
        names=("a", "b"),
        width=2,
        skips_spaces=True,
    )
    (project / "large.csv").write_text("a,b\n" + "".join(f"{at},x\n" for at in range(120_000)))
    large = table("large", ReadOptions(path="large.csv", format="csv"), rows=120_000, looked_at=3)
    assert step_of(large) == 40_000
    (project / "months").mkdir()
    (project / "months/jan, old.csv").write_text("a,b\n1,x\n")
    (project / "months/feb.csv").write_text("a,b\n2,\n3,z\n")
    files = ("months/jan, old.csv", "months/feb.csv")
    several = table("several", ReadOptions(path=files[0], format="csv"), files=files)
    found = await read_rows(
        opened,
        project,
        [table("odd", odd), table("bare", bare), large, several],
        "odd.csv",
        "bare.csv.gz",
        "large.csv",
        "months",
    )
    assert found == {
        "odd": [["007", "x;y"], ["2", "NA"], ["3", None]],
        "bare": ROWS,
        "large": [["0", "x"], ["40000", "x"], ["80000", "x"]],
        "several": ROWS,
    }


FORMATS: tuple[Format, ...] = ("parquet", "feather", "sqlite", "duckdb", "json", "jsonl", "excel")


@pytest.mark.slow
async def test_every_format_is_read_whole_or_in_part(opened: Opener, project: Path) -> None:
    tables: list[TableProfile] = []
    for kind in FORMATS:
        path = project / f"{kind}.{'xlsx' if kind == 'excel' else kind}"
        tables.append(table(kind, ReadOptions(path=path.name, format=kind, part=write(path, kind))))
    data = [each.reading.path for each in tables]
    assert await read_rows(opened, project, tables, *data) == dict.fromkeys(FORMATS, ROWS)
    sampled = [table(each.name, each.reading, looked_at=1) for each in tables]
    found = await read_rows(opened, project, sampled, *data)
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(FORMATS, 1)


def write(path: Path, kind: Format) -> str:
    """The frame as a file; the name of its part."""
    match kind:
        case "parquet":
            FRAME.to_parquet(path)
        case "feather":
            FRAME.to_feather(path)
        case "sqlite":
            with closing(sqlite3.connect(path)) as connection:
                FRAME.to_sql('odd "name', connection, index=False)
            return 'odd "name'
        case "duckdb":
            with duckdb.connect(str(path)) as connection:
                connection.execute(
                    "CREATE TABLE \"odd name\" AS SELECT * FROM (VALUES (1,'x'),(2,NULL),(3,'z')) t(a, b)"
                )
            return "odd name"
        case "json":
            frame: Any = FRAME.astype(object)
            path.write_text(json.dumps({"rows": frame.where(FRAME.notna(), None).to_dict("records")}))
            return "rows"
        case "jsonl":
            path.write_text('{"a": 1, "b": "x"}\n\n{"a": 2}\n{"a": 3, "b": "z"}\n')
        case _:
            FRAME.to_excel(path, sheet_name="Sheet, one", index=False)
            return "Sheet, one"
    return ""


def test_the_words_say_what_it_is_and_from_when(project: Path) -> None:
    when = ColumnProfile(
        name="when",
        kind="date",
        meaning="date",
        count=3,
        distinct=3,
        times=Times(first="2024-01-01", last="2024-03-01", step="month", missing_steps=1, gaps=("2024-02-01",)),
    )
    one = TableProfile(
        name="sales",
        reading=ReadOptions(path="data/sales.csv", format="csv"),
        rows=1_200_000,
        looked_at=200_000,
        sampling="every 6th of 1,200,000 rows",
        columns=(when, column("b*d|{name}")),
        keys=(("when",),),
        time_column="when",
    )
    profile = Profile(tables=(one,), skipped=(SkippedFile(path="a.png", why="it is a picture"),))
    section = tables_section(
        profile=profile, names=name_tables(profile, {"data/sales.csv": "sales_csv"}), wanted=OVERVIEW
    )
    about = next(cell for cell in section.cells if cell.name == "about_sales").code
    assert "1,200,000 rows and 2 columns: when and b\\*d&#124;&#123;name&#125;." in about
    assert "Each row is named by when." in about
    assert "covers 2024-01-01 to 2024-03-01" in about
    assert "every 6th row" in about
    assert any("every 6th row was used" in caveat for caveat in section.caveats)
    assert any("a.png (it is a picture)" in caveat for caveat in section.caveats)


def test_what_the_notebook_imports_already_is_not_imported_twice() -> None:
    profile = Profile(tables=(table("t", ReadOptions(path="t.csv", format="csv")),))
    names = name_tables(profile, {"t.csv": "t_csv"}, taken={"pd", "libraries"})
    libraries = tables_section(profile=profile, names=names, wanted=OVERVIEW).cells[0]
    assert libraries.name == "libraries_2"
    assert libraries.code == "import altair as alt\nimport numpy as np\nfrom scipy import stats"
