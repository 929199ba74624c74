"""Every promise has a test, every test file keeps a promise."""

from __future__ import annotations

from pathlib import Path

from tests.house.places import ROOT
from tests.house.promises import Promise, broken, find_tests, read_promises


def test_every_promise_is_kept_by_tests_that_exist_and_every_test_file_keeps_one() -> None:
    assert broken(read_promises(ROOT / "tests/promises.toml"), find_tests(ROOT)) == []


def test_tests_are_found_by_reading_them(tmp_path: Path) -> None:
    (tmp_path / "tests/room").mkdir(parents=True)
    (tmp_path / "tests/room/test_x.py").write_text("raise SystemExit\nasync def test_a(): ...\ndef helper(): ...\n")
    assert find_tests(tmp_path) == {"tests/room/test_x.py::test_a"}


def test_a_broken_promise_is_found() -> None:
    ids = {"tests/a.py::test_one", "tests/b.py::test_two"}
    promises = [
        Promise(says="kept", tests=("tests/a.py::test_one", "tests/a.py")),
        Promise(says="idle", tests=()),
        Promise(says="gone", tests=("tests/a.py::test_gone",)),
        Promise(says="gone", tests=("tests/a.py",)),
    ]
    assert broken(promises, ids) == [
        "said twice: gone",
        "no test: idle",
        "no such test: tests/a.py::test_gone",
        "keeps no promise: tests/b.py",
    ]
