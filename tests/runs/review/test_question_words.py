"""What of a goal is the question, and what only says how the answer is to be written."""

from __future__ import annotations

import pytest

from cellwright.runs.review.question_words import QuestionWords, question_words


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("What is the mean price? One decimal.", QuestionWords(words="What is the mean price?")),
        (
            "What is the mean price? Give the figure with two decimals.",
            QuestionWords(words="What is the mean price?", wants_figure=True),
        ),
        ("What is the total weight in kg?", QuestionWords(words="What is the total weight?", unit="kg")),
        (
            "What is the total, in euros with two decimals?",
            QuestionWords(words="What is the total?", currency="EUR"),
        ),
        (
            "Which region sells most, and how much? Two decimals.",
            QuestionWords(words="Which region sells most?", wants_figure=True),
        ),
        (
            "What is the revenue of each region? Name the region with the most and its revenue with two decimals.",
            QuestionWords(words="What is the revenue of each region?", wants_figure=True),
        ),
    ],
)
def test_formatting_is_no_part_of_the_question(goal: str, expected: QuestionWords) -> None:
    assert question_words(goal) == expected


def test_a_sentence_that_says_more_is_never_passed_over() -> None:
    read = question_words("What is all stock worth? Prices changed over time: the newest one counts.")
    assert read.unread == "Prices changed over time: the newest one counts."
