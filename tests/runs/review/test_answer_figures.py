"""The figures of an answer, as they are printed and as the notebook has them."""

from __future__ import annotations

import pytest

from cellwright.runs.review.answer_figures import AnswerFigure, comparing_code, read_answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The total is 3,150.49.", [(3150.49, 0.005, "", False)]),
        ("On average 17.4 °C.", [(17.4, 0.05, "", False)]),
        ("12.5 % agree.", [(12.5, 0.05, "", True)]),
        ("By -1.46 kg.", [(-1.46, 0.005, "kg", False)]),
        ("About 35.6k a month.", [(35_600, 50, "", False)]),
        ("3.1 minutes, of 700 calls.", [(3.1, 0.05, "min", False), (700, 0.5, "", False)]),
        ("It falls (p < 0.001) since 2024-03-01.", []),
    ],
)
def test_numbers_are_read_with_unit_and_exactness(answer: str, expected: list[tuple[float, float, str, bool]]) -> None:
    read = read_answer(answer).figures
    assert [(one.value, pytest.approx(one.half_unit), one.unit, one.is_percent) for one in read] == expected


def test_a_figure_knows_the_variable_it_comes_from() -> None:
    read = read_answer(
        "West, with 1,236.28, that is 39.2%.", "{best}, with {by[West].total:,.2f}, that is {share:.1%}."
    )
    assert [(one.text, one.expression) for one in read.figures] == [
        ("1,236.28", "float(by['West'].total)"),
        ("39.2", "float(share) * 100"),
    ]


def test_a_figure_knows_its_sentence() -> None:
    read = read_answer("**79,381.29 €**\n\nOf 168 days. Left out: the copy (14,694.77 €), and December.").figures
    assert [(one.text, one.sentence) for one in read] == [("79,381.29", 0), ("168", 1), ("14,694.77", 3)]


def test_a_figure_agrees_with_what_would_be_printed_like_it() -> None:
    (figure,) = read_answer("17.4 degrees").figures
    assert figure.agrees_with(17.4499)
    assert figure.agrees_with(17.35)
    assert not figure.agrees_with(17.46)


def test_the_code_asserts_over_the_notebooks_variable_as_exactly_as_is_printed() -> None:
    answer = read_answer("The total is 3094.95.", "The total is {total:.2f}.")
    code = comparing_code(answer.figures, 3150.49, "It is 3,150.49.", answer)
    assert code == 'assert abs(float(total) - 3150.49) <= 0.005, "It is 3,150.49."'
    exec(code, {"total": 3150.4899})
    with pytest.raises(AssertionError, match=r"It is 3,150\.49\."):
        exec(code, {"total": 3094.95})


def test_the_words_of_an_answer_are_computed_again_from_the_notebooks_variables() -> None:
    answer = read_answer('"West" takes } most: 12.', '"{best}" takes } most: {most}.')
    assert eval(answer.code, {"best": "East", "most": 7}) == '"East" takes } most: 7.'
    plain = read_answer("The market takes 17 of 20.", "")
    code = comparing_code(plain.figures, 18.0, "18", plain)
    with pytest.raises(AssertionError, match="18"):
        exec(code, {})


def test_few_digits_mean_little() -> None:
    assert [one.digits for one in read_answer("0.05 of 1,200 in 7").figures] == [1, 4, 1]
    assert AnswerFigure(text="-12.6", value=-12.6, half_unit=0.05).digits == 3
