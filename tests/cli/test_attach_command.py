"""`cellwright attach` as a person types it, against a real `marimo edit`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from cellwright.testing import CallTool
from tests.cli.in_process import run_here
from tests.cli.terminal import Terminal, on_terminal
from tests.cli.test_run_commands import MODEL, Person, person
from tests.kernel.stock_marimo import StockMarimo, stock_marimo, write_notebook
from tests.runs.factory import apply, create, finish

__all__ = ["person"]

EDITS = '[{"op": "create", "code": "z = x + 41\\nz"}]'


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Generator[StockMarimo]:
    folder = tmp_path_factory.mktemp("stock")
    with stock_marimo(write_notebook(folder / "sums.py", "x = 1", "y = x + 1\ny")) as server:
        yield server


def terminal(home: Path, *words: str) -> AbstractContextManager[Terminal]:
    command = [Path(sys.executable).with_name("cellwright"), *words]
    environment = {**os.environ, "CELLWRIGHT_HOME": str(home)}
    return on_terminal(command, environment=environment, folder=home.parent)


def told(home: Path, *words: str, code: int = 0, **more: Any) -> dict[str, Any]:
    return json.loads(run_here(home, "attach", *words, "--json", code=code, **more).stdout)


@pytest.mark.slow
def test_looking_needs_no_leave_and_whatever_executes_is_refused_where_nobody_can_allow_it(
    stock: StockMarimo, tmp_path: Path
) -> None:
    home, text = tmp_path / "home", stock.notebook.read_bytes()
    found = told(home, stock.url)
    assert [(cell["code"], cell["status"]) for cell in found["cells"]] == [
        ("x = 1", "stale"),
        ("y = x + 1\ny", "stale"),
    ]
    assert found["caged"] is False
    said = run_here(home, "attach", stock.url, "--run", "all", code=3)
    assert "outside any cage, and nobody is at this terminal" in said.stderr and "--copy" in said.stderr
    (tmp_path / "edits.json").write_text(EDITS)
    run_here(home, "attach", stock.url, "--apply", str(tmp_path / "edits.json"), code=3)
    assert stock.notebook.read_bytes() == text
    assert {cell["status"] for cell in told(home, stock.url)["cells"]} == {"stale"}


def test_servers_are_listed_with_whether_they_want_a_token(stock: StockMarimo, tmp_path: Path) -> None:
    own = {"XDG_STATE_HOME": str(stock.state)}
    found = told(tmp_path / "home", "--list", environment=own)["servers"]
    assert [(each["url"], each["needs_token"], each["can_attach"]) for each in found] == [(stock.url, False, True)]
    run_here(tmp_path / "home", "attach", "http://127.0.0.1:1", code=1)
    run_here(tmp_path / "home", "attach", f"{stock.url}/?access_token=abc", code=2)


def test_a_goal_in_a_stock_notebook_needs_a_model_and_somebody_to_be_asked(stock: StockMarimo, tmp_path: Path) -> None:
    home, goal = tmp_path / "home", ("run", "triple it", "--attach", stock.url, "--model")
    here: dict[str, Any] = {"folder": tmp_path}
    refused = run_here(home, *goal, "openai:one", "--approve", "never", code=3, **here)
    assert "outside any cage, so somebody must be there to be asked" in refused.stderr
    assert "does not change other people's notebooks" in run_here(home, *goal, "analyst", code=2, **here).stderr
    gone = run_here(home, "run", "x", "--attach", "127.0.0.1:1", "--model", "openai:one", code=1, **here)
    assert "No marimo server answers" in gone.stderr
    other = run_here(home, *goal, "openai:one", "--kernel", "no-such", code=2, **here)
    assert "No kernel of Jupyter is called 'no-such'" in other.stderr
    assert not list(tmp_path.glob("*.py"))


@pytest.mark.slow
def test_a_token_is_read_from_a_file_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "right").write_text("right-token-1\n")
    (tmp_path / "wrong").write_text("wrong-token-1\n")
    with stock_marimo(write_notebook(tmp_path / "sums.py", "x = 1"), token="right-token-1") as stock:
        home = tmp_path / "home"
        listed = told(home, stock.url, "--list", environment={"XDG_STATE_HOME": str(tmp_path / "none")})["servers"]
        assert [(each["needs_token"], each["can_attach"]) for each in listed] == [(True, False)]
        assert "wants its token" in run_here(home, "attach", stock.url, code=2).stderr
        wrong = run_here(home, "attach", stock.url, "--token-file", str(tmp_path / "wrong"), code=2)
        assert "does not take this token" in wrong.stderr and "wrong-token" not in wrong.stderr
        assert len(told(home, stock.url, "--token-file", str(tmp_path / "right"))["cells"]) == 1
        kept = [path for path in home.rglob("*") if path.is_file() and b"right-token" in path.read_bytes()]
        assert kept == []
        # Only if a person says so.
        run_here(home, "attach", stock.url, "--token-file", str(tmp_path / "right"), "--keep-token")
        assert len(told(home, stock.url)["cells"]) == 1
        run_here(home, "attach", stock.url, "--forget-token")
        assert "wants its token" in run_here(home, "attach", stock.url, code=2).stderr


@pytest.mark.slow
def test_a_person_allows_a_turn_at_the_terminal_and_takes_it_back(stock: StockMarimo, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "edits.json").write_text(EDITS)
    with terminal(home, "attach", stock.url, "--apply", str(tmp_path / "edits.json")) as shown:
        shown.wait_for("outside any cage")
        shown.wait_for("+z = x + 41")
        shown.wait_for("Run this there? [y/N]")
        shown.type("n\n")
        assert shown.end() == 3
    with terminal(home, "attach", stock.url, "--apply", str(tmp_path / "edits.json")) as shown:
        shown.wait_for("Run this there? [y/N]")
        shown.type("y\n")
        shown.wait_for("42")
        assert shown.end() == 0
    with terminal(home, "attach", stock.url, "--undo") as shown:
        shown.wait_for("Run this there? [y/N]")
        shown.type("y\n")
        assert shown.end() == 0
    assert [cell["code"] for cell in told(home, stock.url)["cells"]] == ["x = 1", "y = x + 1\ny"]


@pytest.mark.slow
def test_a_copy_is_worked_on_in_the_cage_and_handed_back(stock: StockMarimo, tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.py"
    assert told(home, stock.url, "--copy", str(copy))["ok"]
    run_here(home, "attach", stock.url, "--copy", str(copy), code=2)
    copy.write_text(copy.read_text().replace("y = x + 1", "y = x + 10"))
    assert json.loads(run_here(home, "notebook", "run", str(copy), "--json").stdout)["ok"]
    with terminal(home, "attach", stock.url, "--from", str(copy)) as shown:
        shown.wait_for("+y = x + 10")
        shown.wait_for("Run this there? [y/N]")
        shown.type("y\n")
        shown.wait_for("11")
        assert shown.end() == 0
    assert [cell["code"] for cell in told(home, stock.url)["cells"]] == ["x = 1", "y = x + 10\ny"]


@pytest.mark.slow
def test_a_goal_changes_a_stock_notebook_after_a_yes_from_the_inbox_and_the_audit_tells_it(
    stock: StockMarimo, person: Person
) -> None:
    created = {"edits": [{"op": "create", "code": "tripled = x * 3\ntripled"}]}
    person.provider.script(
        apply(create("tripled = x * 3\ntripled", "tripled")),
        CallTool("apply_attached", created),
        finish("It is {tripled}."),
    )
    person.cellwright("run", "Triple x.", "--attach", stock.url, *MODEL, "--effort", "quick", code=4)
    assert "tripled" not in stock.notebook.read_text()
    [question] = person.looks_json("runs", "show", "last")["questions"]
    shown = person.looks("inbox", "show", question["id"]).stdout
    assert "Change a cell of a notebook outside our cage" in shown and "+tripled = x * 3" in shown
    person.looks("inbox", "answer", question["id"], "once", "--fingerprint", question["fingerprint"])
    person.cellwright("runs", "watch", "last")
    assert "tripled = x * 3" in stock.notebook.read_text()
    copy = person.project / "triple-x.py"
    assert "tripled = x * 3" in copy.read_text() and "y = x + 1" in copy.read_text()
    lines = person.looks_json("audit")["entries"]
    assert [(line["verdict"], line["result"]) for line in lines if line["kind"] == "change-attached"] == [
        ("allow", "done")
    ]
