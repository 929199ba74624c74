"""Answers are judged by what they hold, and by nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eval.checks import has_passed, judge, read_check
from eval.delivered import Delivered, read_report, said


@pytest.mark.parametrize(
    ("told", "answer", "holds"),
    [
        ({"number": 12.5, "within": 0.1}, "It is 12.55.", True),
        ({"number": 12.5, "within": 0.1}, "It is 12.7.", False),
        ({"no_number": 99, "within": 0.5}, "It is 12.", True),
        ({"no_number": 99, "within": 0.5}, "It is 99, or 12.", False),
        ({"words": ["north", "fell|dropped"]}, "North DROPPED.", True),
        ({"words": ["north", "fell|dropped"]}, "North rose.", False),
        ({"no_words": ["significant"]}, "It is chance.", True),
        ({"no_words": ["significant"]}, "A Significant rise.", False),
        ({"charts": 1}, "", False),
    ],
)
def test_a_check_holds_or_does_not(told: dict[str, Any], answer: str, holds: bool) -> None:
    verdict, *_ = judge([read_check({"says": "so", **told})], said(answer))
    assert (verdict.says, verdict.has_held) == ("so", holds)


@pytest.mark.parametrize(
    "told",
    [
        {"says": "nothing to look for"},
        {"says": "two at once", "number": 1, "within": 0, "charts": 1},
        {"says": "elsewhere", "words": ["x"], "where": "attic"},
    ],
)
def test_what_is_no_check_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a check"):
        read_check(told)


def test_words_of_the_notebook_count_where_a_check_looks_there() -> None:
    check = read_check({"says": "so", "words": ["kruskal"], "where": "notebook"})
    assert judge([check], said("North.", shown="Kruskal-Wallis"))[0].has_held is True
    assert judge([check], said("North."))[0].has_held is False


def test_a_check_of_the_notebook_is_not_judged_where_there_is_none() -> None:
    checks = [read_check({"says": "so", "charts": 1}), read_check({"says": "and so", "words": ["north"]})]
    peer = Delivered(answer="North.", has_notebook=False, is_proven=False)
    verdicts = judge(checks, peer)
    assert [verdict.has_held for verdict in verdicts] == [None, True, None, True]
    assert has_passed(verdicts)


def test_a_right_answer_does_not_help_who_changed_the_data_or_cannot_prove_the_notebook() -> None:
    checks = [read_check({"says": "so", "words": ["north"]})]
    right = said("North.")
    assert has_passed(judge(checks, right))
    assert not has_passed(judge(checks, replace(right, is_data_untouched=False)))
    assert not has_passed(judge(checks, replace(right, is_proven=False)))


def test_nothing_is_passed_by_judging_nothing() -> None:
    silent = Delivered(answer="", has_notebook=False)
    assert not has_passed(judge([read_check({"says": "so", "charts": 1})], silent))


def test_a_report_is_read_without_its_code() -> None:
    page = (
        "<html><head><title>t</title><style>p{}</style></head><body><p>North &amp; South <b>fell</b>.</p>"
        '<img src="data:x" alt="chart">'
        '<details class="code"><summary>code</summary><pre>kruskal(<i>a</i>)<br></pre></details>'
        '<p class="note">Interactive chart: open the notebook to see it.</p></body></html>'
    )
    words, charts = read_report(page)
    assert words == "North & South fell . Interactive chart: open the notebook to see it."
    assert charts == 2
