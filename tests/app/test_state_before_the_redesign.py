"""A state directory that was left with runs at work: they are answered and go on under the code of today.

Recorded before rooms, words and the daemon's protocol were changed. One run is done, one waits for a person, one was
killed with -9 in the midst of its fourth task; beside them rules, settings, a key, a token and a standing grant.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tarfile
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.journal.records import Records
from cellwright.policy.masking.masker import Masker
from cellwright.runs.events import EVENT_TYPES
from cellwright.server.http.auth.tokens import TokenStore
from cellwright.testing import ProviderServer
from cellwright.tools.approval.inbox import Inbox
from tests.cli.in_process import run_here
from tests.runs.factory import apply, at_once, create, finish

RECORDED = Path(__file__).parent / "recorded/state-before-the-redesign.tar.xz"
# Runs name their notebooks by the whole path, and a chain of hashes holds it: there it is unpacked.
FOLDER = Path("/tmp/cellwright-state-of-the-version-before")
DONE, WAITING, HALF_BUILT = "bbe0d1823457b539", "8a58a9b5e68dfcbe", "30d35988febb566d"
EVENTS = 237
# Of a person who never was, for nothing but this test.
TOKEN = "cw_2ZwUkweN_6VcIbRPx_zvGByCaVTef-lgUNoM8_i84M8"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The state directory of then, at the path of then."""
    safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    # On the directory itself: a file that one user makes there for it, no other could open.
    lock = os.open(FOLDER.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FOLDER, ignore_errors=True)
        with tarfile.open(RECORDED) as packed:
            packed.extractall(FOLDER.parent, **safely)
        monkeypatch.chdir(FOLDER / "project")
        yield FOLDER / "state"
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.close(lock)


def parsed(home: Path, *words: str, code: int | None = 0) -> Any:
    return json.loads(run_here(home, *words, "--json", code=code).stdout)


def statuses(home: Path) -> dict[str, str]:
    return {line["run"]: line["status"] for line in parsed(home, "runs", "list")["runs"]}


def test_runs_at_work_then_are_listed_with_what_they_ask_and_the_chain_holds(home: Path) -> None:
    checked = parsed(home, "journal", "verify")
    assert (checked["ok"], checked["events"], checked["damage"]) == (True, EVENTS, [])
    assert statuses(home) == {HALF_BUILT: "build", WAITING: "waiting", DONE: "done"}
    [question] = parsed(home, "inbox")["questions"]
    assert (question["run"], question["offers"]) == (WAITING, ["run", "no"])
    assert "connect to data.example.org port 443" in question["what"]
    tasks = parsed(home, "runs", "show", HALF_BUILT)["plan"]["tasks"]
    assert [task["status"] for task in tasks] == ["done", "done", "done", "running", "planned", "planned"]


@pytest.mark.slow
def test_rules_settings_keys_tokens_grants_and_proofs_of_then_count(home: Path) -> None:
    rules = run_here(home, "rules", "show").stdout
    assert "Not there." in rules
    network = {line["name"]: line for line in parsed(home, "doctor", code=None)["network"]}
    assert network["NO_PROXY"]["value"] == "localhost,.corp.example"
    [model] = [model for model in parsed(home, "models", "list")["models"] if model["name"] == "near:one"]
    assert model["is_ready"]
    caller = TokenStore(home).admit(TOKEN)
    assert caller is not None
    assert parsed(home, "notebook", "proof", "page.py", code=None)["trust"] == "ours"

    async def standing() -> list[str]:
        async with Records.open(home / "journal.db", types=EVENT_TYPES) as records:
            # It counts for ninety days.
            grants = await Inbox(records, masker=Masker.of(salt=b"s" * 16)).grants(datetime(2026, 11, 17, tzinfo=UTC))
            return [grant.id for grant in grants]

    assert anyio.run(standing) == [f"{DONE}/agent:2#9"]


@pytest.mark.slow
def test_a_waiting_run_of_then_is_answered_and_a_half_built_one_goes_on(home: Path) -> None:
    with ProviderServer.running() as provider:
        models = home / "models.toml"
        models.write_text(
            re.sub(r"http://127\.0\.0\.1:\d+/openai/v1", provider.base_url("openai-chat"), models.read_text())
        )
        provider.script(at_once(apply(create("total = 1 + 1\ntotal", "total")), finish("2")), finish("They sum to 2."))
        [question] = parsed(home, "inbox")["questions"]
        run_here(home, "inbox", "answer", question["id"], "run", "--fingerprint", question["fingerprint"])
        try:
            run_here(home, "runs", "watch", WAITING)
            run_here(home, "runs", "watch", HALF_BUILT)
            assert statuses(home) == {HALF_BUILT: "done", WAITING: "done", DONE: "done"}
            assert parsed(home, "journal", "verify")["ok"]
        finally:
            run_here(home, "serve", "stop")
            run_here(home, "gateway", "stop")
    assert "total = 1 + 1" in (FOLDER / "project/sums.py").read_text()
    # Each cell once: what stood there when it was killed is not written again.
    built = (FOLDER / "project/how-many-eggs-does-each-barn-give.py").read_text()
    assert built.count("def read_hens(") == built.count("def describe_columns(") == 1
