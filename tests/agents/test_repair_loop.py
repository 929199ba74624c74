"""Mending in the loop: scripted models write wrong code in a real notebook; what is certain is mended without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.policy.actions import Action, UseNetwork
from cellwright.testing import CallTool
from cellwright.tools.notebook.trial_records import TrialRecord
from tests.agents.test_notebook_work import apply, create
from tests.agents.workshop import DONE, Workshop, a_role, an_assignment, open_workshop
from tests.conftest import Opener
from tests.models.houses import House


async def names(shop: Workshop, beginning: str) -> list[str]:
    return [name for name in await shop.step_names() if name.startswith(beginning)]


# ── certain ──


@pytest.mark.slow
async def test_a_second_import_of_the_same_is_dropped_without_the_model(
    house: House, where: Path, opened: Opener
) -> None:
    house.provider.script(apply(create("import math\nroot = math.sqrt(16)\nroot", name="root")), DONE)
    async with opened("import math") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        report = await shop.work()
        assert (report.outcome, report.turns) == ("finished", 2)
        text = notebook.path.read_text()
        assert text.count("import math") == 1
        assert "root = math.sqrt(16)" in text
        told = shop.sent_text(2)
        assert "Done for you, because it was certain: s1m1." in told
        assert "root = 4.0" in told
        assert "A global name must be defined by exactly one cell" not in told
        assert await names(shop, "mend") == ["mend 1"]


@pytest.mark.slow
async def test_a_misspelt_column_is_looked_up_in_the_kernel_for_the_model(
    house: House, where: Path, opened: Opener
) -> None:
    data = "import pandas as pd\ndf = pd.DataFrame({'Unit Price ': [1, 2]})"
    edit = {"op": "edit", "cell": "total", "base_version": 1, "code": "total = df['Unit Price '].sum()\ntotal"}
    house.provider.script(
        CallTool("run", {"cells": "all"}),
        apply(create("total = df['unit price'].sum()\ntotal", name="total")),
        apply(edit),
        DONE,
    )
    async with opened(data) as notebook, open_workshop(house, where, notebook=notebook) as shop:
        assert (await shop.work()).turns == 4
        told = shop.sent_text(3).replace("\\", "")
        assert "nearest first" in told
        assert "'Unit Price '" in told
        text = notebook.path.read_text()
        assert "df['Unit Price ']" in text.replace('"', "'")
        assert "_reading" not in text
        assert (await names(shop, "mend"))[:2] == ["mend 2", "mend 2 with columns"]


@pytest.mark.slow
async def test_a_cell_of_a_person_is_never_repaired_without_a_model(house: House, where: Path, opened: Opener) -> None:
    house.provider.script(CallTool("run", {"cells": "all"}), DONE)
    async with opened("text = open('Sales.csv').read()") as notebook:
        (notebook.path.parent / "sales.csv").write_text("a\n")
        async with open_workshop(house, where, notebook=notebook) as shop:
            await shop.work()
            assert "open('Sales.csv')" in notebook.path.read_text().replace('"', "'")
            assert "There is no file at this path" in shop.sent_text(2)
            assert "nearest first" in shop.sent_text(2)


@pytest.mark.slow
async def test_a_tool_that_is_not_there_is_not_advised(house: House, where: Path, opened: Opener) -> None:
    house.provider.script(apply(create("import not_here_at_all", name="learn")), DONE)
    async with opened("x = 1") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        await shop.work()
        assert "This module is not there" in shop.sent_text(2)
        assert "install_package" not in shop.sent_text(2)


NO_HOST = "raise OSError(\"port 443 of host 'data.example' is not approved for this notebook\")"


@pytest.mark.slow
@pytest.mark.parametrize("is_allowed", [True, False])
async def test_permission_for_a_host_is_asked_before_the_cell_runs_again(
    house: House, where: Path, opened: Opener, is_allowed: bool
) -> None:
    let: list[Action] = []

    async def put_into_effect(action: Action) -> None:
        let.append(action)

    then = 'then = "allow"\nhosts = ["data.example"]' if is_allowed else 'then = "deny"'
    rules = f'[[rule]]\naction = "use-network"\n{then}\nreason = "So it was agreed."\n'
    house.provider.script(apply(create(NO_HOST, name="fetch")), DONE)
    async with (
        opened("x = 1") as notebook,
        open_workshop(
            house, where, notebook=notebook, rules=rules, studio={"put_into_effect": put_into_effect}
        ) as shop,
    ):
        await shop.work()
        assert let == ([UseNetwork(host="data.example", port=443, purpose="the notebook")] if is_allowed else [])
        assert len(await names(shop, "tool run")) == is_allowed
        assert ("It may not be done. The notebook cannot reach this host" in shop.sent_text(2)) is not is_allowed


# ── again and again ──


def wrong(number: int) -> CallTool:
    """Another cell that fails in the same way."""
    return apply(create(f"_{number} = 1 + 'a'", name=f"wrong{number}"), text=f"Try {number}.")


@pytest.mark.slow
async def test_the_same_failure_changes_strategy_then_asks_and_the_answer_is_heard(
    house: House, where: Path, opened: Opener
) -> None:
    house.provider.script(*map(wrong, range(4)), DONE)
    async with opened("x = 1") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        await shop.start()
        asked = await shop.asked()
        assert "I cannot get past this failure" in asked.question.text
        await shop.journal.answer(asked.id, {"choice": "try on as you think best"}, by="ada")
        assert (await shop.report()).outcome == "finished"
        assert "The same failure again" in shop.sent_text(3)
        assert "reach the same goal in another way" in shop.sent_text(4)
        assert "answered: try on as you think best" in shop.sent_text(5)
        assert "Ask the person now" not in shop.sent_text(5)


@pytest.mark.slow
async def test_a_person_who_is_asked_can_stop_the_work(house: House, where: Path, opened: Opener) -> None:
    house.provider.script(*map(wrong, range(4)))
    async with opened("x = 1") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        await shop.start()
        asked = await shop.asked()
        await shop.journal.answer(asked.id, {"choice": asked.question.choices[-1]}, by="ada")
        assert (await shop.report()).outcome == "stopped"


@pytest.mark.slow
async def test_with_nobody_to_ask_it_gives_up_with_what_it_has(house: House, where: Path, opened: Opener) -> None:
    house.provider.script(*map(wrong, range(9)))
    async with opened("x = 1") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        report = await shop.work(an_assignment(is_attended=False))
        assert (report.outcome, report.turns, report.summary) == ("gave-up", 4, "Try 3.")
        assert "TypeError" in report.why


async def test_a_role_without_apply_repairs_nothing(house: House, where: Path, opened: Opener) -> None:
    house.provider.script(CallTool("run", {"cells": "all"}), DONE)
    role = a_role(tools=("run", "finish"))
    async with (
        opened("import math", "import math\nmath.pi") as notebook,
        open_workshop(house, where, notebook=notebook, roles=[role]) as shop,
    ):
        before = notebook.path.read_text()
        await shop.work()
        assert notebook.path.read_text() == before
        assert not any("m1" in str(message.get("tool_calls", "")) for message in _messages(shop))


def _messages(shop: Workshop) -> list[dict[str, Any]]:
    return shop.sent(2)


# ── in a branch first ──


async def branches(shop: Workshop) -> list[TrialRecord]:
    events = [recorded.event async for recorded in shop.journal.log.read_all("run:r")]
    return [event for event in events if isinstance(event, TrialRecord)]


@pytest.mark.slow
async def test_a_models_repair_reaches_the_notebook_only_when_it_runs_in_a_branch(
    house: House, where: Path, opened: Opener
) -> None:
    def mend(code: str) -> CallTool:
        return apply({"op": "edit", "cell": "total", "base_version": 1, "code": code})

    house.provider.script(
        CallTool("run", {"cells": "all"}),
        apply(create("total = sum(numbers) + 'a'", name="total")),
        mend("numbers.clear()\ntotal = numbers[0]"),
        # The version of the mend before it never was: this one counts from the same.
        mend("total = sum(numbers)"),
        DONE,
    )
    async with opened("numbers = [1, 2, 3]") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        assert (await shop.work()).outcome == "finished"
        assert "Tried in a branch (fork), where it failed" in shop.sent_text(4)
        assert "IndexError" in shop.sent_text(4)
        text = notebook.path.read_text()
        assert "numbers.clear" not in text
        assert "total = sum(numbers)" in text
        values = await notebook.values(["numbers", "total"])
        assert {name: value.json for name, value in values.items()} == {"numbers": [1, 2, 3], "total": 6}
        told = [(each.purpose, each.agent, each.status, each.is_kept) for each in await branches(shop)]
        assert told == [("mend total", "r", "failed", False), ("mend total", "r", "passed", True)]


@pytest.mark.slow
async def test_a_deterministic_repair_is_tried_in_a_branch_too(house: House, where: Path, opened: Opener) -> None:
    house.provider.script(apply(create("import math\nroot = math.sqrt(16)\nroot", name="root")), DONE)
    async with opened("import math") as notebook, open_workshop(house, where, notebook=notebook) as shop:
        assert (await shop.work()).outcome == "finished"
        [tried] = await branches(shop)
        assert (tried.branch, tried.status, tried.is_kept) == ("r/s1m1", "passed", True)
