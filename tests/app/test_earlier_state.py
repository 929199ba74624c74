"""What an earlier version left behind opens today: its journal, its ledger, its proofs and its tokens."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cellwright.server.http.auth.tokens import TokenStore
from tests.cli.in_process import run_here
from tests.models.accounts import opened

STATE = Path(__file__).parent / "recorded/state-0.1.0.tar.xz"
RUN = "600825a78990051d"
# Of a person who never was, for nothing but this test.
TOKEN = "cw_S2w7PPzCHKLnAKU-o3VWhM5BRD6uvlzrt3sDJfQYyYc"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of then; the notebooks of then are where one is."""
    # Before 3.11.4 there is no filter.
    safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(STATE) as packed:
        packed.extractall(tmp_path, **safely)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "state"


def told(home: Path, *words: str, code: int | None = 0) -> Any:
    return json.loads(run_here(home, *words, "--json", code=code).stdout)


def test_the_journal_of_then_is_listed_shown_and_verified(home: Path) -> None:
    checked = told(home, "journal", "verify")
    assert (checked["ok"], checked["events"], checked["damage"]) == (True, 286, [])
    [line] = told(home, "runs", "list")["runs"]
    assert (line["run"], line["status"], line["goal"]) == (RUN, "done", "How many eggs does each barn give?")
    shown = told(home, "runs", "show", RUN)
    assert [task["id"] for task in shown["plan"]["tasks"]] == ["read", "quality", "look", "test", "findings", "tell"]
    exported = told(home, "journal", "export", RUN)
    assert len(exported) == 286
    # What were facts then are typed events today; the bytes are those of then, or the chain would not hold.
    kinds = Counter(event["kind"] for event in exported)
    assert kinds["fact"] == 0
    assert (kinds["goal-set"], kinds["run-delivered"]) == (1, 1)
    assert told(home, "journal", "verify")["anchors"] == checked["anchors"]


def test_the_ledger_of_then_tells_what_was_paid(home: Path) -> None:
    with opened(home) as ledger:
        assert [(row.what, row.calls, row.input_tokens, row.output_tokens) for row in ledger.usage()] == [
            ("example:small", 2, 20, 10)
        ]


DELIVERED = pytest.param("how-many-eggs-does-each-barn-give.py", marks=pytest.mark.slow)
"""Its own environment is built for the comparison."""


@pytest.mark.parametrize("notebook", ["eggs.py", DELIVERED])
def test_a_proof_of_then_is_ours_and_about_this_notebook(home: Path, notebook: str) -> None:
    # Packages and Python of then may be other ones than today's: it ends with 1 then, and says that and no more.
    proof = told(home, "notebook", "proof", notebook, code=None)
    assert (proof["trust"], {change["about"] for change in proof["changes"]} - {"environment", "tools"}) == (
        "ours",
        set(),
    )


def test_a_token_of_then_lets_its_bearer_in(home: Path) -> None:
    assert [token["name"] for token in told(home, "serve", "tokens")["tokens"]] == ["a program"]
    caller = TokenStore(home).admit(TOKEN)
    assert caller is not None
    assert (caller.person, caller.scope) == ("ann", "read")


@pytest.mark.slow
def test_work_goes_on_in_a_state_directory_of_then(home: Path) -> None:
    told(home, "data", "examples", "penguins")
    goal, data = "Compare body_mass_g by species", ("--data", "data/penguins.csv")
    run_here(home, "run", goal, *data, "--project", ".", "--model", "analyst")
    try:
        assert [line["status"] for line in told(home, "runs", "list")["runs"]] == ["done", "done"]
        assert told(home, "models", "usage")["rows"][0]["calls"] == 2
        checked = told(home, "journal", "verify")
        assert (checked["ok"], checked["events"] > 286) == (True, True)
    finally:
        run_here(home, "serve", "stop")
        run_here(home, "gateway", "stop")
