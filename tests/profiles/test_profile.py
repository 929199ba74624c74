"""What a guest says about data is taken only as far as it can be true."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from cellwright.errors import Unavailable
from cellwright.profiles.profile import (
    Oddity,
    Profile,
    SkippedFile,
    profile_json,
    read_profile,
    with_paths,
    with_remarks,
)
from tests.profiles.made import a_category, a_measure, a_table, two_tables


def test_an_honest_profile_comes_through_as_it_is() -> None:
    assert read_profile(profile_json(two_tables())) == two_tables()


def test_names_stay_exact_and_sentences_lose_what_moves_a_cursor() -> None:
    column = a_category("Total\nrevenue\t€")
    oddity = Oddity(kind="sentinel", says="\x1b[2Jgone\u202e back\n# now", column=column.name, values=("\t-",))
    table = a_table("sales", column, oddities=(oddity,), keys=(), time_column="")
    [read] = read_profile(profile_json(Profile(tables=(table,), notes=("a\rb",)))).tables
    assert read.columns[0].name == "Total\nrevenue\t€"
    assert read.oddities[0].values == ("\t-",)
    assert read.oddities[0].says == "�[2Jgone� back # now"


def changed(path: str, value: Any) -> bytes:
    """An honest profile with one thing replaced, as JSON."""
    profile = json.loads(profile_json(two_tables()))
    *steps, last = path.split("/")
    inner: Any = profile
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    inner[int(last) if last.isdigit() else last] = value
    return json.dumps(profile).encode()


PAIR: Final[dict[str, Any]] = {
    "left": "sales", "left_columns": ["a", "b"], "right": "regions", "right_columns": ["a", "b"],
    "left_coverage": 1.0, "right_coverage": 1.0, "relation": "many-to-one",
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("tables/0/rows", -1),
        ("tables/0/rows", 1 << 63),
        ("tables/0/rows", "many"),
        ("tables/0/name", "n" * 400),
        ("tables/0/name", "regions"),
        ("tables/0/columns/0/name", "region"),
        ("tables/0/columns/0/name", "n" * 400),
        ("tables/0/columns/0/nulls", -3),
        ("tables/0/columns/2/numbers/least", None),
        ("tables/0/columns/2/conversion/formats", ["%d"] * 500),
        ("tables/0/reading/path", "/etc/passwd"),
        ("tables/0/reading/path", "a/../../b"),
        ("tables/0/reading/path", ""),
        ("tables/0/reading/format", "pickle"),
        ("tables/0/reading/delimiter", ";" * 99),
        ("tables/0/files", ["../../x.csv"]),
        ("tables/0/oddities/0/rows", [-1]),
        ("joins/0/left", "nowhere"),
        ("joins/0/left_coverage", 1.5),
        ("pair_joins", [PAIR | {"left": "nowhere"}]),
        ("skipped", [{"path": "/somewhere/x", "why": ""}]),
    ],
)
def test_what_no_honest_guest_says_is_refused(path: str, value: Any) -> None:
    with pytest.raises(Unavailable, match="is no profile"):
        read_profile(changed(path, value))


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"tables": [1]}', b"[" * 100_000, b'"\\ud800"', b"\xff"])
def test_bytes_that_are_no_profile_are_refused(data: bytes) -> None:
    with pytest.raises(Unavailable, match="is no profile"):
        read_profile(data)


def test_long_lists_and_values_are_cut() -> None:
    many = a_measure(examples=tuple("x" * 5_000 for _ in range(1_000)))
    oddity = Oddity(kind="outliers", says="s" * 9_000, rows=tuple(range(5_000)))
    table = a_table("sales", many, oddities=(oddity,), keys=(), time_column="")
    [read] = read_profile(profile_json(Profile(tables=(table,)))).tables
    assert len(read.columns[0].examples) <= 200
    assert len(read.columns[0].examples[0]) < 500
    assert len(read.oddities[0].says) <= 600
    assert len(read.oddities[0].rows) <= 200


def test_files_get_the_names_somebody_else_has_for_them() -> None:
    profile = with_remarks(two_tables(), skipped=[SkippedFile(path="x.bin", why="no table")], notes=["a note"])
    told = with_paths(profile, lambda path: f"../{path}")
    assert [table.reading.path for table in told.tables] == ["../sales.csv", "../regions.csv"]
    assert (told.skipped[0].path, told.notes) == ("../x.bin", ("a note",))
