"""Agents whose goal is about a notebook in somebody's own `marimo edit`: asked each time, never overwriting."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from cellwright.app.attached_goals import AttachedUse, keep_token
from cellwright.kernel.attached.marimo_server import ServerAddress
from cellwright.kernel.pool import KernelPool
from cellwright.notebook.edits import EditCell
from cellwright.policy.approvals import Yes
from cellwright.settings import Settings
from cellwright.testing import CallTool
from tests.agents.driver import DONE, an_assignment
from tests.app.agents_at_work import open_agents_at_work
from tests.kernel.stock_marimo import StockMarimo, stock_marimo, write_notebook
from tests.kernel.test_attached_notebook import attached, codes
from tests.models.testbed import ModelTestbed

Project = Callable[..., Path]
TOKEN = "stock-token-5a1e"


@pytest.fixture
def stock(tmp_path_factory: pytest.TempPathFactory, testbed: ModelTestbed) -> Generator[StockMarimo]:
    folder = tmp_path_factory.mktemp("stock")
    with stock_marimo(write_notebook(folder / "sums.py", "x = 1", "y = x + 1\ny"), token=TOKEN) as server:
        address = ServerAddress.parse(server.url, TOKEN)
        keep_token(address, Settings(home=testbed.home, cache=testbed.home / "cache"))
        yield server


def use(name: str, **arguments: Any) -> CallTool:
    return CallTool("use", {"name": name, "arguments": arguments})


def create(code: str) -> CallTool:
    return use("apply_attached", edits=[{"op": "create", "code": code}])


async def versions(stock: StockMarimo) -> dict[str, tuple[str, int]]:
    async with attached(stock) as notebook:
        return {cell.code: (cell.id, cell.version) for cell in notebook.document.cells}


async def code_there(stock: StockMarimo) -> list[str]:
    async with attached(stock) as notebook:
        return codes(notebook)


async def test_an_agent_changes_a_stock_notebook_after_a_yes_to_exactly_that_and_it_is_audited(
    testbed: ModelTestbed, where: Path, project: Project, pool: KernelPool, stock: StockMarimo
) -> None:
    testbed.provider.script(create("z = y * 21\nz"), create("w = 1"), use("undo_attached"), DONE)
    place = AttachedUse(url=stock.url, file=str(stock.notebook))
    async with open_agents_at_work(testbed, where, project("x = 1"), pool=pool, attached=place) as driver:
        await driver.start(an_assignment("Triple it."))
        asked = await driver.say_yes()
        assert "Change a cell of a notebook outside our cage" in asked and "+z = y * 21" in asked
        assert (await driver.approval()).question.offers == ("once", "run")
        assert "+w = 1" in await driver.say_no("not that one")
        assert "-z = y * 21" in await driver.answer(Yes(reach="run"))
        assert (await driver.report()).outcome == "finished"
        assert 'from="attached notebook"' in driver.sent_text(1) and "y = x + 1" in driver.sent_text(1)
        assert re.search(r"output: ?42|output = 42|z: int = 42|z = 42|= 42", driver.sent_text(2)), driver.sent_text(2)
        assert "not that one" in driver.sent_text(3)
        kinds = [line for line in await driver.judged() if line[0] == "change-attached"]
        assert kinds == [
            ("change-attached", "allow", "done"),
            ("change-attached", "deny", "refused"),
            ("change-attached", "allow", "done"),
        ]
        assert TOKEN not in str([request.body for request in driver.requests()])
    assert await code_there(stock) == ["x = 1", "y = x + 1\ny"]
    for file in where.parent.glob("journal.db*"):
        assert TOKEN.encode() not in file.read_bytes()


@pytest.mark.slow
async def test_a_cell_that_its_person_changed_while_the_question_waited_keeps_their_text(
    testbed: ModelTestbed, where: Path, project: Project, pool: KernelPool, stock: StockMarimo
) -> None:
    id, version = (await versions(stock))["x = 1"]
    edit = {"op": "edit", "cell": id, "base_version": version, "code": "x = 100"}
    testbed.provider.script(use("apply_attached", edits=[edit]), DONE)
    place = AttachedUse(url=stock.url, file="")
    async with open_agents_at_work(testbed, where, project("x = 1"), pool=pool, attached=place) as driver:
        await driver.start()
        await driver.approval()
        await _change_as_person(stock, "x = 1", "x = 7")
        assert "+x = 100" in await driver.say_yes()
        assert (await driver.report()).outcome == "finished"
        assert "x = 7" in driver.sent_text(2)
    assert "x = 7" in await code_there(stock)


async def _change_as_person(stock: StockMarimo, code: str, new: str) -> None:
    async with attached(stock) as person:
        cell = next(cell for cell in person.document.cells if cell.code == code)
        seen = await person.apply([EditCell(cell=cell.id, base_version=cell.version, code=new)])
        assert seen.refused is None


@pytest.mark.slow
async def test_unattended_nothing_is_executed_there_and_no_rule_allows_it(
    testbed: ModelTestbed, where: Path, project: Project, pool: KernelPool, stock: StockMarimo
) -> None:
    testbed.provider.script(create("z = 1"), DONE)
    place = AttachedUse(url=stock.url, file="")
    async with open_agents_at_work(testbed, where, project("x = 1"), pool=pool, attached=place) as driver:
        assert (await driver.work(an_assignment(is_attended=False))).outcome == "finished"
        # What nobody there could allow is not offered, so there is nothing to judge.
        assert "No tool 'apply_attached'" in driver.sent_text(2)
        assert [line for line in await driver.judged() if line[0] == "change-attached"] == []
    assert await code_there(stock) == ["x = 1", "y = x + 1\ny"]
