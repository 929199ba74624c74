"""A notebook in a real kernel, reviewed without any model."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cellwright.kernel.pool import KernelPool
from tests.runs.review.goals import GOALS
from tests.runs.review.reviewed import open_reviewed

_MEAN = next(asked for asked in GOALS if asked.id == "mean")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.mark.slow
async def test_a_right_notebook_has_no_finding_and_is_left_as_it_was(pool: KernelPool, folder: Path) -> None:
    _MEAN.make(folder)
    async with open_reviewed(pool, folder, _MEAN.data, _MEAN.read, _MEAN.compute) as notebook:
        before = notebook.editor.notebook.document
        came = await notebook.review(_MEAN.goal, _MEAN.template)
        assert (came.findings, came.questions) == ((), ())
        assert came.second.says.startswith(
            "Computed twice, independently: the mean of revenue in orders.csv gives 52.5"
        )
        assert notebook.editor.notebook.document is before
        await notebook.replace(1, 'mean = orders["revenue"].round(0).mean()')
        wrong = await notebook.review(_MEAN.goal, _MEAN.template)
        assert [finding.kind for finding in wrong.findings] == ["second-opinion"]
        assert wrong.second.status == "differs"


@pytest.mark.slow
async def test_a_mean_with_what_stands_for_nothing_in_it_is_found_whatever_the_goal_says(
    pool: KernelPool, folder: Path
) -> None:
    chance = random.Random(3)
    rows = [f"{hour},{-999 if hour % 17 == 5 else round(chance.gauss(17, 3), 1)}" for hour in range(200)]
    (folder / "readings.csv").write_text("\n".join(["hour,temperature", *rows]) + "\n")
    goal = "Tell me about how warm it was. Mind that the device broke down now and then."
    cells = 'readings = pd.read_csv(folder / "readings.csv")', 'mean = readings["temperature"].mean()'
    async with open_reviewed(pool, folder, ["readings.csv"], *cells) as notebook:
        came = await notebook.review(goal, "It was {mean:.1f} degrees.")
        (found,) = came.findings
        # Whoever tells it beside what is right, or after the answer, knows.
        for aside in ("It was 17.1 degrees; with the -999 it would be {mean:.1f}.", "In 200 hours. Raw: {mean:.1f}."):
            assert (await notebook.review(goal, aside)).findings == ()
        assert (found.kind, found.by) == ("sentinel", "code")
        assert "the mean of temperature in readings.csv with -999" in found.found
        assert [(question.kind, question.settled) for question in came.questions] == [("sentinel", "")]
        await notebook.replace(1, 'mean = readings.loc[readings["temperature"] > -100, "temperature"].mean()')
        mended = await notebook.review(goal, "It was {mean:.1f} degrees.")
        assert mended.findings == ()
        assert mended.questions[0].settled == "A cell selects by temperature"


async def test_without_data_nothing_is_computed_and_that_is_said(pool: KernelPool, folder: Path) -> None:
    async with open_reviewed(pool, folder, [], "total = 1 + 1") as notebook:
        came = await notebook.review("What is one and one?", "{total}")
        assert (came.findings, came.questions, came.second.status) == ((), (), "not computed")
