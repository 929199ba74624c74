"""Readings of a question, tried in real kernels: where they differ somebody is asked, or told the other values."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic_ai.tools import ToolDefinition

from cellwright.agents.reading_answers import (
    Evaluate,
    ListAnswer,
    NoAnswer,
    NumberAnswer,
    ReadingAnswer,
    TableAnswer,
    TextAnswer,
    answer_code,
    answer_text,
    compare_answers,
    evaluate_answer,
    parse_printed_answer,
)
from cellwright.agents.readings import (
    CHECKLIST,
    Reading,
    ReadingComparison,
    compare,
    compare_readings,
    comparison_text,
    readings_tool,
    without_doubles,
)
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, DeleteCell
from cellwright.notebook.files import read
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.rule_file import read_rules
from cellwright.tools.approval.guard import Guard
from cellwright.tools.callers import standard
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.reports import observation_json
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.tool import Done, Refusal, ToolResult, Toolset
from tests.conftest import Opener
from tests.tools.call_driver import CallDriver, open_driver
from tests.tools.guard_driver import MASKER, WHO

ORDERS = """
import pandas as pd
orders = pd.DataFrame({'customer': [1, 1, 2, 9], 'amount': [10.0, 20.0, 30.0, 40.0]})
customers = pd.DataFrame({'customer': [1, 2, 3], 'country': ['de', 'fr', 'de']})
joined = orders.merge(customers, on='customer', how='left')
"""
MEAN = [
    {
        "name": "known customers",
        "kind": "unmatched-rows",
        "description": "Orders of unknown customers are left out.",
        "how": "joined.dropna(subset=['country']).amount.mean()",
    },
    {
        "name": "all orders",
        "kind": "unmatched-rows",
        "description": "Orders of unknown customers count, too.",
        "how": "joined.amount.mean()",
    },
]
LARGEST = [
    {**MEAN[0], "how": "joined.dropna(subset=['country']).groupby('country').amount.sum()"},
    {**MEAN[1], "how": "joined.groupby('country').amount.sum().sort_index(ascending=False)"},
]


def readings(proposed: Sequence[Mapping[str, Any]]) -> list[Reading]:
    return [Reading(**given) for given in proposed]


def scratch(notebook: OpenNotebook) -> Evaluate:
    async def evaluate(code: str) -> ToolResult:
        made = await notebook.apply([CreateCell(code=code)])
        cell = notebook.document.cells[-1]
        await notebook.apply([DeleteCell(cell=cell.id, base_version=cell.version)])
        return Done(text="", value=observation_json(made))

    return evaluate


# ── in a kernel ──


async def test_a_join_whose_readings_differ_is_settled_by_asking_or_by_telling_both(opened: Opener) -> None:
    async with opened(ORDERS) as notebook:
        await notebook.run("all")
        differing = await compare_readings(readings(MEAN), scratch(notebook))
        assert differing.says == "different"
        assert differing.question() == snapshot(
            """\
