"""A notebook that a command lets the daemon run: the same result, by a process that has its zygote."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from cellwright.server.daemon.connection import DaemonConnection, as_json, find_or_start_daemon
from cellwright.server.daemon.launch import package_version
from tests.cli.in_process import run_here
from tests.server.daemon_testbed import DaemonTestbed, eventually
from tests.server.warm import Warm

Write = Callable[..., Path]


def connected(testbed: DaemonTestbed) -> closing[DaemonConnection]:
    """To a daemon of this very version: only that is asked to run notebooks."""
    return closing(find_or_start_daemon(testbed.settings, testbed.launch(package_version()), lambda _: None))


@pytest.fixture
def daemon(testbed: DaemonTestbed) -> Generator[DaemonConnection]:
    """A daemon that has run nothing yet."""
    with connected(testbed) as connection:
        yield connection


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, template: Path, warm: Warm) -> Generator[DaemonTestbed]:
    """Where a daemon is that several tests ask: what one of them has it start, the next one need not wait for."""
    with DaemonTestbed.open(tmp_path_factory.mktemp("shared"), template, warm) as testbed, connected(testbed):
        yield testbed


def zygotes_of(process: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(process).children() if "zygote_main.py" in " ".join(one.cmdline())]


@pytest.mark.slow
def test_a_notebook_is_run_by_the_daemon_that_is_up(
    daemon: DaemonConnection, testbed: DaemonTestbed, write_notebook: Write
) -> None:
    path = write_notebook("open('out.txt', 'w').write('kept')", "1 / 0")
    assert zygotes_of(daemon.version.pid) == []
    here = psutil.Process().children()
    view = json.loads(run_here(testbed.home, "notebook", "run", str(path), "--json", code=1).stdout)
    assert [cell["status"] for cell in view["cells"]] == ["ok", "failed"]
    assert [(change["path"], change["kept"]) for change in view["files"]] == [("out.txt", True)]
    assert (path.parent / "out.txt").read_text() == "kept"
    assert len(zygotes_of(daemon.version.pid)) == 1
    assert psutil.Process().children() == here


@pytest.mark.slow
def test_a_notebook_is_verified_by_the_daemon_that_is_up_and_its_proof_is_kept(
    daemon: DaemonConnection, testbed: DaemonTestbed, write_notebook: Write, tmp_path: Path
) -> None:
    path, out = write_notebook("x = 1", "def test_x():\n    assert x == 1"), tmp_path / "proof.json"
    here = psutil.Process().children()
    words = ("notebook", "verify", str(path), "--out", str(out), "--json")
    view = json.loads(run_here(testbed.home, *words).stdout)
    assert [(check["name"], check["outcome"]) for check in view["checks"]] == [("test_x", "passed")]
    assert json.loads(out.read_bytes()) == view["proof"]
    assert zygotes_of(daemon.version.pid)
    assert psutil.Process().children() == here
    assert json.loads(run_here(testbed.home, "notebook", "proof", str(path), "--json").stdout)["sound"]


@pytest.mark.slow
def test_why_a_notebook_is_not_verified_is_told_as_without_a_daemon(
    daemon: DaemonConnection, testbed: DaemonTestbed, write_notebook: Write
) -> None:
    path = write_notebook("1 / 0")
    words = ("notebook", "verify", str(path))
    by_daemon = run_here(testbed.home, *words, code=1)
    daemon.ask("POST", "/daemon/stop", as_json({"when": "now"}))
    eventually(lambda: not psutil.pid_exists(daemon.version.pid))
    alone = run_here(testbed.home, *words, code=1)
    assert "not verified" in alone.stdout
    assert by_daemon.stdout == alone.stdout
    assert "hint: " in alone.stderr
    assert {*by_daemon.stderr.splitlines()} == {*alone.stderr.splitlines()}


def test_what_is_wrong_with_the_request_is_told_as_without_a_daemon(
    shared: DaemonTestbed, write_notebook: Write
) -> None:
    said = run_here(shared.home, "notebook", "run", "no-such-notebook.py", code=2).stderr
    assert "There is no notebook" in said
    said = run_here(shared.home, "notebook", "run", str(write_notebook("x = 1")), "--files", "some", code=2).stderr
    assert "Unknown --files 'some'." in said


@pytest.mark.slow
def test_relative_data_is_found_from_where_the_command_was_given(
    shared: DaemonTestbed, write_notebook: Write, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "sales.csv").write_text("n\n1\n")
    path = write_notebook("text = open('data/sales.csv').read()")
    words = ("notebook", "run", str(path), "--data", "sales.csv", "--json")
    assert json.loads(run_here(shared.home, *words, folder=tmp_path / "elsewhere").stdout)["ok"]


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False], ids=["yes", "no"])
def test_whether_more_files_are_kept_than_the_limits_let_pass_is_asked_over_the_wire(
    shared: DaemonTestbed, write_notebook: Write, keep: bool
) -> None:
    path = write_notebook("for n in range(5): open(f'{n}.txt', 'w').write('')")
    asked: dict[str, Any] = {}
    with connected(shared) as daemon:
        for line in daemon.follow_lines("POST", "/notebook-runs", _body(path, limits=["kept_files=2"], may_ask=True)):
            asked |= line
            if "question" in line:
                with connected(shared) as other:
                    other.ask("POST", f"/notebook-runs/questions/{line['question']['id']}", as_json({"keep": keep}))
    assert "5" in asked["question"]["reason"]
    assert (asked["result"]["held_back"] is None) == keep
    assert len(list(path.parent.glob("*.txt"))) == (5 if keep else 0)


@pytest.mark.slow
def test_a_command_that_hangs_up_ends_its_notebook(shared: DaemonTestbed, write_notebook: Write) -> None:
    path = write_notebook("x = 1", "while True:\n    pass")
    with connected(shared) as daemon:
        told = daemon.follow_lines("POST", "/notebook-runs", _body(path))
        assert "cell" in next(told)
        (zygote,) = zygotes_of(daemon.version.pid)
        assert zygote.children()
    eventually(lambda: not zygote.children())


def _body(path: Path, **more: Any) -> bytes:
    return as_json({"path": str(path), "here": str(path.parent), **more}) or b""
