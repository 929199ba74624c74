"""A whole notebook called as a function of its inputs, in a cage of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from cellwright.errors import UserError
from cellwright.kernel.functions.notebook_function import NotebookAnswer, call_notebook
from cellwright.kernel.session.open_notebook import OpenNotebook

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def plain(answer: NotebookAnswer) -> dict[str, Any]:
    assert answer.observation.is_ok, [cell.error for cell in answer.observation.cells]
    return {name: value.json for name, value in answer.outputs.items()}


async def test_inputs_take_the_place_of_what_cells_assign_and_outputs_come_back(opened: Opener) -> None:
    cells = ("year = 2020", "rate: float = 0.5  # a year", "total = year * rate\nnote = f'in {year}'")
    answer = await call_notebook(opened(*cells), {"year": 2024, "rate": 0.25}, ["total", "note"])
    assert plain(answer) == {"total": 506.0, "note": "in 2024"}
    assert plain(await call_notebook(opened(*cells), {}, ["total"])) == {"total": 1010.0}


async def test_other_names_of_the_cell_see_the_given_value_and_what_it_replaces_never_runs(opened: Opener) -> None:
    cells = ("import time\nn = (\n    1 / 0\n)\nm = n + 1", "k = m * 2")
    answer = await call_notebook(opened(*cells), {"n": 4}, ["n", "m", "k"])
    assert plain(answer) == {"n": 4, "m": 5, "k": 10}


async def test_an_error_below_a_given_value_keeps_its_line(opened: Opener) -> None:
    answer = await call_notebook(opened("n = (\n    1 +\n    2\n)\nm = n / 0"), {"n": 4}, ["m"])
    assert answer.missing == ("m",)
    [cell] = answer.observation.cells
    assert cell.error is not None
    assert (cell.error.type, cell.error.line) == ("ZeroDivisionError", 5)


async def test_a_name_bound_in_another_way_can_be_given_when_all_the_cell_defines_is(opened: Opener) -> None:
    cells = ("a, b = 1, 2", "c = a + b")
    assert plain(await call_notebook(opened(*cells), {"a": 10, "b": 20}, ["c"])) == {"c": 30}
    with pytest.raises(UserError) as refused:
        await call_notebook(opened(*cells), {"a": 10}, ["c"])
    assert (refused.value.message, refused.value.hint) == snapshot(
        (
            "'a' cannot be given: its cell does more than assign it once.",
            "Give all that the cell defines (b too), or assign 'a' in a line of its own.",
        )
    )


async def test_ui_elements_are_set_as_a_person_would_and_their_readers_run_once(opened: Opener) -> None:
    cells = (
        "import marimo as mo\nfrom marimo import ui as widgets\ncount = []",
        "size = mo.ui.slider(1, 10, value=2)\nsize",
        "pick = widgets.dropdown(['red', 'blue'], value='red')",
        "who = mo.ui.text(value='ada').form()",
        "count.append(1)\nanswer = (size.value, pick.value, who.value, len(count))",
    )
    inputs = {"size": 7, "pick": "blue", "who": "eve"}
    answer = await call_notebook(opened(*cells), inputs, ["answer", "size"])
    assert plain(answer) == {"answer": [7, "blue", "eve", 1], "size": 7}


async def test_a_value_an_element_cannot_have_fails_in_its_cell(opened: Opener) -> None:
    cells = ("import marimo as mo\npick = mo.ui.dropdown(['red'])", "chosen = pick.value")
    answer = await call_notebook(opened(*cells), {"pick": "green"}, ["chosen"])
    assert not answer.observation.is_ok
    assert answer.missing == ("chosen",)


async def test_unknown_names_are_refused_with_those_there_are(opened: Opener) -> None:
    for inputs, outputs in (({"z": 1}, []), ({}, ["z"])):
        with pytest.raises(UserError) as refused:
            await call_notebook(opened("x = 1", "y = x"), inputs, outputs)
        assert (refused.value.message, refused.value.hint) == ("No cell defines 'z'.", "Cells define: x, y.")


async def test_its_file_stays_as_it_is(opened: Opener, write_notebook: Callable[..., Path]) -> None:
    path = write_notebook("x = 1", "y = x + 1", name="project/callee.py")
    before = path.read_bytes()
    assert plain(await call_notebook(opened(path=path), {"x": 5}, ["y"])) == {"y": 6}
    assert path.read_bytes() == before


async def test_a_table_comes_back_as_a_preview(opened: Opener) -> None:
    cells = ("n = 3", "import pandas as pd\ntable = pd.DataFrame({'a': range(n)})")
    answer = await call_notebook(opened(*cells), {"n": 12}, ["table"])
    value = answer.outputs["table"]
    assert not value.is_whole
    assert value.preview.kind == "dataframe"
    assert "12" in value.preview.text


@pytest.mark.slow
@pytest.mark.parametrize("value", ["a'\"\\\n$(rm)", {"a": [None, True, 1e300]}, -1, "ü" * 10, [], 10**40])
async def test_any_json_value_arrives_as_it_is(opened: Opener, value: object) -> None:
    answer = await call_notebook(opened("x = 'ü'; z = 'ü'", "y = repr(x)"), {"x": value}, ["y"])
    assert plain(answer) == {"y": repr(value)}
