"""Every promise has a test, every test file keeps a promise."""

from __future__ import annotations

from pathlib import Path

from tests.house.places import ROOT
from tests.house.promises import Promise, broken, find_fast, find_tests, only_slow, read_promises


def test_every_promise_is_kept_by_tests_that_exist_and_every_test_file_keeps_one() -> None:
    assert broken(read_promises(ROOT / "tests/promises.toml"), find_tests(ROOT)) == []


NEEDS_MORE = {
    "tests/models/test_many_streams.py": "two hundred streams at once",
    "tests/models/test_local_model.py": "a real small model in an environment of its own",
    "tests/runs/test_analyst_killed.py": "two whole runs for each kill",
    "tests/runs/test_report_analyst.py": "every chart in one real kernel",
    "tests/server/http/test_page_logic.py": "the page's own tools, from npm",
    "tests/web/test_for_everybody.py": "a browser",
    "tests/web/test_large_notebook.py": "a browser",
}
"""Files that alone keep a promise and run only in `make test-all`, with what they need. It may only get shorter."""


def test_every_promise_is_kept_by_a_test_of_make_test() -> None:
    promises = read_promises(ROOT / "tests/promises.toml")
    assert {promise.tests for promise in only_slow(promises, find_fast(ROOT))} == {(file,) for file in NEEDS_MORE}


def test_what_is_marked_slow_is_no_test_of_make_test(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text(
        "import pytest\n@pytest.mark.slow\ndef test_a(): ...\n"
        "@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.slow)])\ndef test_b(n): ...\n"
    )
    (tmp_path / "tests/test_y.py").write_text("pytestmark = [pytest.mark.slow]\ndef test_c(): ...\n")
    fast = find_fast(tmp_path)
    assert fast == {"tests/test_x.py::test_b"}
    promises = [
        Promise(says="file", tests=("tests/test_x.py",)),
        Promise(says="slow", tests=("tests/test_x.py::test_a", "tests/test_y.py")),
    ]
    assert only_slow(promises, fast) == promises[1:]


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
