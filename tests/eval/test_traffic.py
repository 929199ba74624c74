"""What a recorded path may take: as much as when it was frozen, and a tenth more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eval.results import Result, problems, result_of, table
from eval.task import read_tasks
from eval.traffic import Traffic, growth, review_excess, sizes_of, traffic_of
from eval.worker import Came

FROZEN = Traffic(requests=10, characters=10_000)


def test_what_grew_by_eleven_per_cent_is_told_with_both_figures_and_what_to_do() -> None:
    assert growth(Traffic(requests=10, characters=11_100), FROZEN) == (
        "characters grew from 10,000 to 11,100 (+11.0%; a tenth is allowed): "
        "send less, or freeze anew and say why (docs/evaluation.md, Replayed)",
    )


@pytest.mark.parametrize(
    ("requests", "characters", "grown"),
    [
        (10, 10_000, []),
        (1, 1, []),
        (11, 11_000, []),
        (12, 10_000, ["requests"]),
        (10, 11_001, ["characters"]),
        (12, 12_000, ["requests", "characters"]),
    ],
)
def test_up_to_a_tenth_more_is_allowed(requests: int, characters: int, grown: list[str]) -> None:
    told = growth(Traffic(requests=requests, characters=characters), FROZEN)
    assert [line.split()[0] for line in told] == grown


def test_one_request_more_where_there_was_one_is_too_much() -> None:
    frozen = Traffic(requests=1, characters=100)
    assert len(growth(replace(frozen, requests=2), frozen)) == 1


def test_characters_are_those_of_compact_json_as_a_person_counts_them() -> None:
    assert traffic_of(sizes_of([{"a": "Grüße 🌍"}, {"b": [1, 2]}])) == Traffic(
        requests=2, characters=len('{"a":"Grüße 🌍"}') + len('{"b":[1,2]}')
    )


@pytest.fixture
def grown(tmp_path: Path) -> Result:
    """A right answer that took too much."""
    [task] = read_tasks(["doubled_rows"])
    task.make(tmp_path)
    came = Came(
        delivered=task.right(tmp_path), status="done", seconds=2, requests=2, characters=11_100,
        frozen=Traffic(requests=2, characters=10_000), reviewed=Traffic(requests=1, characters=9_000),
    )  # fmt: skip
    return result_of(task, "one", came)


def test_a_right_answer_that_took_too_much_is_not_good(grown: Result) -> None:
    assert (grown.has_passed, grown.is_good) == (True, False)
    assert problems(grown).startswith("characters grew from 10,000 to 11,100")


def test_the_table_has_what_was_frozen_beside_what_it_took(grown: Result) -> None:
    unknown = replace(grown, worker="two", requests=None, characters=None, frozen=None, reviewed=None, grown=())
    lines = [" ".join(line.split()) for line in table([grown, unknown]).splitlines()]
    assert (
        lines[0]
        == "task worker passed seconds tokens cost requests frozen characters frozen review characters what failed"
    )
    assert lines[1].startswith("doubled_rows one yes 2.0 0 $0.0000 2 2 11,100 10,000 1 9,000 characters grew")
    assert lines[2] == "doubled_rows two yes 2.0 0 $0.0000 – – – – – –"
    assert lines[-3:] == [
        "all one 1 of 1 2.0 0 $0.0000 2 2 11,100 10,000 1 9,000",
        "cleaning two 1 of 1 2.0 0 $0.0000 – – – – – –",
        "all two 1 of 1 2.0 0 $0.0000 – – – – – –",
    ]
    assert grown.as_json()["frozen"] == {"requests": 2, "characters": 10_000}


@pytest.mark.parametrize(
    ("built", "reviewed", "says"),
    [
        ([10_000] * 3, [7_500], []),
        ([10_000] * 3, [4_000, 4_000], ["the review took 8,000 characters of 7,500 it may"]),
        ([10_000], [10_000], []),
        ([10_000], [], []),
        ([9_000, 10_000], [5_000, 5_000], ["the review asked 2 times instead of once"]),
        ([10_000], [11_000], ["the review's request has 11,000 characters, the longest before it 10,000"]),
    ],
)
def test_a_review_adds_a_quarter_or_one_request_of_their_size(
    built: list[int], reviewed: list[int], says: list[str]
) -> None:
    assert [*review_excess(built, reviewed)] == says
