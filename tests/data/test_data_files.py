"""How a person names data, what is taken for a data file, and where a notebook finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.data.files import DataFile, DataOrigin, is_data_file, parse_data
from cellwright.errors import UserError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/raw").mkdir(parents=True)
    (tmp_path / "project/raw/a.csv").write_text("1")
    return tmp_path / "project"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere/many").mkdir(parents=True)
    (tmp_path / "elsewhere/b.csv").write_text("2")
    return tmp_path / "elsewhere"


def parsed(project: Path, *words: str, is_mounted: bool = False) -> tuple[DataFile, ...]:
    notebook = project / "notebooks/n.py"
    return parse_data(words, here=project, notebook=notebook, project=project, is_mounted=is_mounted)


def test_data_in_the_project_is_reached_where_it_is_and_other_data_beside_the_notebook(
    project: Path, elsewhere: Path
) -> None:
    assert parsed(project, "raw/a.csv", "../elsewhere/b.csv", f"lots={elsewhere / 'many'}") == (
        DataFile(name="a.csv", source=project / "raw/a.csv", place="../raw/a.csv", target="raw/a.csv"),
        DataFile(
            name="b.csv",
            source=elsewhere / "b.csv",
            place="data/b.csv",
            target="notebooks/data/b.csv",
            is_outside=True,
        ),
        DataFile(
            name="lots",
            source=elsewhere / "many",
            place="data/lots",
            target="notebooks/data/lots",
            is_outside=True,
            is_folder=True,
        ),
    )


def test_what_was_read_is_written_as_words_that_read_the_same(project: Path, elsewhere: Path) -> None:
    (elsewhere / "x=y.csv").write_text("3")
    files = parsed(project, "first=raw/a.csv", str(elsewhere / "b.csv"), f"z={elsewhere / 'x=y.csv'}")
    assert parsed(project, *(file.words for file in files)) == files


def test_a_notebook_that_is_given_data_of_its_project_has_it_beside_itself(project: Path) -> None:
    (file,) = parsed(project, "raw/a.csv", is_mounted=True)
    assert (file.place, file.target, file.is_outside) == ("data/a.csv", "notebooks/data/a.csv", True)


def test_a_link_in_the_project_to_data_elsewhere_is_data_elsewhere(project: Path, elsewhere: Path) -> None:
    (project / "link.csv").symlink_to(elsewhere / "b.csv")
    (found,) = parsed(project, "link.csv")
    assert (found.place, found.is_outside) == ("data/b.csv", True)


def test_a_file_whose_name_has_an_equals_sign_is_that_file(project: Path) -> None:
    (project / "year=2024.csv").write_text("1")
    assert [file.name for file in parsed(project, "year=2024.csv", "mine=year=2024.csv")] == ["year=2024.csv", "mine"]


@pytest.mark.parametrize("word", ["/nowhere/x.csv", "nowhere.csv", "~nobody-is-called-so/x.csv", "x=nowhere.csv"])
def test_data_that_is_not_there_is_refused(project: Path, word: str) -> None:
    with pytest.raises(UserError, match="No data at"):
        parsed(project, word)


@pytest.mark.parametrize("word", ["a/b=/", "..=/", "=/", "=raw", "/"])
def test_data_that_cannot_be_called_so_is_refused(project: Path, word: str) -> None:
    with pytest.raises(UserError, match="is no name for data"):
        parsed(project, word)


def test_two_files_of_one_name_are_refused_and_one_that_is_named_twice_is_there_once(project: Path) -> None:
    (project / "a.csv").write_text("1")
    with pytest.raises(UserError, match=r"Two files or folders are named 'a\.csv'"):
        parsed(project, "raw/a.csv", "a.csv")
    assert len(parsed(project, "a.csv", "./a.csv")) == 1


@pytest.mark.parametrize(
    ("path", "origins"),
    [
        ("a.csv", "folder project"),
        ("deep/A.CSV.GZ", "folder project"),
        ("a.parquet", "folder project"),
        ("a.sqlite", "folder project"),
        ("package.json", "folder"),
        ("a.json.gz", "folder"),
        ("notes.txt", "folder"),
        ("a.dat", "folder"),
        ("cache.db", "folder"),
        (".a.csv", ""),
        (".cache/a.csv", ""),
        ("a.gz", ""),
        ("a.py", ""),
        ("csv", ""),
    ],
)
def test_what_is_taken_for_data_depends_on_how_it_was_come_upon(path: str, origins: str) -> None:
    every: list[DataOrigin] = ["named", "folder", "project"]
    assert [origin for origin in every if is_data_file(path, origin)] == ["named", *origins.split()]
