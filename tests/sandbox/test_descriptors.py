"""A path is gone along name by name: through no link, never upwards, and no descriptor is left open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cellwright.sandbox.linux.descriptors import closing, open_beneath, opened, status_of


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere" / "inner").mkdir(parents=True)
    (tmp_path / "project" / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "project" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "project" / "file").write_text("a file")
    return tmp_path / "project"


def test_a_directory_below_is_opened(tree: Path) -> None:
    with opened(tree) as root, closing(open_beneath(root, ["deep", "deeper"])) as found:
        assert os.path.samestat(os.fstat(found), (tree / "deep" / "deeper").stat())


@pytest.mark.parametrize(
    "parts", [["link"], ["link", "inner"], [".."], ["deep", "..", "deep"], ["."], [""], ["file"], ["missing", "inner"]]
)
def test_what_leads_elsewhere_or_nowhere_is_refused_and_nothing_stays_open(tree: Path, parts: list[str]) -> None:
    with opened(tree) as root:
        before = open_descriptors()
        with pytest.raises(OSError):
            open_beneath(root, parts)
        assert open_descriptors() == before


def test_missing_directories_are_made_on_the_way_but_not_behind_a_link(tree: Path) -> None:
    with opened(tree) as root:
        with closing(open_beneath(root, ["deep", "new", "newer"], is_made=True)):
            assert (tree / "deep" / "new" / "newer").is_dir()
        with pytest.raises(NotADirectoryError):
            open_beneath(root, ["link", "new"], is_made=True)
    assert not (tree.parent / "elsewhere" / "new").exists()


def test_a_link_itself_is_looked_at_and_not_what_it_leads_to(tree: Path) -> None:
    with opened(tree) as root:
        found = status_of(root, "link")
        assert found is not None
        assert os.path.samestat(found, (tree / "link").lstat())
        assert status_of(root, "missing") is None
