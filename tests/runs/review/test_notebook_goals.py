"""Notebooks no agent has made are looked over without a change, and documented without another figure."""

from __future__ import annotations

import ast
from pathlib import Path

import anyio
import pytest

from cellwright.testing import CallTool
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, create, finish, of, open_factory

CODE = "numbers = [1, 2, 3, 3]\ntotal = sum(set(numbers))\ntotal"
MINE = notebook_source("import marimo as mo", CODE)
CELL = "MJUe"
"""The id of the second cell, which has no name."""
SHOWS = "assert total == sum(numbers)"
FINDING = {"claim": "The total is 6", "found": "A number twice counts twice: 9.", "shows": SHOWS}


@pytest.mark.slow
async def test_a_notebook_somebody_made_is_looked_over_and_not_changed(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(MINE)
    async with open_factory(testbed, project, kernels) as factory:
        look = CallTool("finish", {"reading": "The sum of all numbers.", "findings": [FINDING]})
        testbed.provider.when(of("You look over a marimo notebook"), look)
        goal = factory.goal("Is it right?", wants="review", effort="normal", approve="never")
        delivery = await factory.deliver(goal)
        assert delivery.status == "partial"
        assert [each.standing for each in delivery.reviewed] == ["shown"]
        assert "The total is 6. A number twice counts twice: 9." in delivery.problems[0]
        assert len(factory.prompts()) == 1
        assert (project / "sums.py").read_text() == MINE
        left = [path.name async for path in anyio.Path(project).iterdir() if not path.name.startswith("_")]
        assert left == ["sums.py"]


@pytest.mark.slow
async def test_a_documented_notebook_has_names_and_words_and_computes_what_it_did(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(MINE)
    async with open_factory(testbed, project, kernels) as factory:
        title = create('mo.md(f"# Sums\\n\\nThe numbers sum to {total}.")', "title", at="start")
        factory.script(
            apply({"op": "edit", "cell": CELL, "base_version": 1, "code": CODE.replace("set(numbers)", "numbers")}),
            apply({"op": "rename", "cell": CELL, "base_version": 1, "name": "total"}, title),
            finish(summary="The cell of the total has a name, and there is a title."),
        )
        delivery = await factory.deliver(factory.goal("Document it", wants="document", approve="never"))
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.summary == "The cell of the total has a name, and there is a title."
        text = factory.notebook()
        assert "sum(set(numbers))" in text
        assert "def total(" in text
        assert "# Sums" in text
        ast.parse(text)
        assert "would compute something else" in factory.prompts()[1]
