"""Which files are meant by what a person names, and where a cage has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.data.files import DataFile
from cellwright.errors import UserError
from cellwright.profiles.data_search import DataSelection, host_path, mounts, project_files, rebase, search


def write(folder: Path, *names: str, text: str = "a\n1\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def named(folder: Path, *places: str) -> list[DataFile]:
    return [
        DataFile(name=place, source=(folder / place).resolve(), place=place, target=f"in/{place}") for place in places
    ]


def searched(folder: Path, *places: str) -> DataSelection:
    return search(named(folder, *places))


def test_a_folder_means_the_data_files_in_it_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/deep/b.parquet", "d/notes.md", "d/c.csv.gz", "d/.hidden/x.csv", "d/.x.csv")
    write(tmp_path, "d/node_modules/y.json", "out.csv")
    (tmp_path / "d/link.csv").symlink_to(tmp_path / "out.csv")
    chosen = searched(tmp_path, "d")
    assert [file.place for file in chosen.files] == ["d/a.csv", "d/c.csv.gz", "d/deep/b.parquet"]
    assert (chosen.skipped, chosen.notes) == ([], [])


def test_numbered_files_of_a_folder_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write(tmp_path, *(f"d/sales_{number}.csv" for number in (10, 2, 1)))
    assert [file.place for file in searched(tmp_path, "d").files] == [
        "d/sales_1.csv",
        "d/sales_2.csv",
        "d/sales_10.csv",
    ]


@pytest.mark.parametrize("name", [".env", "credentials.json", "my-service-account.json", "db.key", ".aws/data.csv"])
def test_what_looks_like_a_secret_is_not_opened(tmp_path: Path, name: str) -> None:
    text = '{"private_key": "-----BEGIN"}' if name.endswith(".json") else "a\n1\n"
    write(tmp_path, name, text=text)
    write(tmp_path, "a.csv", "harmless-account.json")
    chosen = searched(tmp_path, name, "a.csv", "harmless-account.json")
    assert [file.place for file in chosen.files] == ["a.csv", "harmless-account.json"]
    assert [(skipped.path, "secret" in skipped.why) for skipped in chosen.skipped] == [(name, True)]


def test_a_secret_in_a_folder_is_named_but_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/client_secret_1.json")
    chosen = searched(tmp_path, "d")
    assert [file.place for file in chosen.files] == ["d/a.csv"]
    assert [skipped.path for skipped in chosen.skipped] == ["d/client_secret_1.json"]


def test_a_path_that_is_not_there_is_the_persons_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Nothing at 'gone\.csv'"):
        searched(tmp_path, "gone.csv")


def test_everything_a_person_has_is_no_folder_of_data() -> None:
    with pytest.raises(UserError, match="everything you have"):
        searched(Path("/"), "/")


def test_an_empty_folder_and_what_is_no_file_are_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    chosen = searched(tmp_path, "empty", "/dev/null")
    assert [(skipped.path, skipped.why) for skipped in chosen.skipped] == [
        ("empty", "no data file is in this folder"),
        ("/dev/null", "it is neither a file nor a folder"),
    ]


def test_a_file_named_twice_is_there_once(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/b.csv")
    (tmp_path / "again.csv").symlink_to(tmp_path / "d/a.csv")
    chosen = searched(tmp_path, "d/a.csv", "d", "again.csv")
    assert [file.place for file in chosen.files] == ["d/a.csv", "d/b.csv"]


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/\udcff.csv")
    chosen = searched(tmp_path, "d")
    assert [file.place for file in chosen.files] == ["d/a.csv"]
    assert [skipped.why for skipped in chosen.skipped] == ["its name is no text"]


def test_a_cage_has_each_file_where_it_belongs_and_from_there_the_way_leads_back(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/deep/b.csv", "x.csv")
    chosen = searched(tmp_path, "d", "x.csv")
    mounted = mounts(chosen.files)
    assert [mount.target for mount in mounted] == ["in/d/a.csv", "in/d/deep/b.csv", "in/x.csv"]
    for given in (mounted, mounts(chosen.named)):
        assert [host_path(mount.target, given) for mount in mounted] == [file.source for file in chosen.files]
    assert [host_path(path, mounted) for path in ("in/d/c.csv", "in/y.csv", "x.csv")] == [None, None, None]
    assert host_path("in/d/c.csv", mounts(chosen.named)) == tmp_path / "d/c.csv"


def test_a_project_that_is_named_as_a_whole_stands_in_the_cage_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "d/b.csv")
    chosen = search([DataFile(name="p", source=tmp_path, place="..", target=".")])
    assert [mount.target for mount in mounts(chosen.files)] == ["a.csv", "d/b.csv"]
    assert [rebase(mount.target, {".": ".."}) for mount in mounts(chosen.files)] == ["../a.csv", "../d/b.csv"]


def test_of_a_project_its_data_is_found_and_what_may_be_something_else_is_told_apart(tmp_path: Path) -> None:
    write(tmp_path, "b.csv", "a/c.parquet", "package.json", "notes.txt", "x.py", ".cache/d.csv", "venv/e.csv")
    write(tmp_path, "a/b/c/deep.csv", "a/b/c/d/too-deep.csv", ".ssh/f.csv", "credentials.json")
    assert project_files(tmp_path) == (["a/b/c/deep.csv", "a/c.parquet", "b.csv"], ["notes.txt", "package.json"])
    assert "credentials.json" in project_files(tmp_path, reveal=["credentials.json"])[1]
