"""Thirty questions by somebody who saw neither the grammar nor a test, over two public data sets the analyst was not
built on: each is answered right or declined, and never answered wrong."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cellwright.analyst.goal.question import DeclinedQuestion
from tests.analyst.answers.asked import Asked, Files, ask
from tests.analyst.answers.test_phrasings import agree, figures
from tests.sampling import every

FOLDER = Path(__file__).with_name("outsider")
QUESTIONS: list[dict[str, Any]] = json.loads((FOLDER / "questions.json").read_text())
BY_FIGURES = [each for each in QUESTIONS if each["now"] == "right"]
IN_WORDS = [each for each in QUESTIONS if each["now"] == "told"]
DECLINED = [each for each in QUESTIONS if each["now"] == "declined"]


@cache
def files(name: str) -> Files:
    return Files(folder=FOLDER, names=(name,))


def named(question: dict[str, Any]) -> str:
    return str(question["question"])[:40]


def expected(question: dict[str, Any]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(question["sql"].replace("FILE", str(FOLDER / question["file"]))).fetchall()


@pytest.mark.slow
@pytest.mark.parametrize("question", every(BY_FIGURES, 8), ids=named)
def test_a_strangers_question_gets_the_figure_that_sql_gives(question: dict[str, Any]) -> None:
    asked = ask(files(question["file"]), question["question"])
    assert isinstance(asked, Asked), asked
    wanted, found = expected(question), figures(asked)
    if asked.question.kind == "share":
        assert found[0][0] == pytest.approx(float(wanted[0][-1]) / 100, abs=1e-3)
    elif asked.question.kind == "change":
        assert [round(each) for each in found[0]] == [round(float(row[-1])) for row in wanted]
    elif asked.question.kind == "figure":
        assert found[0][0] == pytest.approx(float(wanted[0][-1]))
    elif asked.question.kind == "trend":
        assert [value for _, value in found] == pytest.approx([float(row[-1]) for row in wanted], abs=1e-3)
    else:
        kept = [(label, round(value, 2)) for label, value in found[: len(wanted)]]
        agree(kept, [(row[0], round(float(row[-1]), 2)) for row in wanted])


@pytest.mark.slow
@pytest.mark.parametrize("question", every(IN_WORDS, 4), ids=named)
def test_a_strangers_open_question_is_told_what_matters(question: dict[str, Any]) -> None:
    asked = ask(files(question["file"]), question["question"])
    assert isinstance(asked, Asked), asked
    assert re.search(question["pattern"], asked.words, re.DOTALL), asked.words


@pytest.mark.parametrize("question", every(DECLINED, 8), ids=named)
def test_a_strangers_question_that_is_not_understood_is_declined_rather_than_answered_wrong(
    question: dict[str, Any],
) -> None:
    assert isinstance(ask(files(question["file"]), question["question"]), DeclinedQuestion)
