"""Every problem planted in the bundled data is found, by the program that runs in the cage."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from cellwright_guest.profiling.profiler import profile_tables
from cellwright_guest.profiling.readers.reader import read_tables
from cellwright_guest.profiling.records import Profile, ProfileRequest, TableProfile
from tests.house.places import ROOT

DATA: Final = ROOT / "examples/data"
PLANTED: Final[dict[str, list[dict[str, Any]]]] = json.loads((DATA / "planted.json").read_text(encoding="utf-8"))
COUNTED: Final = {"sentinel", "total-rows", "repeated-header", "footnotes", "duplicate-rows"}
"""What there are no two ways to count."""
_HALF: Final = 0.5
"""A hundred times a small amount is still no outlier: not all of a spoilt day need be."""


@pytest.fixture(scope="module")
def profile() -> Profile:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(DATA)
        return profile_tables(*read_tables(ProfileRequest(paths=("orders.csv", "customers.csv"))))


def table(profile: Profile, name: str) -> TableProfile:
    return next(table for table in profile.tables if table.name == name)


def is_an_oddity(profile: Profile, problem: dict[str, Any]) -> bool:
    found = [
        oddity
        for oddity in table(profile, problem["table"]).oddities
        if oddity.kind == problem["kind"] and problem["column"] in {"", oddity.column}
    ]
    if problem["kind"] in COUNTED and [oddity.count for oddity in found] != [problem["count"]]:
        return False
    if problem["kind"] == "outliers" and not any(_HALF <= one.count / problem["count"] <= 1 for one in found):
        return False
    return bool(found) and set(problem["values"]) <= {value for oddity in found for value in oddity.values}


def is_the_encoding(profile: Profile, problem: dict[str, Any]) -> bool:
    return table(profile, problem["table"]).reading.encoding.lower() in problem["encodings"]


def is_the_join(profile: Profile, problem: dict[str, Any]) -> bool:
    for join in profile.joins:
        coverage = {join.left: join.left_coverage, join.right: join.right_coverage}
        if {join.left_column, join.right_column} == {problem["column"]} and problem["left"] in coverage:
            return abs(coverage[problem["left"]] - problem["left_coverage"]) < 0.005
    return False


def is_the_gap(profile: Profile, problem: dict[str, Any]) -> bool:
    column = next(one for one in table(profile, problem["table"]).columns if one.name == problem["column"])
    return column.times is not None and any("2025-02" in gap for gap in column.times.gaps)


def is_a_repeat(profile: Profile, problem: dict[str, Any]) -> bool:
    repeats = table(profile, problem["table"]).repeats
    return any({one.first, one.second} == set(problem["columns"]) for one in repeats)


def is_the_pattern(profile: Profile, problem: dict[str, Any]) -> bool:
    column = next(one for one in table(profile, problem["table"]).columns if one.name == problem["column"])
    return problem["by"] in column.null_pattern


SHOWN: Final[dict[str, Callable[[Profile, dict[str, Any]], bool]]] = {
    "oddity": is_an_oddity,
    "encoding": is_the_encoding,
    "join": is_the_join,
    "gap": is_the_gap,
    "repeat": is_a_repeat,
    "null-pattern": is_the_pattern,
}


@pytest.mark.parametrize("problem", PLANTED["problems"], ids=lambda problem: problem["name"])
def test_a_planted_problem_is_found(profile: Profile, problem: dict[str, Any]) -> None:
    assert SHOWN[problem["shown_as"]](profile, problem)


def test_every_planted_problem_is_documented_for_people() -> None:
    page = (DATA / "README.md").read_text(encoding="utf-8")
    columns = {problem["column"] for problem in PLANTED["problems"] if problem.get("column")}
    assert [column for column in columns if f"`{column}`" not in page] == []
