"""Every class of failure in the loop: a scripted model makes it happen in a real kernel, and it is mended.

Where the mend is certain no model is asked; else the model reads advice for exactly this class, once, and its next
answer works. That the class is the right one is read from what the journal kept.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import anyio
import psutil
import pytest

from cellwright.agents.repair.failure_rules import FailureKind
from cellwright.kernel.environments.script_header import header_of
from cellwright.kernel.observation import ConsoleText
from cellwright.network import NetworkSettings
from cellwright.notebook.files import read
from cellwright.policy.approvals import No, Yes
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings
from cellwright.testing import CallTool, Received
from cellwright.tools.environment_tools import package_tools
from cellwright.tools.tool import ToolError, ToolResult, tool
from tests.agents.driver import ADA, DONE, open_driver
from tests.agents.test_notebook_work import apply, create
from tests.agents.test_stops import fetching
from tests.conftest import Opener
from tests.kernel.test_environment_kernels import needed_by, tiny_wheel, wheel_of
from tests.models.testbed import ModelTestbed
from tests.sampling import some, spread


def decided(where: Path) -> list[list[FailureKind]]:
    """Of each turn that had something to mend, the classes of its failures as the journal keeps them."""
    database = sqlite3.connect(where)
    rows = database.execute(
        "SELECT output FROM operation_outputs WHERE function_name LIKE 'mend %' ORDER BY function_id"
    ).fetchall()
    database.close()
    return [[each["kind"] for each in _attempts(json.loads(output)) if "kind" in each] for (output,) in rows]


def _attempts(kept: Any) -> list[dict[str, Any]]:
    """Wherever in a step's record they stand."""
    if isinstance(kept, str) and kept.startswith("{"):
        return _attempts(json.loads(kept))
    if isinstance(kept, dict):
        if isinstance(kept.get("attempts"), list):
            return kept["attempts"]
        return [found for value in kept.values() for found in _attempts(value)]
    return []