The question can be read in several ways, and the answer depends on it:
- known customers: Orders of unknown customers are left out. → 20
- all orders: Orders of unknown customers count, too. → 25
Which do you mean?\
"""
        )
        assert differing.plainest() == snapshot(
            "20 (Orders of unknown customers are left out). Read otherwise: Orders of unknown customers count, too: 25."
        )


@pytest.mark.slow
async def test_a_join_whose_readings_agree_needs_nobody(opened: Opener) -> None:
    async with opened(ORDERS) as notebook:
        await notebook.run("all")
        agreed = await compare_readings(readings(LARGEST), scratch(notebook))
        assert agreed.says == "same"
        assert answer_text(agreed.tried[0][1]) == "2 rows of country/amount: de/30.0; fr/30.0"


VALUES: list[tuple[str, ReadingAnswer]] = [
    ("1 + 1", NumberAnswer(number=2)),
    ("import numpy as np\nnp.float64(2.5)", NumberAnswer(number=2.5)),
    ("from decimal import Decimal\nDecimal('0.25')", NumberAnswer(number=0.25)),
    ("'a\\nb'", TextAnswer(text="a\nb")),
    ("'''a\n  b'''", TextAnswer(text="a\n  b")),
    ("True", TextAnswer(text="True")),
    ("float('nan')", TextAnswer(text="nan")),
    ("import datetime\ndatetime.date(2024, 5, 1)", TextAnswer(text="2024-05-01")),
]


@pytest.mark.slow
async def test_values_of_every_kind_come_back_as_they_are(opened: Opener) -> None:
    async with opened("import pandas as pd\nimport polars as pl\nimport numpy as np\nbase = 3") as notebook:
        await notebook.run("all")
        before = notebook.document.cells
        evaluate = scratch(notebook)
        for how, answer in VALUES:
            assert await evaluate_answer(how, evaluate) == answer, how
        listed = await evaluate_answer("{'b', 'a'}", evaluate)
        assert isinstance(listed, ListAnswer)
        assert (listed.items, listed.is_whole, listed.texts()) == (("a", "b"), True, ("a", "b"))
        tables = [
            "pd.DataFrame({'k': ['a', 'b'], 'v': [1, 2]})",
            "pd.Series([1, 2], index=pd.Index(['a', 'b'], name='k'), name='v')",
            "pl.DataFrame({'v': [2, 1], 'k': ['b', 'a']})",
            "pl.LazyFrame({'k': ['a', 'b'], 'v': [1, 2]})",
            "{'a': 1, 'b': 2}",
            "np.array([['a', 1], ['b', 2]], dtype=object)",
        ]
        answers = [await evaluate_answer(how, evaluate) for how in tables]
        assert {compare_answers(answers[0], other) for other in answers} == {"same"}
        big = [await evaluate_answer(f"list(range({n}))", evaluate) for n in (5_000, 5_000, 5_001)]
        assert [compare_answers(big[0], other) for other in big] == ["same", "same", "different"]
        assert notebook.document.cells == before
        assert [cell for cell in notebook.outcomes if notebook.document.find(cell) is not None] == [before[0].id]


@pytest.mark.slow
async def test_a_reading_that_cannot_be_tried_says_why(opened: Opener) -> None:
    async with opened("base = 3") as notebook:
        await notebook.run("all")
        evaluate = scratch(notebook)
        assert await evaluate_answer("base / 0", evaluate) == NoAnswer(why="ZeroDivisionError: division by zero")
        assert await evaluate_answer("x = 1", evaluate) == NoAnswer(why="It is no Python that ends with an expression.")
        long = await evaluate_answer("range(200_000)", evaluate)
        assert isinstance(long, NoAnswer)
        assert "200,000 rows is too long" in long.why
        proposed = readings([{**MEAN[0], "how": "base"}, {**MEAN[1], "how": "nothing"}])
        assert (await compare_readings(proposed, evaluate)).says == "unknown"


# ── as a tool ──


@asynccontextmanager
async def at_work(opened: Opener, where: Path, *, attended: bool) -> AsyncGenerator[tuple[OpenNotebook, CallDriver]]:
    async with opened(ORDERS) as notebook:
        await notebook.run("all")
        tools = notebook_tools(await NotebookEditor.open(notebook, where.parent / "desk.json"))
        guard = Guard(rules=read_rules([BUILT_IN_RULES], project=str(notebook.path.parent)), masker=MASKER)
        caller = standard(Toolset(tools), guard=guard, masker=MASKER, who=WHO, kept=None)
        project = str(notebook.path.parent)
        async with open_driver(where, [*tools, readings_tool(caller, attended=attended)], project=project) as driver:
            yield notebook, driver


@pytest.mark.slow
async def test_an_agent_compares_readings_in_one_call_and_the_notebook_stays_as_it_was(
    opened: Opener, where: Path
) -> None:
    async with at_work(opened, where, attended=False) as (notebook, driver):
        before = [cell.code for cell in notebook.document.cells]
        done = await driver.call("compare_readings", {"readings": MEAN})
        assert isinstance(done, Done)
        assert done.text.splitlines() == snapshot(
            [
                "They differ: only known customers gives 20.0; only all orders gives 25.0. "
                "Nobody can be asked: take 'known customers', since it is the plainest. "
                "The delivery says by itself: 20 (Orders of unknown customers are left out). "
                "Read otherwise: Orders of unknown customers count, too: 25.",
                "- known customers: 20.0",
                "- all orders: 25.0",
            ]
        )
        assert done.is_untrusted
        assert [cell.code for cell in read(notebook.path).document.cells] == before


@pytest.mark.slow
async def test_a_person_is_asked_with_the_values_and_the_answer_comes_back(opened: Opener, where: Path) -> None:
    async with at_work(opened, where, attended=True) as (_, driver):
        await driver.begin("r", ("compare_readings", {"readings": MEAN}))
        with anyio.fail_after(120):
            news = driver.journal.log.growth.next()
            while not (pending := await driver.journal.records.questions.pending()):
                await news.wait()
                news = driver.journal.log.growth.next()
        assert "all orders: Orders of unknown customers count, too. → 25" in pending[0].question.text
        await driver.journal.answer(pending[0].id, {"choice": "all orders"}, by="ada")
        [done] = await driver.results("r")
        assert isinstance(done, Done)
        assert done.text.endswith("The person answered: all orders")


# ── comparing ──


@pytest.mark.parametrize(
    ("one", "other", "sameness"),
    [
        (33.33, 33.333333333, "rounded"),
        (2.68, 2.675, "rounded"),
        (1234, 1234.4, "different"),
        (0.5, 0.46, "different"),
        (0.1 + 0.2, 0.3, "same"),
        (3, 3.0, "same"),
        (33, 33.4, "different"),
        (0, 0.4, "different"),
        (100.01, 100.00, "different"),
        (41, 42, "different"),
        (1e300, float("inf"), "different"),
        (float("nan"), float("nan"), "same"),
    ],
)
def test_a_rounded_figure_is_the_same_answer_and_another_figure_is_not(one: float, other: float, sameness: str) -> None:
    assert compare_answers(NumberAnswer(number=one), NumberAnswer(number=other)) == sameness
    assert compare_answers(NumberAnswer(number=other), NumberAnswer(number=one)) == sameness


def table(columns: str, *rows: tuple[Any, ...]) -> TableAnswer:
    return TableAnswer(columns=tuple(columns), rows=rows, count=len(rows))


def test_tables_are_compared_by_what_they_hold() -> None:
    one = table("ab", ("x", 1.5), ("y", 2.0))
    assert compare_answers(one, table("ba", (2.0, "y"), (1.5, "x"))) == "same"
    assert compare_answers(one, table("cd", ("y", 2.0), ("x", 1.5))) == "same"
    assert compare_answers(table("ab", ("x", 1.333333)), table("ab", ("x", 1.33))) == "rounded"
    assert compare_answers(one, table("ab", ("x", 1.5), ("y", 2.5))) == "different"
    assert compare_answers(one, table("ab", ("x", 1.5))) == "different"
    assert compare_answers(one, table("abc", ("x", 1.5, 0), ("y", 2.0, 0))) == "different"
    assert compare_answers(one, NumberAnswer(number=2)) == "different"
    assert compare_answers(TextAnswer(text="a  b"), TextAnswer(text="a b")) == "same"


def compared(proposed: Sequence[Mapping[str, Any]], *answers: ReadingAnswer) -> ReadingComparison:
    return compare(list(zip(readings(proposed), answers, strict=True)))


def test_where_all_agree_the_most_exact_figure_is_the_answer() -> None:
    agreed = compared(MEAN, NumberAnswer(number=33.33), NumberAnswer(number=33.3333))
    first, *_ = comparison_text(agreed, attended=True).splitlines()
    assert first == "It does not matter which is meant, but for rounding: 33.3333."
    assert compared(MEAN[:1], NumberAnswer(number=1)).says == "same"
    assert compared(MEAN, NoAnswer(why="gone"), NoAnswer(why="gone")).says == "unknown"


def test_the_plainest_with_an_answer_is_chosen_and_the_others_are_told() -> None:
    third = {**MEAN[0], "name": "third", "description": "As it was in 2023.", "how": "x"}
    differing = compared([*MEAN, third], NoAnswer(why="gone"), NumberAnswer(number=7), NumberAnswer(number=8))
    assert differing.plainest() == (
        "7 (Orders of unknown customers count, too). Read otherwise: Orders of unknown customers are left out: "
        "no answer (gone); As it was in 2023: 8."
    )
    assert [reading.name for reading, _ in differing.answered] == ["all orders", "third"]


def test_equal_results_are_told_together_and_the_goals_words_choose_before_the_order_does() -> None:
    third = {**MEAN[0], "name": "net", "description": "Net of returned goods.", "how": "x"}
    values = (NumberAnswer(number=7), NumberAnswer(number=7), NumberAnswer(number=8))
    differing = compared([*MEAN, third], *values)
    assert differing.counts() == "2 of 3 give 7 (known customers, all orders); only net gives 8"
    taken, why = differing.taken("What is the mean order, returned goods aside?")
    assert (taken.name, why) == ("net", "the goal says goods, returned")
    assert differing.taken("What is the mean?")[1] == "it is the plainest"
    told = comparison_text(differing, attended=False, goal="returned goods aside")
    assert "take 'net', since the goal says goods, returned" in told
    assert differing.plainest("returned goods aside").startswith("8 (Net of returned goods). Read otherwise: Orders")


# ── what a model proposes ──


def test_doubles_among_what_is_proposed_are_told_apart() -> None:
    found = without_doubles(readings([*MEAN, {**MEAN[0], "how": "1"}, {**MEAN[0], "name": "same code"}]))
    assert [reading.name for reading in found] == ["known customers", "all orders", "known customers (2)"]


def test_the_tool_tells_the_checklist() -> None:
    caller: Any = None
    definition: ToolDefinition = readings_tool(caller, attended=True).definition()
    assert all(ask in (definition.description or "") for ask in CHECKLIST.values())


@given(st.text(max_size=100))
@example("*0")
def test_whatever_comes_back_is_read_without_failing(text: str) -> None:
    for result in (Done(text=text), Done(text=f"cellwright-answer: {text}"), Refusal(feedback=text)):
        assert parse_printed_answer(result) == parse_printed_answer(result)
    if (code := answer_code(text)) is not None:
        assert "_reading" in compile(code, "cell", "exec").co_names


ATOMS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False, width=32) | st.text(max_size=4)


def test_rows_that_differ_by_little_or_without_end_are_the_same_in_any_order() -> None:
    rows = [(0, 0), (0, math.inf), (0, -math.inf), (1.0001, 1), (1.0002, 1), (True, "x"), ("True", "x")]
    assert compare_answers(table("ab", *rows), table("ab", *reversed(rows))) == "same"


@given(st.lists(st.tuples(ATOMS, ATOMS), max_size=6), st.randoms())
def test_a_table_is_the_same_as_itself_in_any_order(rows: list[tuple[Any, Any]], random: Any) -> None:
    shuffled = [(second, first) for first, second in rows]
    random.shuffle(shuffled)
    assert compare_answers(table("ab", *rows), table("ba", *shuffled)) == "same"
