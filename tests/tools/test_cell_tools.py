"""A notebook's functions, and whole notebooks, called as an agent calls them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from cellwright.app import Files
from cellwright.journal.effects import EffectFinding, EffectNotFound, EffectUnknown
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.policy.approvals import No
from cellwright.sandbox.spec import FilesMode
from cellwright.tools.approval.guard import audit_trail
from cellwright.tools.cell_tools import cell_tools, function_tools, notebook_call_tool
from cellwright.tools.stubs import signature_of
from cellwright.tools.tool import Done, Refusal, ToolError, Toolset, result_text
from tests.tools.call_driver import CallDriver, open_driver
from tests.tools.guard_driver import ADA

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
CELLS = (
    "import cellwright",
    "birds = {'wren': 9.5}",
    '''@cellwright.tool
def weight(name: str, times: int = 1) -> dict:
    """What a bird weighs.

    In grams."""
    return {"grams": birds[name] * times}''',
    "@cellwright.tool\ndef apply(x: int) -> int:\n    print('hi')\n    return x",
)
NO_CODE = '[[rule]]\naction = "run-code"\nthen = "deny"\nreason = "Look only."\n'


@asynccontextmanager
async def at_work(opened: Opener, where: Path, rules: str = "") -> AsyncGenerator[tuple[OpenNotebook, CallDriver]]:
    async with opened(*CELLS) as notebook:
        await notebook.run("all")
        tools = [*cell_tools(notebook), *await function_tools(notebook, taken=["apply"])]
        async with open_driver(where, tools, rules=rules, project=str(notebook.path.parent)) as driver:
            yield notebook, driver


@pytest.mark.slow
async def test_an_agent_sees_the_functions_and_calls_them_with_live_variables(opened: Opener, where: Path) -> None:
    async with at_work(opened, where) as (notebook, driver):
        listed = await driver.call("list_functions", run="a")
        assert result_text(listed) == snapshot("""\
apply(x: int): no description
weight(name: str, times: int = 1): What a bird weighs.\
""")
        done = await driver.call(
            "call_function", {"name": "weight", "arguments": {"name": "wren", "times": 2}}, run="b"
        )
        assert isinstance(done, Done)
        assert (done.value, done.is_untrusted) == ({"grams": 19.0}, True)
        typed = await driver.call("weight", {"name": "wren"}, run="c")
        assert isinstance(typed, Done)
        assert typed.value == {"grams": 9.5}
        trail = audit_trail(await driver.journal.log.audit())
        assert [(line.entry.kind, line.entry.result) for line in trail] == [("run-code", "done")] * 2
        assert "def weight(name: str" in trail[0].entry.what
        assert "weight(name='wren', times=2)" in trail[0].entry.what
        assert notebook.outcomes.keys() == {cell.id for cell in notebook.document.cells}


async def test_typed_tools_say_what_they_take_and_give_way_to_names_that_are_taken(opened: Opener, where: Path) -> None:
    async with at_work(opened, where) as (notebook, driver):
        tools = Toolset(await function_tools(notebook, taken=["apply"]))
        words = "A function of the notebook, in its own words: "
        assert [(each.name, signature_of(each.parameters), each.description) for each in tools] == [
            ("notebook_apply", "(x: int)", f"{words}(none)"),
            ("weight", "(name: str, times: int = 1)", f"{words}What a bird weighs.\n\nIn grams."),
        ]
        done = await driver.call("notebook_apply", {"x": 3}, run="a")
        assert result_text(done) == "int: 3\nprinted:\nhi"
        wrong = [await driver.call("weight", given, run=f"w{n}") for n, given in enumerate([{}, {"name": "x", "y": 1}])]
        assert [result_text(result) for result in wrong] == snapshot(
            [
                "Error (bad-arguments): weight: name is missing. It takes (name: str, times: int = 1).",
                "Error (bad-arguments): weight: there is no parameter 'y'. It takes (name: str, times: int = 1).",
            ]
        )


async def test_what_goes_wrong_is_told_with_its_line(opened: Opener, where: Path) -> None:
    async with at_work(opened, where) as (notebook, driver):
        failed = await driver.call("weight", {"name": "dodo"}, run="a")
        assert isinstance(failed, ToolError)
        cell = notebook.document.cells[2].id
        assert failed.message.startswith(f"weight raised KeyError (line 6 of cell {cell}): 'dodo'")
        typed = await driver.call("weight", {"name": "wren", "times": "two"}, run="b")
        assert result_text(typed) == "Error (bad-arguments): weight: Expected `int`, got `str` - at `$.times`"


async def test_rules_against_running_code_hold_for_functions_too(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, NO_CODE) as (_, driver):
        refused = await driver.call("weight", {"name": "wren"}, run="a")
        assert isinstance(refused, Refusal)
        assert refused.feedback.endswith("Look only.")
        calling = {"name": "weight", "arguments": {"name": "wren"}}
        assert isinstance(await driver.call("call_function", calling, run="b"), Refusal)


async def test_after_a_crash_a_call_is_made_again_unless_files_are_changed_directly(
    opened: Opener, where: Path
) -> None:
    modes: list[tuple[FilesMode, EffectFinding]] = [("keep", EffectNotFound()), ("direct", EffectUnknown())]
    for mode, found in modes:
        async with opened(*CELLS, files=Files(mode=mode)) as notebook:
            call: Any = cell_tools(notebook)[1]
            assert await call.find(None, None) == found


@pytest.mark.slow
async def test_another_notebook_is_called_as_a_function(
    opened: Opener, write_notebook: Callable[..., Path], where: Path
) -> None:
    path = write_notebook("import marimo as mo\nsize = mo.ui.slider(1, 9)", "area = size.value ** 2", "bad = 1 / 0")
    tool = notebook_call_tool(lambda found: opened(path=found, files=Files(mode="drop")), path.parent)
    async with open_driver(where, [tool], project=str(path.parent)) as driver:
        given = {"path": path.name, "inputs": {"size": 5}, "outputs": ["area", "size"]}
        done = await driver.call("call_notebook", given, run="a")
        assert isinstance(done, Done)
        assert done.value == {"area": 25, "size": 5}
        failed = await driver.call("call_notebook", {"path": path.name, "outputs": ["area", "bad"]}, run="b")
        assert isinstance(failed, ToolError)
        assert "No value for bad" in failed.message
        assert "ZeroDivisionError (line 1)" in failed.message
        outside = await driver.call("call_notebook", {"path": "../other.py", "outputs": ["x"]}, run="c")
        assert result_text(outside).startswith("Error (bad-arguments): '../other.py' is not in the project.")


async def test_a_person_who_is_asked_sees_the_notebook_and_what_it_is_given(
    opened: Opener, write_notebook: Callable[..., Path], where: Path
) -> None:
    path = write_notebook("n = 1", "m = n + 1")
    tool = notebook_call_tool(lambda found: opened(path=found), path.parent)
    rules = '[[rule]]\naction = "run-code"\nthen = "ask"\n'
    async with open_driver(where, [tool], rules=rules, project=str(path.parent)) as driver:
        await driver.begin("a", ("call_notebook", {"path": path.name, "inputs": {"n": 41}, "outputs": ["m"]}))
        question = (await driver.asked()).question
        assert "# with n=41 given" in question.describe()
        await driver.inbox.answer(question.id, No(feedback="not now"), ADA, question.fingerprint)
        [refused] = await driver.results("a")
        assert isinstance(refused, Refusal)
