"""Twelve goals that were written before the second opinion was: right answers agree, wrong ones are shown to differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.runs.review.answer_figures import read_answer
from cellwright.runs.review.second_figure import compute_second_figure
from cellwright.runs.review.second_opinion import second_opinion
from tests.runs.review.goals import GOALS, AnsweredGoal
from tests.runs.review.reviewed import ReviewedNotebook, open_reviewed


async def _shown(notebook: ReviewedNotebook, code: str) -> str:
    """How code fails in the notebook; empty: it does not."""
    tried = (await notebook.editor.try_out(code)).observation
    return next((cell.error.type for cell in tried.cells if cell.error is not None), "")


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("asked", GOALS, ids=lambda asked: asked.id)
async def test_a_right_answer_agrees_and_every_wrong_one_is_shown(
    asked: AnsweredGoal, pool: KernelPool, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    asked.make(folder)
    async with open_reviewed(pool, folder, asked.data, asked.read, asked.compute) as notebook:
        profile = await notebook.profiler.profile(notebook.targets)
        second = await compute_second_figure(asked.goal, profile, notebook.targets, notebook.profiler)
        right = second_opinion(read_answer(await notebook.fill(asked.template), asked.template), second)
        assert (right.status, right.finding) == ("agrees", None), right.says
        wrong = [(0, asked.read, asked.wrong_reads), (1, asked.compute, asked.wrong_computes)]
        for place, code, others in wrong:
            for mistake, other in others.items():
                await notebook.replace(place, other)
                answer = read_answer(await notebook.fill(asked.template), asked.template)
                opinion = second_opinion(answer, second)
                assert opinion.finding is not None, (mistake, answer.text, opinion.says)
                assert await _shown(notebook, opinion.finding.shows) == "AssertionError", mistake
            await notebook.replace(place, code)


def test_off_by_a_row_wrong_joins_early_rounding_and_units_are_all_among_them() -> None:
    mistakes = [mistake for asked in GOALS for mistake in (*asked.wrong_reads, *asked.wrong_computes)]
    assert len(GOALS) == 12
    assert {mistake: mistakes.count(mistake) for mistake in sorted(set(mistakes))} == {
        "off by a row": 10,
        "rounded too early": 7,
        "wrong join": 2,
        "wrong unit": 1,
    }
