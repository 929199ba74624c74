"""Answers held against a second figure, of one number, a leader or a course."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cellwright.analyst.goal.question import Quantity, Question, QuestionKind
from cellwright.runs.review.answer_figures import read_answer
from cellwright.runs.review.question_words import QuestionWords
from cellwright.runs.review.second_figure import FigureReading, NotComputed, SecondFigure
from cellwright.runs.review.second_opinion import second_opinion


def _second(kind: QuestionKind, *readings: FigureReading, unit: str = "") -> SecondFigure:
    return SecondFigure(
        words=QuestionWords(words="…"),
        question=Question(kind=kind, quantity=Quantity(how="sum")),
        readings=readings,
        unit=unit,
        computed_as="the sum of revenue",
        files=("sales.csv",),
    )


def _fails(code: str, **names: Any) -> bool:
    try:
        exec(code, names)
    except AssertionError:
        return True
    return False


def test_what_was_not_computed_is_said() -> None:
    opinion = second_opinion(read_answer("12."), NotComputed(why="The goal asks for a model."))
    assert (opinion.status, opinion.says) == ("not computed", "Not computed twice: The goal asks for a model.")


def test_agreement_with_a_reading_that_is_a_matter_of_judgement_is_told_and_no_finding() -> None:
    second = _second(
        "figure", FigureReading(figure=100.0), FigureReading(figure=95.0, condition="3 duplicate rows are left out")
    )
    opinion = second_opinion(read_answer("It is 95.0."), second)
    assert (opinion.status, opinion.finding) == ("agrees", None)
    assert "agrees if 3 duplicate rows are left out" in opinion.says


def test_a_figure_in_another_unit_than_the_data_is_converted() -> None:
    second = _second("figure", FigureReading(figure=180.5), unit="s")
    assert second_opinion(read_answer("3.0 minutes."), second).status == "agrees"
    wrong = second_opinion(read_answer("180.5 minutes.", "{median:.1f} minutes."), second)
    assert wrong.status == "differs"
    assert wrong.finding is not None
    assert _fails(wrong.finding.shows, median=180.5)
    assert not _fails(wrong.finding.shows, median=3.008)


def test_where_the_datas_unit_is_not_known_a_difference_is_no_finding() -> None:
    second = SecondFigure(
        words=QuestionWords(words="…", unit="min"),
        question=Question(kind="figure", quantity=Quantity(how="mean")),
        readings=(FigureReading(figure=91.0),),
    )
    assert second_opinion(read_answer("1.5 minutes."), second).status == "not computed"
    assert second_opinion(read_answer("91.0"), second).status == "agrees"


_GROUPS = FigureReading(labels=(("night", 9.1), ("evening", 6.2), ("day", 6.0)), p=1e-9)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("Calls take longest at the night desk.", "agrees"),
        ("Calls take longest at the evening desk.", "differs"),
        ("Longest at the evening desk, before night.", "differs"),
        ("Minutes rise with repeats.", "differs"),
        ("The day desk is shortest, night longest.", "not computed"),
        ("They do not differ.", "differs"),
        ("Day and night are alike.", "not computed"),
    ],
)
def test_a_leader_is_compared_by_its_name(answer: str, status: str) -> None:
    opinion = second_opinion(read_answer(answer, "{said}"), _second("groups", _GROUPS))
    assert opinion.status == status, opinion.says
    assert opinion.finding is None or _fails(opinion.finding.shows, said=answer)
    assert opinion.finding is None or not _fails(opinion.finding.shows, said="It is the night.")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("Sales rise by 1.1 a week.", "agrees"),
        ("Sales show no trend.", "differs"),
        ("Sales fell.", "differs"),
        ("Sales are seasonal.", "not computed"),
    ],
)
def test_only_plain_contradictions_of_a_course_count(answer: str, status: str) -> None:
    opinion = second_opinion(read_answer(answer, "{said}"), _second("trend", FigureReading(course=(True, 10.0, 14.0))))
    assert opinion.status == status
    assert opinion.finding is None or _fails(opinion.finding.shows, said=answer)


def test_months_are_known_by_their_names() -> None:
    months = FigureReading(labels=(("2025-03", 9.0), ("2025-01", 4.0)))
    assert second_opinion(read_answer("March 2025 was best."), _second("ranking", months)).status == "agrees"
    assert second_opinion(read_answer("It was January."), _second("ranking", months)).status == "differs"


def test_that_groups_do_not_differ_may_be_said_where_rows_are_of_the_same_things() -> None:
    second = _second("groups", _GROUPS)
    assert (
        second_opinion(read_answer("They do not differ."), replace(second, is_repeated=True)).status == "not computed"
    )
    uncertain = _second("groups", replace(_GROUPS, p=0.01))
    assert second_opinion(read_answer("They do not differ."), uncertain).status == "not computed"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("It changed in March 2025.", "agrees"),
        ("It changed on 2025-03-20.", "agrees"),
        ("It changed in July 2025.", "differs"),
        ("It rose.", "not computed"),
    ],
)
def test_the_day_of_a_step_is_compared_where_the_goal_asks_when(answer: str, status: str) -> None:
    second = _second("trend", FigureReading(course=(True, 10.0, 14.0), step="2025-03-03"))
    second = replace(second, words=QuestionWords(words="When did the level change?"))
    opinion = second_opinion(read_answer(answer, "{said}"), second)
    assert opinion.status == status
    assert opinion.finding is None or _fails(opinion.finding.shows, said=answer)


def test_a_certain_relation_must_not_be_denied() -> None:
    second = _second("relation", FigureReading(course=(True, 0.0, 0.7)))
    assert second_opinion(read_answer("The larger the one, the larger the other."), second).status == "agrees"
    denied = second_opinion(read_answer("They are not related.", "{said}"), second)
    assert denied.finding is not None
    assert _fails(denied.finding.shows, said="They are not related.")
    assert not _fails(denied.finding.shows, said="They go together.")


def test_a_finding_on_an_answer_without_variables_is_told_from_one_that_lasts() -> None:
    second = _second("figure", FigureReading(figure=100.0))
    plain = second_opinion(read_answer("It is 95.0."), second).finding
    lasting = second_opinion(read_answer("It is 95.0.", "It is {total:.1f}."), second).finding
    assert plain is not None
    assert lasting is not None
    assert (plain.is_of_words, lasting.is_of_words) == (True, False)
