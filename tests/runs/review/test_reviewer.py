"""Who is asked to look a notebook over, with how much, and what counts of what is handed in."""

from __future__ import annotations

import pytest

from cellwright.agents.role import built_in_roles
from cellwright.runs.goal.goal import Effort
from cellwright.runs.review.findings import ReviewQuestion
from cellwright.runs.review.reviewer import REVIEWER, bounded, is_asked, is_independent, parse_review

ROLE = built_in_roles()[REVIEWER]
OPEN = ReviewQuestion(kind="total-rows", says="2 rows of month are labelled 'total'.")
SETTLED = ReviewQuestion(kind="total-rows", says="2 rows of month are labelled 'total'.", settled="cell months")


@pytest.mark.parametrize(
    ("effort", "tasks", "questions", "findings", "asked"),
    [
        ("quick", 5, [OPEN], 2, False),
        ("normal", 1, [], 0, False),
        ("normal", 1, [SETTLED], 0, False),
        ("normal", 1, [OPEN], 0, True),
        ("normal", 1, [], 1, True),
        ("normal", 2, [], 0, True),
        ("thorough", 1, [], 0, True),
    ],
)
def test_a_reviewer_is_asked_only_where_there_is_reason_to(
    effort: Effort, tasks: int, questions: list[ReviewQuestion], findings: int, asked: bool
) -> None:
    assert is_asked(effort, tasks=tasks, questions=questions, findings=findings) is asked


@pytest.mark.parametrize("tokens", [9_000, 21_000, 40_000, 80_000, 400_000])
def test_where_the_work_took_three_requests_a_review_takes_at_most_a_quarter_of_its_tokens(tokens: int) -> None:
    role = bounded(ROLE, tokens=tokens, turns=3)
    assert role is not None
    assert role.steps * role.context_tokens <= tokens // 4
    again = bounded(ROLE, tokens=tokens, turns=3, used=tokens // 5)
    assert again is None or again.steps * again.context_tokens <= tokens // 4 - tokens // 5


@pytest.mark.parametrize("turns", [1, 2])
def test_a_small_run_is_looked_over_with_one_request_no_longer_than_one_of_its_own(turns: int) -> None:
    role = bounded(ROLE, tokens=turns * 7_000, turns=turns)
    assert role is not None
    assert (role.steps, role.tools) == (1, ("finish",))
    assert role.context_tokens <= 7_000
    assert bounded(ROLE, tokens=turns * 7_000, turns=turns, used=5_000) is None


@pytest.mark.parametrize(
    ("code", "independent"),
    [
        ('import csv\nassert total == len(open("sales.csv").readlines())', True),
        ("assert total == sum(frame.amount)", False),
        ('rows = open("sales.csv").readlines()', False),
        ('assert total == open("other.csv").read()', False),
        ("this is no Python", False),
    ],
)
def test_a_figure_is_computed_another_way_only_by_code_that_reads_the_data_itself(code: str, independent: bool) -> None:
    assert is_independent(code, ["sales.csv"]) is independent


@pytest.mark.parametrize("value", [None, "words", {"findings": [{"claim": "x"}]}, {"second": 3}])
def test_a_reviewer_that_hands_in_something_else_found_nothing(value: object) -> None:
    assert parse_review(value).findings == ()
