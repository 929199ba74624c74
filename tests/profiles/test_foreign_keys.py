"""What a database says of its tables comes before what merely looks alike."""

from __future__ import annotations

from typing import Any

from cellwright.profiles.foreign_keys import KeyPair, with_foreign_keys
from cellwright.profiles.profile import ColumnProfile, Join, Profile, TableProfile
from tests.profiles.made import a_table

PAIR = KeyPair(table="orders", column="buyer", target="people", target_column="id")


def an_id(name: str, distinct: int, *, is_unique: bool = False) -> ColumnProfile:
    return ColumnProfile(name=name, kind="integer", meaning="id", count=100, distinct=distinct, is_unique=is_unique)


def tables(**changes: Any) -> tuple[TableProfile, TableProfile]:
    orders = a_table("orders", an_id("id", 100, is_unique=True), an_id("buyer", 30), **changes)
    return orders, a_table("people", an_id("id", 40, is_unique=True))


def a_join(left_column: str, coverage: float) -> Join:
    return Join(
        left="orders", left_column=left_column, right="people", right_column="id", left_coverage=coverage,
        right_coverage=1.0, relation="one-to-one", says="seen",
    )  # fmt: skip


def test_a_key_joins_where_values_joined_nothing_or_the_wrong_columns() -> None:
    for seen in ((), (a_join("id", 0.4),)):
        [join] = with_foreign_keys(Profile(tables=tables(), joins=seen), [PAIR]).joins
        assert (join.left_column, join.left_coverage, join.right_coverage) == ("buyer", 1.0, 0.75)
        assert join.relation == "many-to-one"
        assert "foreign key" in join.says


def test_what_was_seen_in_all_rows_stays_and_of_samples_the_key_is_believed() -> None:
    seen = a_join("buyer", 0.97)
    assert with_foreign_keys(Profile(tables=tables(), joins=(seen,)), [PAIR]).joins == (seen,)
    sampled = Profile(tables=tables(sampling="the first ones"), joins=(seen,))
    assert with_foreign_keys(sampled, [PAIR]).joins[0].left_coverage == 1.0


def test_keys_of_tables_and_columns_that_are_not_there_say_nothing() -> None:
    profile = Profile(tables=tables(), joins=(a_join("id", 0.4),))
    others = [
        KeyPair(table="orders", column="buyer", target="elsewhere", target_column="id"),
        KeyPair(table="orders", column="masked", target="people", target_column="id"),
    ]
    assert with_foreign_keys(profile, others) == profile
