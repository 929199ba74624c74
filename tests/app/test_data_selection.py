"""Which files are meant by what a person names, and what they are called in the cage."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.app.data_selection import is_data_file, profile_mounts, select_data, shown_path
from cellwright.errors import UserError


def write(folder: Path, *names: str, text: str = "a\n1\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_folder_means_the_data_files_in_it_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/deep/b.parquet", "d/notes.md", "d/c.csv.gz", "d/.hidden/x.csv", "d/.x.csv")
    write(tmp_path, "d/node_modules/y.json", "out.csv")
    (tmp_path / "d/link.csv").symlink_to(tmp_path / "out.csv")
    chosen = select_data([(tmp_path / "d", "d")])
    assert [file.shown for file in chosen.files] == ["d/a.csv", "d/c.csv.gz", "d/deep/b.parquet"]
    assert (chosen.skipped, chosen.notes) == ([], [])


@pytest.mark.parametrize("name", [".env", "credentials.json", "my-service-account.json", "db.key", ".aws/data.csv"])
def test_what_looks_like_a_secret_is_not_opened(tmp_path: Path, name: str) -> None:
    text = '{"private_key": "-----BEGIN"}' if name.endswith(".json") else "a\n1\n"
    write(tmp_path, name, text=text)
    write(tmp_path, "a.csv", "harmless-account.json")
    chosen = select_data([(tmp_path / each, each) for each in (name, "a.csv", "harmless-account.json")])
    assert [file.shown for file in chosen.files] == ["a.csv", "harmless-account.json"]
    assert [(skipped.path, "secret" in skipped.why) for skipped in chosen.skipped] == [(name, True)]


def test_a_secret_in_a_folder_is_named_but_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/client_secret_1.json")
    chosen = select_data([(tmp_path / "d", "d")])
    assert [file.shown for file in chosen.files] == ["d/a.csv"]
    assert [skipped.path for skipped in chosen.skipped] == ["d/client_secret_1.json"]


def test_a_path_that_is_not_there_is_the_persons_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Nothing at 'gone\.csv'"):
        select_data([(tmp_path / "gone.csv", "gone.csv")])


def test_everything_a_person_has_is_no_folder_of_data() -> None:
    with pytest.raises(UserError, match="everything you have"):
        select_data([(Path("/"), "/")])


def test_an_empty_folder_and_what_is_no_file_are_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    chosen = select_data([(tmp_path / "empty", "empty"), (Path("/dev/null"), "/dev/null")])
    assert [(skipped.path, skipped.why) for skipped in chosen.skipped] == [
        ("empty", "no data file is in this folder"),
        ("/dev/null", "it is neither a file nor a folder"),
    ]


def test_a_file_named_twice_is_there_once(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/b.csv")
    (tmp_path / "again.csv").symlink_to(tmp_path / "d/a.csv")
    chosen = select_data([(tmp_path / name, name) for name in ("d/a.csv", "d", "again.csv")])
    assert [file.shown for file in chosen.files] == ["d/a.csv", "d/b.csv"]


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "d/a.csv", "d/\udcff.csv")
    chosen = select_data([(tmp_path / "d", "d")])
    assert [file.shown for file in chosen.files] == ["d/a.csv"]
    assert [skipped.why for skipped in chosen.skipped] == ["its name is no text"]


def test_paths_from_everywhere_stand_in_the_cage_and_get_their_names_back(tmp_path: Path) -> None:
    write(tmp_path, "here/d/a.csv", "d/a.csv", "d/deep/b.csv", "x.csv")
    named = [
        (tmp_path / "here/d", "d"),
        (tmp_path / "d", "../d"),
        (tmp_path / "x.csv", str(tmp_path / "x.csv")),
    ]
    mounts, asked, names = profile_mounts(select_data(named))
    assert asked == ("d", "d-2", "x.csv")
    assert [mount.target for mount in mounts] == ["d/a.csv", "d-2/a.csv", "d-2/deep/b.csv", "x.csv"]
    assert [shown_path(mount.target, names) for mount in mounts] == [
        "d/a.csv", "../d/a.csv", "../d/deep/b.csv", str(tmp_path / "x.csv"),
    ]  # fmt: skip
    assert [shown_path(path, names) for path in ("d-2", "d-2/deep", "d-2/new.csv", "elsewhere")] == [
        "../d", "../d/deep", "../d/new.csv", "elsewhere",
    ]  # fmt: skip


def test_the_folder_one_stands_in_can_be_named(tmp_path: Path) -> None:
    write(tmp_path, "here/a.csv", "here/d/b.csv")
    mounts, asked, names = profile_mounts(select_data([(tmp_path / "here", ".")]))
    assert (asked, [mount.target for mount in mounts]) == (("here",), ["here/a.csv", "here/d/b.csv"])
    assert [shown_path(mount.target, names) for mount in mounts] == ["a.csv", "d/b.csv"]


@pytest.mark.parametrize(
    ("name", "is_it"), [("a.csv", True), ("A.CSV.GZ", True), ("a.gz", False), ("a.py", False), ("csv", False)]
)
def test_a_name_says_whether_it_is_data(name: str, is_it: bool) -> None:
    assert is_data_file(name) is is_it