# ── a model's work ──


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Wrong code, what is said about it, and the code that mends it."""

    kind: FailureKind
    wrong: str
    words: str
    right: str
    seconds: float = 120
    shown: str = ""
    """Something the model needs for it."""
    limits: Limits = field(default_factory=Limits)


CASES = [
    Case(
        kind="syntax",
        wrong="total = (1 +",
        words="The code cannot be read",
        right="total = (1 + 2)",
        shown="total = (1 +",
    ),
    Case(
        kind="name-conflict",
        wrong="total = rosw + 1",
        words="A name that no cell defines is misspelt",
        right="total = rows + 1",
        shown="rosw: no cell",
    ),
    Case(
        kind="name-conflict",
        wrong="rows = 0\nfor _n in range(4):\n    rows += _n",
        words="Names that only this cell needs begin with `_`",
        right="_rows = 0\nfor _n in range(4):\n    _rows += _n",
        shown="rows: ",
    ),
    Case(
        kind="missing-package",
        wrong="import json.nothing_here",
        words="This module is not there",
        right="import json",
    ),
    Case(
        kind="missing-file",
        wrong="text = open('sales_2023.csv').read()",
        words="There is no file at this path",
        right="text = open('sales_2024.csv').read()",
        shown="sales_2024.csv",
    ),
    Case(
        kind="missing-column",
        wrong="total = table['prize']",
        words="There is no column, key or table of this name",
        right="total = table['price']",
        shown="variable table: dict",
    ),
    Case(
        kind="type-shape",
        wrong="total = rows + 'a'",
        words="A value is not what the code takes it for",
        right="total = rows + 1",
        shown="variable rows: int",
    ),
    Case(
        kind="resource",
        wrong="total = len([0] * (1 << 60))",
        words="It needs more memory than there is",
        right="total = 1 << 60",
    ),
    Case(
        kind="resource",
        wrong="_held = []\nwhile True:\n    _held.append(bytearray(b'x') * (64 << 20))",
        words="It needs more memory than there is",
        right="total = 1",
        limits=Limits(memory_mb=400),
    ),
    Case(
        kind="time-out",
        wrong="import time\ntime.sleep(600)",
        words="It took longer than it was given",
        right="total = 1",
        seconds=0.5,
    ),
    Case(
        kind="network-refused",
        wrong="import urllib.request\nurllib.request.urlopen('http://data.example')",
        words="The notebook cannot reach this host",
        right="total = rows",
    ),
    Case(
        kind="failed-check",
        wrong="assert rows == 4, 'rows are missing'",
        words="Never weaken, catch or delete a check",
        right="assert rows == 3, 'rows are missing'",
        shown="variable rows: int",
    ),
    Case(
        kind="kernel-lost",
        wrong="import os\nos.kill(os.getpid(), 9)",
        words="The kernel ended while this cell ran",
        right="total = rows",
    ),
    Case(
        kind="unknown",
        wrong="raise RuntimeError('odd')",
        words="Read the error and the values it met",
        right="total = rows",
    ),
]


@pytest.mark.slow
@pytest.mark.sampled(8, often=2)
@pytest.mark.parametrize("case", spread(CASES, 5), ids=lambda case: f"{case.kind} {case.wrong[:12]!r}")
async def test_what_is_not_certain_is_repaired_by_the_model_after_advice_for_its_class_said_once(
    testbed: ModelTestbed, where: Path, opened: Opener, case: Case
) -> None:
    wrong = create(case.wrong, name="work")
    edit = {"op": "edit", "cell": "work", "base_version": 1, "code": case.right}
    testbed.provider.script(
        CallTool("run", {"cells": "all"}),
        CallTool("apply", {"edits": [wrong], "seconds": case.seconds}),
        apply(edit),
        DONE,
    )
    cells = ("rows = 3", "table = {'price': 1}")
    async with opened(*cells, limits=case.limits) as notebook:
        (notebook.path.parent / "sales_2024.csv").write_text("a\n")
        async with open_driver(testbed, where, notebook=notebook) as driver:
            report = await driver.work()
            assert (report.outcome, report.turns, report.failed_turns) == ("finished", 4, 1), driver.sent_text(4)[
                -2000:
            ]
            assert [driver.sent_text(number).count(case.words) for number in (2, 3, 4)] == [0, 1, 0]
            assert case.shown in driver.sent_text(3)
            assert "Do not make the goal smaller to get past it." in driver.sent_text(3)
            # Nobody changed anything but the model.
            assert (await driver.step_names()).count("tool apply") == 2
            [cell] = notebook.document.named("work")
            assert (cell.code, notebook.outcomes[cell.id].status) == (case.right, "ok")
    assert decided(where)[0] == [case.kind]


# ── certain ──


COUNTED = "import sys\nsys.tries = getattr(sys, 'tries', 0) + 1\n"
FLAKY = COUNTED + "if sys.tries < {passes}:\n    raise ConnectionResetError('gone')\ndone = 1"


@pytest.mark.slow
async def test_what_comes_and_goes_is_run_once_more_without_the_model(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(apply(create(FLAKY.format(passes=2), name="fetch")), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns) == ("finished", 2)
        assert "It may only have been bad luck: once more, unchanged." in driver.sent_text(2)
        assert "done = 1" in driver.sent_text(2)
        assert (await driver.step_names()).count("tool run") == 1
    assert decided(where)[0] == ["flaky"]


@pytest.mark.slow
async def test_what_stays_flaky_is_the_models_to_make_certain(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    edit = {"op": "edit", "cell": "fetch", "base_version": 1, "code": "done = 1"}
    testbed.provider.script(apply(create(FLAKY.format(passes=9), name="fetch")), apply(edit), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).outcome == "finished"
        assert (await driver.step_names()).count("tool run") == 1
        assert "a retry with a limit around what is outside" in driver.sent_text(2)
        assert "a retry with a limit around what is outside" not in driver.sent_text(3)


@pytest.mark.slow
async def test_a_cell_that_fails_and_passes_unchanged_is_said_to_be_flaky(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    code = f"{COUNTED}assert sys.tries == 2"
    testbed.provider.script(apply(create(code, name="check")), CallTool("run", {"cells": ["check"]}), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).failed_turns == 1
        words = "The same code fails at one time and passes at another."
        assert [words in driver.sent_text(number) for number in (2, 3)] == [False, True]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in needed_by("marimo", "msgspec"):
        wheel_of(name, folder)
    tiny_wheel(folder)
    return folder


@pytest.fixture
def settings(wheels: Path, tmp_path: Path) -> Settings:
    variables = {"UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1"}
    return Settings(home=tmp_path / "home", cache=tmp_path / "cache", connection=NetworkSettings.of(variables))


@pytest.mark.slow
@pytest.mark.parametrize("is_allowed", some([False, True], 1))
async def test_a_missing_package_is_asked_for_once_and_installed_by_the_real_tool(
    testbed: ModelTestbed, where: Path, opened: Opener, settings: Settings, is_allowed: bool
) -> None:
    # Without it the cell stays failed: whoever finishes in spite of that is told so once.
    ends = [DONE] if is_allowed else [DONE, DONE]
    testbed.provider.script(apply(create("import tiny_tool\nloud = tiny_tool.shout('hi')", name="loud")), *ends)
    async with (
        opened("x = 1", settings=settings) as notebook,
        open_driver(testbed, where, notebook=notebook, editor_tools=package_tools) as driver,
    ):
        await driver.start()
        asked = (await driver.approval()).question
        assert asked.describe().startswith("Install the package tiny-tool\n")
        answer = Yes(reach="once") if is_allowed else No(feedback="Not that one.")
        await driver.inbox.answer(asked.id, answer, ADA, asked.fingerprint)
        report = await driver.report()
        assert (report.outcome, report.turns) == ("finished", 1 + len(ends))
        names = await driver.step_names()
        assert (names.count("tool install_package"), names.count("tool run")) == (int(is_allowed), 0)
        header = header_of(read(notebook.path).document.header)
        assert (header is not None and "tiny-tool" in header.dependencies) is is_allowed
        assert ("HI!" in driver.sent_text(2)) is is_allowed
        assert ("Not that one." in driver.sent_text(2)) is not is_allowed
    assert decided(where) == [["missing-package"]]


@pytest.mark.slow
async def test_a_package_that_does_not_help_is_not_installed_again_and_the_model_is_told(
    testbed: ModelTestbed, where: Path, opened: Opener, settings: Settings
) -> None:
    rules = '[[rule]]\naction = "install-package"\nthen = "allow"\npackages = ["tiny-tool"]\nreason = "Agreed."\n'
    code = "import tiny_tool\nimport tiny_tool.more"
    testbed.provider.script(apply(create(code, name="loud")), DONE)
    async with (
        opened("x = 1", settings=settings) as notebook,
        open_driver(testbed, where, notebook=notebook, editor_tools=package_tools, rules=rules) as driver,
    ):
        assert (await driver.work()).outcome == "finished"
        assert (await driver.step_names()).count("tool install_package") == 1
        assert "Installed tiny-tool" in driver.sent_text(2)
        assert "This module is not there" in driver.sent_text(2)


# ── nothing was done ──


@pytest.mark.slow
async def test_an_edit_of_a_cell_that_is_another_now_gets_the_text_it_has(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    asked: list[Received] = []
    async with opened("rate = 1", "other = 2") as notebook:

        def a_person_edits(received: Received) -> bool:
            if not asked:
                notebook.path.write_text(notebook.path.read_text().replace("rate = 1", "rate = 1.19"))
            asked.append(received)
            return True

        cell = notebook.document.cells[0].id
        stale = {"op": "edit", "cell": cell, "base_version": 1, "code": "rate = 2"}
        based = {"op": "edit", "cell": cell, "base_version": 2, "code": "rate = 1.19\nrate"}
        testbed.provider.when(a_person_edits, apply(stale), apply(based), DONE)
        async with open_driver(testbed, where, notebook=notebook) as driver:
            report = await driver.work()
            assert (report.outcome, report.failed_turns) == ("finished", 1)
            told = driver.sent_text(2)
            assert "Nothing was changed: what you wanted to change is not as you read it" in told
            assert "Now (version 2):" in told
            assert "rate = 1.19" in told
            assert "rate = 1.19\n    rate" in notebook.path.read_text()
    assert decided(where)[0] == ["edit-refused"]


async def test_what_is_refused_by_policy_is_not_tried_again_but_another_way(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    fetched, fetch = fetching()
    rules = '[[rule]]\naction = "use-network"\nthen = "deny"\nreason = "No network here."\n'
    testbed.provider.script(CallTool("fetch", {"host": "example.com"}), apply(create("y = x", name="y")), DONE)
    async with (
        opened("x = 1") as notebook,
        open_driver(testbed, where, tools=[fetch], notebook=notebook, rules=rules) as driver,
    ):
        report = await driver.work()
        assert (report.outcome, report.failed_turns, fetched) == ("finished", 1, [])
        words = "It was not allowed, and will not be by asking again."
        assert [words in driver.sent_text(number) for number in (2, 3)] == [True, False]
    assert decided(where)[0] == ["refused"]


@pytest.mark.slow
async def test_a_tool_that_is_not_there_at_the_moment_may_be_tried_once_more(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    tries: list[int] = []

    @tool()
    async def weather() -> ToolResult | str:
        """Look outside."""
        tries.append(1)
        return "fair" if len(tries) > 1 else ToolError(kind="unavailable", message="Nobody answers.")

    testbed.provider.script(CallTool("weather", {}), CallTool("weather", {}), DONE)
    async with (
        opened("x = 1") as notebook,
        open_driver(testbed, where, tools=[weather], notebook=notebook) as driver,
    ):
        assert (await driver.work()).failed_turns == 1
        assert "It was not there at that moment. Try once more" in driver.sent_text(2)
        assert "It was not there at that moment" not in driver.sent_text(3)


# ── a kernel that is killed from outside ──


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False], ids=["with its cage", "alone"])
async def test_a_kernel_killed_under_a_running_cell_is_replaced_and_what_had_run_is_there_again(
    testbed: ModelTestbed, where: Path, opened: Opener, whole: bool
) -> None:
    slow = "import time\nprint('begun')\ntime.sleep(600)"
    edit = {"op": "edit", "cell": "slow", "base_version": 1, "code": "y = x + 1"}
    testbed.provider.script(CallTool("run", {"cells": "all"}), apply(create(slow, name="slow")), apply(edit), DONE)
    async with (
        opened("x = 41") as notebook,
        open_driver(testbed, where, notebook=notebook) as driver,
        notebook.observe() as events,
    ):
        await driver.start()
        with anyio.fail_after(120):
            async for event in events:
                if isinstance(event, ConsoleText) and "begun" in event.text:
                    break
        assert notebook.live.kernel is not None
        first = psutil.Process(notebook.live.kernel.pid)
        (first if whole else first.children()[0]).kill()
        report = await driver.report()
        assert (report.outcome, report.failed_turns) == ("finished", 1)
        assert "The kernel ended while this cell ran" in driver.sent_text(3)
        assert "y: int = 42" in driver.sent_text(4)
    assert decided(where)[0] == ["kernel-lost"]


def test_every_class_is_shown_in_the_loop() -> None:
    # A database is asked for in `tests/runs/test_databases.py`.
    by_hand: set[FailureKind] = {"flaky", "edit-refused", "refused", "connection-refused"}
    assert {case.kind for case in CASES} | by_hand == set(get_args(FailureKind))
