"""Mending in the loop: scripted models write wrong code in a real notebook; what is certain is mended without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.policy.actions import Action, UseNetwork
from cellwright.testing import CallTool
from cellwright.tools.notebook.trial_records import TrialRecord
from tests.agents.driver import DONE, AgentDriver, a_role, an_assignment, open_driver
from tests.agents.test_notebook_work import apply, create
from tests.conftest import Opener
from tests.models.testbed import ModelTestbed


async def names(driver: AgentDriver, beginning: str) -> list[str]:
    return [name for name in await driver.step_names() if name.startswith(beginning)]


# ── certain ──


@pytest.mark.slow
async def test_a_second_import_of_the_same_is_dropped_without_the_model(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(apply(create("import math\nroot = math.sqrt(16)\nroot", name="root")), DONE)
    async with opened("import math") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        report = await driver.work()
        assert (report.outcome, report.turns) == ("finished", 2)
        text = notebook.path.read_text()
        assert text.count("import math") == 1
        assert "root = math.sqrt(16)" in text
        told = driver.sent_text(2)
        assert "Done for you, because it was certain: s1m1." in told
        assert "root: float = 4.0" in told
        assert "A global name must be defined by exactly one cell" not in told
        assert await names(driver, "mend") == ["mend 1"]


@pytest.mark.slow
async def test_a_misspelt_column_is_looked_up_in_the_kernel_for_the_model(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    data = "import pandas as pd\ndf = pd.DataFrame({'Unit Price ': [1, 2]})"
    edit = {"op": "edit", "cell": "total", "base_version": 1, "code": "total = df['Unit Price '].sum()\ntotal"}
    testbed.provider.script(
        CallTool("run", {"cells": "all"}),
        apply(create("total = df['unit price'].sum()\ntotal", name="total")),
        apply(edit),
        DONE,
    )
    async with opened(data) as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).turns == 4
        told = driver.sent_text(3).replace("\\", "")
        assert "nearest first" in told
        assert "'Unit Price '" in told
        text = notebook.path.read_text()
        assert "df['Unit Price ']" in text.replace('"', "'")
        assert "_reading" not in text
        assert (await names(driver, "mend"))[:2] == ["mend 2", "mend 2 with columns"]


@pytest.mark.slow
async def test_a_cell_of_a_person_is_never_repaired_without_a_model(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(CallTool("run", {"cells": "all"}), DONE)
    async with opened("text = open('Sales.csv').read()") as notebook:
        (notebook.path.parent / "sales.csv").write_text("a\n")
        async with open_driver(testbed, where, notebook=notebook) as driver:
            await driver.work()
            assert "open('Sales.csv')" in notebook.path.read_text().replace('"', "'")
            assert "There is no file at this path" in driver.sent_text(2)
            assert "nearest first" in driver.sent_text(2)


@pytest.mark.slow
async def test_a_tool_that_is_not_there_is_not_advised(testbed: ModelTestbed, where: Path, opened: Opener) -> None:
    testbed.provider.script(apply(create("import not_here_at_all", name="learn")), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        await driver.work()
        assert "This module is not there" in driver.sent_text(2)
        assert "install_package" not in driver.sent_text(2)


NO_HOST = "raise OSError(\"port 443 of host 'data.example' is not approved for this notebook\")"


@pytest.mark.slow
@pytest.mark.parametrize("is_allowed", [True, False])
async def test_permission_for_a_host_is_asked_before_the_cell_runs_again(
    testbed: ModelTestbed, where: Path, opened: Opener, is_allowed: bool
) -> None:
    let: list[Action] = []

    async def put_into_effect(action: Action) -> None:
        let.append(action)

    then = 'then = "allow"\nhosts = ["data.example"]' if is_allowed else 'then = "deny"'
    rules = f'[[rule]]\naction = "use-network"\n{then}\nreason = "So it was agreed."\n'
    testbed.provider.script(apply(create(NO_HOST, name="fetch")), DONE)
    async with (
        opened("x = 1") as notebook,
        open_driver(
            testbed, where, notebook=notebook, rules=rules, studio={"put_into_effect": put_into_effect}
        ) as driver,
    ):
        await driver.work()
        assert let == ([UseNetwork(host="data.example", port=443, purpose="the notebook")] if is_allowed else [])
        assert len(await names(driver, "tool run")) == is_allowed
        assert ("It may not be done. The notebook cannot reach this host" in driver.sent_text(2)) is not is_allowed


# ── again and again ──


def wrong(number: int) -> CallTool:
    """Another cell that fails in the same way."""
    return apply(create(f"_{number} = 1 + 'a'", name=f"wrong{number}"), text=f"Try {number}.")


@pytest.mark.slow
async def test_the_same_failure_changes_strategy_then_asks_and_the_answer_is_heard(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(*map(wrong, range(4)), DONE)
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        await driver.start()
        asked = await driver.asked()
        assert "I cannot get past this failure" in asked.question.text
        await driver.journal.answer(asked.id, {"choice": "try on as you think best"}, by="ada")
        assert (await driver.report()).outcome == "finished"
        assert "The same failure again" in driver.sent_text(3)
        assert "reach the same goal in another way" in driver.sent_text(4)
        assert "answered: try on as you think best" in driver.sent_text(5)
        assert "Ask the person now" not in driver.sent_text(5)


@pytest.mark.slow
async def test_a_person_who_is_asked_can_stop_the_work(testbed: ModelTestbed, where: Path, opened: Opener) -> None:
    testbed.provider.script(*map(wrong, range(4)))
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        await driver.start()
        asked = await driver.asked()
        await driver.journal.answer(asked.id, {"choice": asked.question.choices[-1]}, by="ada")
        assert (await driver.report()).outcome == "stopped"


@pytest.mark.slow
async def test_with_nobody_to_ask_it_gives_up_with_what_it_has(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(*map(wrong, range(9)))
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        report = await driver.work(an_assignment(is_attended=False))
        assert (report.outcome, report.turns, report.summary) == ("gave-up", 4, "Try 3.")
        assert "TypeError" in report.why


async def test_a_role_without_apply_repairs_nothing(testbed: ModelTestbed, where: Path, opened: Opener) -> None:
    testbed.provider.script(CallTool("run", {"cells": "all"}), DONE)
    role = a_role(tools=("run", "finish"))
    async with (
        opened("import math", "import math\nmath.pi") as notebook,
        open_driver(testbed, where, notebook=notebook, roles=[role]) as driver,
    ):
        before = notebook.path.read_text()
        await driver.work()
        assert notebook.path.read_text() == before
        assert not any("m1" in str(message.get("tool_calls", "")) for message in _messages(driver))


def _messages(driver: AgentDriver) -> list[dict[str, Any]]:
    return driver.sent(2)


# ── in a branch first ──


async def branches(driver: AgentDriver) -> list[TrialRecord]:
    events = [recorded.event async for recorded in driver.journal.log.read_all("run:r")]
    return [event for event in events if isinstance(event, TrialRecord)]


@pytest.mark.slow
async def test_a_models_repair_reaches_the_notebook_only_when_it_runs_in_a_branch(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    def mend(code: str) -> CallTool:
        return apply({"op": "edit", "cell": "total", "base_version": 1, "code": code})

    testbed.provider.script(
        CallTool("run", {"cells": "all"}),
        apply(create("total = sum(numbers) + 'a'", name="total")),
        mend("numbers.clear()\ntotal = numbers[0]"),
        # The version of the mend before it never was: this one counts from the same.
        mend("total = sum(numbers)"),
        DONE,
    )
    async with opened("numbers = [1, 2, 3]") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).outcome == "finished"
        assert "Tried in a branch (fork), where it failed" in driver.sent_text(4)
        assert "IndexError" in driver.sent_text(4)
        text = notebook.path.read_text()
        assert "numbers.clear" not in text
        assert "total = sum(numbers)" in text
        values = await notebook.values(["numbers", "total"])
        assert {name: value.json for name, value in values.items()} == {"numbers": [1, 2, 3], "total": 6}
        told = [(each.purpose, each.agent, each.status, each.is_kept) for each in await branches(driver)]
        assert told == [("mend total", "r", "failed", False), ("mend total", "r", "passed", True)]


@pytest.mark.slow
async def test_a_deterministic_repair_is_tried_in_a_branch_too(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(apply(create("import math\nroot = math.sqrt(16)\nroot", name="root")), DONE)
    async with opened("import math") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work()).outcome == "finished"
        [tried] = await branches(driver)
        assert (tried.branch, tried.status, tried.is_kept) == ("r/s1m1", "passed", True)
