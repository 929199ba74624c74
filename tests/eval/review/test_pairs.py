"""Right and wrong notebooks of the evaluation's tasks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cellwright.notebook.marimo_file import parse_notebook
from eval.review.__main__ import main
from eval.review.pairs import Half, Side, drawn_for_reviewer, paired_tasks, solution_notebook
from eval.review.reviewing import PairReview, review_pairs, table


def test_the_halves_are_drawn_once_and_have_nothing_in_common() -> None:
    seen, held = ({task.id for task in paired_tasks(half)} for half in ("seen", "held-out"))
    assert (len(seen), len(held), len(seen & held)) == (23, 23, 0)
    assert "sentinel_mean" in seen
    drawn = {task.id for task in drawn_for_reviewer()}
    assert len(drawn) == 20
    assert drawn <= held


@pytest.mark.slow
@pytest.mark.parametrize("side", ["right", "wrong"])
def test_every_solution_is_a_notebook_that_marimo_reads(side: Side) -> None:
    for task in paired_tasks():
        notebook = solution_notebook(task, side)
        document = parse_notebook(notebook.source, task.id)
        assert [cell.code for cell in document.cells] == [code.strip() for code in notebook.cells], task.id
        assert "{" in notebook.template, task.id
        assert not any("eval." in ast.unparse(ast.parse(cell.code)) for cell in document.cells), task.id


def test_pairs_are_written_with_data_goal_and_answer(tmp_path: Path) -> None:
    assert main(["sentinel_mean", "--write", str(tmp_path)]) == 0
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert written == [
        f"{side}/sentinel_mean/{name}"
        for side in ("right", "wrong")
        for name in ("answer.txt", "goal.txt", "readings.csv", "sentinel_mean.py")
    ]
    assert (tmp_path / "wrong/sentinel_mean/answer.txt").read_text() == "The mean temperature is {spoilt:.1f} °C.\n"


@pytest.mark.slow
async def test_a_pair_is_reviewed_in_real_kernels() -> None:
    (review,) = await review_pairs(paired_tasks(names=["sentinel_mean"]))
    assert (review.problem, review.is_caught, review.is_false_alarm) == ("", True, False)
    assert table([review, PairReview(task="another", problem="it fell")]).endswith(
        "1 of 2 caught, 0 false alarms, 1 could not be reviewed.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("half", "caught"), [("held-out", 4), pytest.param("seen", 12, marks=pytest.mark.rare)])
async def test_code_alone_catches_no_fewer_than_it_did_with_one_false_alarm_at_most(half: Half, caught: int) -> None:
    reviews = await review_pairs(paired_tasks(half))
    assert [review.task for review in reviews if review.problem] == []
    assert sum(review.is_caught for review in reviews) >= caught
    assert sum(review.is_false_alarm for review in reviews) <= 1
