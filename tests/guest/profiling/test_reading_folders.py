"""Several files: which are one table, and what is told of the others."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.readers.reader import read_tables
from cellwright_guest.profiling.records import ProfileRequest


def read(*paths: str, **question: Any) -> tuple[list[RawTable], dict[str, str], list[str]]:
    """The files named, and those in the folders named."""
    files = [file for path in map(Path, paths) for file in (sorted(path.rglob("*.*")) if path.is_dir() else [path])]
    tables, skipped, notes = read_tables(ProfileRequest(paths=tuple(map(str, files)), **question))
    return tables, {item.path: item.why for item in skipped}, notes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `data` in the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def month(number: int, rows: int = 3) -> str:
    return "day,amount\n" + "".join(f"2024-{number:02}-{day:02},{number * day}\n" for day in range(1, rows + 1))


def test_files_of_one_shape_are_one_table(folder: Path) -> None:
    for number in (1, 2, 3):
        (folder / f"sales_2024-{number}.csv").write_text(month(number))
    tables, skipped, _ = read("data")
    assert skipped == {}
    assert [(table.name, table.rows, table.looked_at) for table in tables] == [("sales", 9, 9)]
    assert tables[0].files == ("data/sales_2024-1.csv", "data/sales_2024-2.csv", "data/sales_2024-3.csv")
    assert tables[0].columns[0].values.to_pylist()[3] == "2024-02-01"


def test_a_file_that_nearly_fits_is_kept_apart_and_told(folder: Path) -> None:
    for number in (1, 2, 3):
        (folder / f"sales_{number}.csv").write_text(month(number))
    (folder / "sales_4.csv").write_text(month(4).replace("amount", "total"))
    tables, _, _ = read("data")
    assert [(table.name, len(table.files)) for table in tables] == [("sales", 3), ("sales_4", 0)]
    assert "lacks 'amount' and has also 'total'" in tables[1].oddities[-1].says


def test_rows_of_many_files_are_sampled_over_all_of_them(folder: Path) -> None:
    for number in range(1, 6):
        (folder / f"part-{number}.csv").write_text("n,file\n" + "".join(f"{row},{number}\n" for row in range(1_000)))
    tables, _, _ = read("data", most_rows=500)
    assert (tables[0].rows, tables[0].looked_at) == (5_000, 500)
    assert set(tables[0].columns[1].values.to_pylist()) == {"1", "2", "3", "4", "5"}
    assert tables[0].sampling == "one in 10 of 5,000 rows in 5 files"


def test_a_large_file_among_small_ones_gets_the_time_and_the_rows(folder: Path) -> None:
    for number in range(9):
        (folder / f"{'abcdefghi'[number]}_small.csv").write_text(f"x{number},y\n1,2\n")
    (folder / "a_large.csv").write_text("n,m\n" + "".join(f"{row},{row % 7}\n" for row in range(30_000)))
    tables, _, _ = read("data", most_rows=31_000)
    large = next(table for table in tables if table.name == "a_large")
    assert (large.rows, large.looked_at, large.is_counted) == (30_000, 30_000, True)


def test_files_of_other_formats_and_folders_stand_beside_each_other(folder: Path) -> None:
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "a.csv").write_text(month(1))
    (folder / "deep" / "b.tsv").write_text(month(2).replace(",", "\t"))
    parquet.write_table(pa.table({"x": [1, 2]}), folder / "deep" / "deeper" / "a.parquet")
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    tables, skipped, _ = read("data")
    assert sorted(table.name for table in tables) == ["a", "a_2", "b"]
    assert skipped == {"data/notes.md": "it is a document, no table", "data/plot.png": "it is a picture (PNG)"}


def test_parts_of_a_parquet_folder_are_one_table(folder: Path) -> None:
    for number in range(3):
        parquet.write_table(pa.table({"x": [number, 2], "y": ["a", None]}), folder / f"part-{number:05}.parquet")
    tables, _, _ = read("data")
    assert (tables[0].name, tables[0].rows, len(tables)) == ("part", 6, 1)


def test_only_so_many_files_are_read(folder: Path) -> None:
    for number in range(6):
        (folder / f"{'abcdef'[number]}.csv").write_text(month(1))
    tables, _, notes = read("data", most_files=4)
    assert len(tables) == 4
    assert notes == ["Only the first 4 of 6 files were read."]


def test_a_file_named_twice_is_read_once(folder: Path) -> None:
    (folder / "a.csv").write_text(month(1))
    assert len(read("data", "data/a.csv", "data/a.csv")[0]) == 1


@pytest.mark.usefixtures("folder")
def test_what_is_no_file_is_told() -> None:
    skipped = read_tables(ProfileRequest(paths=("data", "gone.csv")))[1]
    assert [(each.path, each.why) for each in skipped] == [
        ("data", "it is no file"),
        ("gone.csv", "it cannot be opened"),
    ]


def test_oddities_of_the_files_are_gathered(folder: Path) -> None:
    (folder / "s1.csv.gz").write_bytes(gzip.compress(month(1).encode()))
    (folder / "s2.csv.gz").write_bytes(gzip.compress((month(2) + "day,amount\n2024-02-09,1\n").encode()))
    table = read("data")[0][0]
    assert table.rows == 8
    assert [(odd.kind, odd.count, odd.rows) for odd in table.oddities] == [("repeated-header", 1, (6,))]


def test_tables_of_one_name_are_told_apart(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "a.csv").write_text(month(1))
    (folder / "x" / "a.csv").write_text("other,columns\n1,2\n3,4\n")
    assert [table.name for table in read("data")[0]] == ["a", "a_2"]
