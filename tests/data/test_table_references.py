"""What a view reads is told from its text, or nothing is said: a mask must not rest on half of it."""

from __future__ import annotations

import pytest

from cellwright.data.dialects import Dialect
from cellwright.data.table_references import tables_of_view


@pytest.mark.parametrize("dialect", ["mysql", "clickhouse"])
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("select a, upper(b) from t join shop.u using (a)", ("main.t", "shop.u")),
        ("with users as (select * from users) select * from users, orders", ("main.orders", "main.users")),
        ("with x as (select 1 as a) select * from x, orders", ("main.orders",)),
        ("select my_function(a) from t", ()),
        ("select * from numbers(3), t", ()),
        ("select frm from where", ()),
        ("", ()),
    ],
)
def test_the_tables_of_a_view_are_all_told_or_none(text: str, read: tuple[str, ...], dialect: Dialect) -> None:
    assert tables_of_view(text, dialect, "main") == read
