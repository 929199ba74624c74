"""Profiles made by hand, for tests about what becomes of them."""

from __future__ import annotations

from typing import Any

from cellwright.profiles.profile import (
    ColumnProfile,
    Conversion,
    Join,
    Numbers,
    Oddity,
    Profile,
    ReadOptions,
    TableProfile,
    Texts,
    Times,
    ValueCount,
)


def a_measure(name: str = "price", **changes: Any) -> ColumnProfile:
    """Numbers from 0.5 to 199."""
    numbers = Numbers(
        least=0.5, greatest=199.0, mean=23.1, deviation=12.0, quartiles=(10.0, 20.0, 30.0), histogram=(1, 8, 4, 2, 0, 1)
    )
    given: dict[str, Any] = {
        "name": name, "kind": "number", "meaning": "currency", "unit": "EUR", "count": 97, "nulls": 3, "distinct": 90,
        "numbers": numbers, "examples": ("€ 1.234,50",),
        "conversion": Conversion(kind="number", decimal=",", thousands=".", prefix="€"), "proof": "digits",
    }  # fmt: skip
    return ColumnProfile(**(given | changes))


def a_category(name: str = "region") -> ColumnProfile:
    common = (ValueCount(value="North", count=60), ValueCount(value="South", count=40))
    return ColumnProfile(name=name, kind="text", meaning="category", count=100, distinct=2, common=common)


def a_date(name: str = "day") -> ColumnProfile:
    times = Times(
        first="2024-01-01", last="2024-04-30", step="day", gaps=("2024-03-01 to 2024-03-14",), missing_steps=14
    )
    return ColumnProfile(name=name, kind="date", meaning="date", count=100, distinct=100, is_unique=True, times=times)


def a_text(name: str = "note") -> ColumnProfile:
    texts = Texts(shortest=3, longest=120, mean_length=40.0)
    return ColumnProfile(
        name=name, kind="text", meaning="text", count=100, distinct=99, texts=texts, examples=("late", "ok")
    )


def a_table(name: str = "sales", *columns: ColumnProfile, **changes: Any) -> TableProfile:
    """100 rows of a semicolon-separated file."""
    given: dict[str, Any] = {
        "name": name,
        "reading": ReadOptions(
            path=f"{name}.csv", format="csv", delimiter=";", encoding="cp1252", skip_first=2, skip_last=1
        ),
        "rows": 100, "looked_at": 100, "bytes": 12_345,
        "columns": columns or (a_date(), a_category(), a_measure(), a_text()),
        "keys": (("day",),), "time_column": "day",
        "oddities": (
            Oddity(kind="skewed", says="'price' is skewed.", column="price", severity="note"),
            Oddity(
                kind="sentinel", says="9999 stands for nothing 3 times.", column="price", count=3, severity="problem"
            ),
        ),
    }  # fmt: skip
    return TableProfile(**(given | changes))


def two_tables() -> Profile:
    """Sales and the regions they happened in."""
    regions = a_table("regions", a_category("name"), keys=(("name",),), time_column="", oddities=())
    join = Join(
        left="sales", left_column="region", right="regions", right_column="name", left_coverage=0.5,
        right_coverage=1.0, relation="many-to-one", says="",
    )  # fmt: skip
    return Profile(tables=(a_table(), regions), joins=(join,))
