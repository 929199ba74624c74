"""Readings in the loop: a scripted model lists them, a real kernel tries them, a person or the answer settles it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.testing import CallTool
from cellwright.tools.history.timeline import read_timeline
from tests.agents.driver import DONE, an_assignment, open_driver
from tests.conftest import Opener
from tests.models.testbed import ModelTestbed

DATA = "orders = [('a', 10), ('b', 30), ('?', 35)]"
KNOWN = "_known = [amount for who, amount in orders if who != '?']\nsum(_known) / len(_known)"
ALL = "sum(amount for _, amount in orders) / len(orders)"


def reading(name: str, description: str, how: str) -> dict[str, Any]:
    return {"name": name, "kind": "unmatched-rows", "description": description, "how": how}


RUN = CallTool("run", {"cells": "all"})
COMPARE = CallTool(
    "compare_readings",
    {
        "readings": [
            reading("known customers", "Orders of unknown customers are left out", KNOWN),
            reading("all orders", "Orders of unknown customers count", ALL),
        ]
    },
)


@pytest.mark.slow
async def test_where_readings_differ_the_person_is_asked_with_their_values(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(RUN, COMPARE, CallTool("finish", {"summary": "s", "answer": "25"}))
    async with opened(DATA) as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        await driver.start(an_assignment("The mean order?", role="investigator"))
        question = await driver.asked()
        assert "known customers: Orders of unknown customers are left out → 20" in question.question.text
        assert question.question.choices == ("known customers", "all orders")
        await driver.journal.answer(question.id, {"choice": "all orders"}, by="ada")
        report = await driver.report()
        assert (report.outcome, report.answer, report.failed_turns) == ("finished", "25", 0)
        assert "The person answered: all orders" in driver.sent_text(3)


@pytest.mark.slow
async def test_with_nobody_to_ask_the_answer_must_name_every_reading(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    testbed.provider.script(RUN, COMPARE, CallTool("finish", {"summary": "s", "answer": "20"}))
    async with opened(DATA) as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        report = await driver.work(an_assignment("The mean order?", role="coder", is_attended=False))
        assert report.outcome == "finished"
        told = "20 (Orders of unknown customers are left out). Read otherwise: Orders of unknown customers count: 25"
        assert told in driver.sent_text(3)


@pytest.mark.slow
async def test_trying_readings_leaves_nothing_behind_and_undo_takes_back_what_the_agent_did_before(
    testbed: ModelTestbed, where: Path, opened: Opener
) -> None:
    made = CallTool("apply", {"edits": [{"op": "create", "name": "mine", "code": "count = len(orders)"}]})
    testbed.provider.script(RUN, made, COMPARE, CallTool("undo", {}), CallTool("undo", {}), DONE)
    async with opened(DATA) as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        before: list[bytes] = [notebook.path.read_bytes()]
        report = await driver.work(an_assignment("The mean order?", is_attended=False))
        assert report.outcome == "finished"
        assert "Read otherwise" in driver.sent_text(4)
        assert "There is nothing left to undo." in driver.sent_text(6)
        assert notebook.path.read_bytes() == before[0]
        assert [cell.code for cell in notebook.document.cells] == [DATA]
        timeline = read_timeline(testbed.home / "desk.json")
        assert timeline is not None
        assert [revision.key for revision in timeline.revisions] == ["r/s2c1", "r/s4c1"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("role", "has_it"), [("investigator", True), ("coder", True), ("planner", False), ("writer", False)]
)
async def test_only_roles_that_answer_questions_compare_readings(
    testbed: ModelTestbed, where: Path, opened: Opener, role: str, has_it: bool
) -> None:
    testbed.provider.script(CallTool("finish", {"summary": "s"}))
    async with opened("x = 1") as notebook, open_driver(testbed, where, notebook=notebook) as driver:
        assert (await driver.work(an_assignment(role=role))).outcome == "finished"
        assert ("compare_readings" in driver.requests()[0].tools) is has_it
