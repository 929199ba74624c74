"""Rows of an API as a table: kinds, ranges, gaps, and a few rows, whatever they hold."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.data.api_tables import MOST_COLUMNS, AnswerColumn, answer_table


@pytest.mark.parametrize(
    ("values", "kind", "missing", "says"),
    [
        ([1, 5, None], "integer", 1, "1 … 5"),
        ([1, 2.5, 1e999], "number", 0, "1 … 2.5"),
        ([7, 7], "integer", 0, "always 7"),
        (["2026-01-02", "2025-12-31T10:00:00Z"], "date", 0, "2025-12-31T10:00:00Z … 2026-01-02"),
        (["a", "b", "a"], "text", 0, "2 different: a, b"),
        ([f"v{number}" for number in range(30)], "text", 0, "30 different, such as v0, v1, v2"),
        ([f"v{number}" for number in range(90)], "text", 0, "more than 50 different, such as v0, v1, v2"),
        ([True, False], "truth", 0, "2 different: True, False"),
        ([None, None], "nothing", 2, ""),
        ([[1], [2]], "list", 0, ""),
        ([1, "a"], "integer or text", 0, "always a"),
    ],
)
def test_a_column_is_told_by_what_it_holds(values: list[Any], kind: str, missing: int, says: str) -> None:
    table = answer_table([{"v": value} for value in values], most_rows=2)
    assert table.columns == (AnswerColumn(name="v", kind=kind, missing=missing, says=says),)
    assert table.first == tuple({"v": value} for value in values[:2])


def test_objects_are_columns_rows_may_lack_some_and_there_are_only_so_many() -> None:
    rows = [{"id": 1, "home": {"city": "Bonn"}}, {"id": 2, **{f"c{number}": number for number in range(1_000)}}]
    table = answer_table(rows, most_rows=1)
    assert [column.name for column in table.columns[:3]] == ["id", "home.city", "c0"]
    assert (table.columns[1].missing, table.columns[2].missing) == (1, 1)
    assert (len(table.columns), table.more_columns) == (MOST_COLUMNS, 1_002 - MOST_COLUMNS)
    assert table.first == ({"id": 1, "home.city": "Bonn"},)
