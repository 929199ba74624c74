"""The harness end to end: the real command in a state directory of its own, and a scripted model on loopback."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from bench.peer_packages import peers_python
from cellwright.testing import CallTool, CallTools, ProviderServer, Say
from eval.__main__ import chosen, main
from eval.cellwright_worker import CellwrightWorker, open_cellwright
from eval.evaluation import evaluate
from eval.results import Result, result_of, table
from eval.smolagents_worker import SmolagentsWorker
from eval.task import Task, read_tasks
from eval.worker import Came, nothing

MODEL: Final = "near:one"
CONFIGURATION: Final = """
[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "none"
local = true
[models."near:one"]
tools = true
schema = true
"""
READ: Final = """
import pandas as pd

bookings = pd.read_csv(bookings_csv)
bookings["booking"] = bookings["booking"].str.lower()
bookings = bookings.drop_duplicates("booking")
bookings
"""
CHECK: Final = """
def test_each_booking_is_there_once():
    assert bookings["booking"].is_unique
"""


def create(name: str, code: str) -> dict[str, str]:
    return {"op": "create", "name": name, "code": code.strip()}


def script(provider: ProviderServer, answer: str) -> None:
    """A model that reads the bookings, and ends with this answer."""
    story = create("story", 'mo.md(f"# Bookings\\n\\nThere are {len(bookings)}.")')
    work = CallTool("apply", {"edits": [create("bookings", READ), create("check", CHECK), story]})
    provider.when(lambda _: True, CallTools((work, finish(answer))), for_ever=True)


def finish(answer: str) -> CallTool:
    return CallTool("finish", {"summary": "Counted.", "answer": answer})


@pytest.fixture
def provider() -> Generator[ProviderServer]:
    with ProviderServer.running() as server:
        yield server


@pytest.fixture
def home(provider: ProviderServer, tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    (place / "models.toml").write_text(CONFIGURATION.format(base_url=provider.base_url("openai-chat")))
    return place


@pytest.fixture
def task() -> Task:
    return read_tasks(["doubled_rows"])[0]


async def evaluated(task: Task, worker: CellwrightWorker | SmolagentsWorker) -> Result:
    told: list[Result] = []
    results = await evaluate([task], [worker], at_once=1, told=told.append)
    assert told == results
    return results[0]


@pytest.mark.slow
async def test_a_models_run_is_judged_by_its_answer_and_its_notebook(
    home: Path, provider: ProviderServer, task: Task
) -> None:
    async with open_cellwright(MODEL, home=home, seconds=240) as worker:
        script(provider, "There are 410 bookings with 1823 nights.")
        right = await evaluated(task, worker)
        provider.forget()
        script(provider, "There are 447 bookings with 1990 nights.")
        wrong = await evaluated(task, worker)
    assert (right.has_passed, right.failed, right.status, right.worker) == (True, (), "done", f"cellwright, {MODEL}")
    assert right.tokens > 0
    assert (right.requests, right.characters) == (1, None)
    assert (wrong.has_passed, wrong.status) == (False, "done")
    assert wrong.failed == ("each booking counted once", "their nights counted once")


@pytest.mark.slow
async def test_the_peers_answer_to_the_same_model_is_judged_by_the_same_checks(
    home: Path, provider: ProviderServer, task: Task
) -> None:
    code = (
        'import pandas as pd\nt = pd.read_csv("bookings.csv")\nt["booking"] = t["booking"].str.lower()\n'
        't = t.drop_duplicates("booking")\n'
        "final_answer(f\"There are {len(t)} bookings with {t['nights'].sum()} nights.\")"
    )
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(open_cellwright(MODEL, home=home, seconds=240))
        base_url, token = await ours.endpoint()
        python = await peers_python()
        peer = SmolagentsWorker(MODEL, python=python, base_url=base_url, token=token, seconds=240)
        provider.always(Say(f"Thought: I count.\n<code>\n{code}\n</code>"))
        result = await evaluated(task, peer)
    assert (result.has_passed, result.why, result.not_judged, result.status) == (True, "", 1, "done")
    assert (result.tokens, result.microdollars) == (15, None)


async def test_a_peer_that_does_not_start_has_failed_with_its_own_words(task: Task) -> None:
    python = Path(sys.executable)
    peer = SmolagentsWorker("any", python=python, base_url="http://127.0.0.1:9", token="none", seconds=60)
    result = await evaluated(task, peer)
    assert (result.has_passed, result.status) == (False, "exit 1")
    assert "No module named 'smolagents'" in result.why


async def test_whoever_takes_too_long_is_stopped_and_has_failed(task: Task) -> None:
    python = Path(sys.executable)
    peer = SmolagentsWorker("any", python=python, base_url="http://127.0.0.1:9", token="none", seconds=0.01)
    result = await evaluated(task, peer)
    assert (result.has_passed, result.status) == (False, "too slow")


def test_the_table_counts_by_kind_and_says_what_failed(task: Task, tmp_path: Path) -> None:
    task.make(tmp_path)
    right = result_of(task, "one", Came(delivered=task.right(tmp_path), status="done", seconds=2, microdollars=1_500))
    wrong = result_of(task, "two", Came(delivered=task.wrong(tmp_path), status="done", seconds=3, microdollars=None))
    none = result_of(task, "two", nothing("failed", "no data", seconds=1))
    lines = table([right, wrong, none]).splitlines()
    assert [" ".join(line.split()) for line in lines[1:4]] == [
        "doubled_rows one yes 2.0 0 $0.0015 – – – – – –",
        "doubled_rows two no 3.0 0 unknown – – – – – – each booking counted once; their nights counted once",
        "doubled_rows two no 1.0 0 $0.0000 – – – – – – each booking counted once; their nights counted once",
    ]
    assert [" ".join(line.split()) for line in lines[6:]] == [
        "cleaning one 1 of 1 2.0 0 $0.0015 – – – – – –",
        "all one 1 of 1 2.0 0 $0.0015 – – – – – –",
        "cleaning two 0 of 2 4.0 0 unknown – – – – – –",
        "all two 0 of 2 4.0 0 unknown – – – – – –",
    ]
    kept: Any = json.loads(json.dumps(right.as_json()))
    assert kept["has_passed"] is True


def test_the_analyst_is_given_what_it_can_serve_and_a_model_everything() -> None:
    assert all(task.is_for_analyst for task in chosen([], "analyst"))
    assert len(chosen([], "near:one")) == len(read_tasks())
    assert [task.id for task in chosen(["slope"], "analyst")] == ["slope"]


def test_a_task_that_is_not_there_is_a_mistake_of_whoever_typed_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "nowhere"]) == 2
    assert "No task named 'nowhere'" in capsys.readouterr().err


def test_a_peer_needs_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--peer", "smolagents"])
    assert "a peer needs a model" in capsys.readouterr().err
