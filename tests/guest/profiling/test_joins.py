from __future__ import annotations

import msgspec
import pyarrow as pa

from cellwright_guest.profiling.records import Profile
from tests.guest.profiling.raw_tables import days, normal, picked, profile, raw_table


def _customers(count: int = 40) -> dict[str, list[str | None]]:
    return {"id": [f"C{number:03d}" for number in range(count)], "segment": picked(["a", "b"], count)}


def _orders(count: int = 200) -> dict[str, list[str | None]]:
    return {
        "order_id": [str(number) for number in range(5000, 5000 + count)],
        "customer_id": picked([f"C{number:03d}" for number in range(42)], count),
        "amount": normal(count),
    }


def test_a_reference_is_found_with_coverage_both_ways() -> None:
    (join,) = profile(raw_table(_orders(), name="orders"), raw_table(_customers(), name="customers")).joins
    assert (join.left, join.left_column, join.right, join.right_column) == ("orders", "customer_id", "customers", "id")
    assert (join.relation, join.needs) == ("many-to-one", ())
    assert join.left_coverage < 1.0
    assert "not found: 'C04" in join.says


def test_the_side_that_repeats_is_on_the_left_whatever_the_order() -> None:
    (join,) = profile(raw_table(_customers(), name="customers"), raw_table(_orders(), name="orders")).joins
    assert (join.left, join.relation) == ("orders", "many-to-one")


def test_case_spaces_and_zeros_are_levelled_and_said() -> None:
    customers = {**_customers(), "id": [f" c{number:03d} " for number in range(40)]}
    (join,) = profile(raw_table(_orders(), name="orders"), raw_table(customers, name="customers")).joins
    assert join.needs == ("spaces", "case")
    assert "without regard for spaces around, upper and lower case" in join.says


def test_padded_codes_meet_whole_numbers() -> None:
    shops: dict[str, list[str | None]] = {
        "shop_code": [f"{number:04d}" for number in range(1, 60)],
        "city": picked(["x", "y"], 59),
    }
    sales = {"shop_code": pa.array([number % 59 + 1 for number in range(300)]), "amount": pa.array(range(300))}
    (join,) = profile(raw_table(sales, name="sales", is_text=False), raw_table(shops, name="shops")).joins
    assert (join.needs, join.left_coverage, join.relation) == (("zeros",), 1.0, "many-to-one")


def test_small_whole_numbers_are_no_join_unless_names_agree() -> None:
    months: dict[str, list[str | None]] = {
        "month": [str(number) for number in range(1, 13)],
        "season": picked(["a", "b"], 12),
    }
    counts: dict[str, list[str | None]] = {
        "count": [str(number % 12 + 1) for number in range(100)],
        "amount": normal(100),
    }
    assert profile(raw_table(months, name="months"), raw_table(counts, name="counts")).joins == ()
    named = {"month": counts["count"], "amount": counts["amount"]}
    (join,) = profile(raw_table(months, name="months"), raw_table(named, name="sales")).joins
    assert (join.left_column, join.right_column, join.relation) == ("month", "month", "many-to-one")


def test_two_tables_that_both_number_their_rows_are_not_joined_by_it() -> None:
    first: dict[str, list[str | None]] = {"id": [str(number) for number in range(1, 101)], "amount": normal(100)}
    second: dict[str, list[str | None]] = {"id": [str(number) for number in range(1, 81)], "weight": normal(80)}
    assert profile(raw_table(first, name="orders"), raw_table(second, name="parcels")).joins == ()


def test_words_that_meet_by_chance_are_no_join() -> None:
    first: dict[str, list[str | None]] = {"answer": picked(["yes", "no", "maybe"], 50), "amount": normal(50)}
    second: dict[str, list[str | None]] = {"reply": picked(["yes", "no", "maybe"], 50), "weight": normal(50)}
    assert profile(raw_table(first, name="a"), raw_table(second, name="b")).joins == ()


def test_labels_under_different_names_meet_where_one_side_is_a_list_of_them() -> None:
    countries = [f"Country {letter}" for letter in "ABCDEFGHIJ"]
    first: dict[str, list[str | None]] = {"origin": picked(countries, 100), "amount": normal(100)}
    second: dict[str, list[str | None]] = {"name": list(countries), "population": normal(10)}
    (join,) = profile(raw_table(first, name="trips"), raw_table(second, name="places")).joins
    assert (join.left_column, join.right_column, join.relation) == ("origin", "name", "many-to-one")


def test_a_whole_profile_survives_the_wall() -> None:
    strange = raw_table(
        {"a": ["inf", "1e308", "-1e308", "nan", "x\ny"], "ü\x00": ["\ud7ff", None, "", "🦊", "b"]}, name="odd"
    )
    told = profile(raw_table(_orders(), name="orders"), raw_table(_customers(), name="customers"), strange)
    assert msgspec.json.decode(msgspec.json.encode(told), type=Profile) == told


def test_the_same_tables_give_the_same_profile() -> None:
    tables = [raw_table(_orders(), name="orders"), raw_table({"day": days(30), "n": normal(30)}, name="daily")]
    assert profile(*tables) == profile(*tables)


def test_a_rank_joins_nothing_however_well_it_fits() -> None:
    ranks: list[str | None] = [str(number) for number in range(1, 60)]
    cities: dict[str, list[str | None]] = {"Rank": ranks, "City": [f"City {number}" for number in range(59)]}
    goals: dict[str, list[str | None]] = {"Rank": ranks, "Goals": [str(number * 7) for number in range(59)]}
    assert profile(raw_table(cities, name="cities"), raw_table(goals, name="goals")).joins == ()
    assert profile(raw_table(cities, name="cities"), raw_table({**goals, "Ranking": ranks}, name="more")).joins == ()


def test_tables_of_one_shape_are_stacked_not_joined() -> None:
    assert profile(raw_table(_customers(), name="north"), raw_table(_customers(30), name="south")).joins == ()


def _panel(measure: str, *, countries: str = "ABCDE", is_named: str = "year") -> dict[str, list[str | None]]:
    """A figure for each country and year: neither names a row alone."""
    rows = [(country, year) for country in countries for year in range(2000, 2010)]
    return {"country": [one for one, _ in rows], is_named: [str(year) for _, year in rows], measure: normal(len(rows))}


def test_tables_whose_rows_only_a_pair_of_columns_names_are_joined_by_the_pair() -> None:
    emissions = raw_table(_panel("co2", countries="ABCDEFGH"), name="emissions")
    (join,) = profile(emissions, raw_table(_panel("income"), name="incomes")).pair_joins
    assert (join.left, join.left_columns) == ("emissions", ("year", "country"))
    assert (join.right, join.right_columns) == ("incomes", ("year", "country"))
    assert (join.left_coverage, join.right_coverage, join.relation) == (0.625, 1.0, "one-to-one")


def test_the_table_whose_rows_a_pair_names_is_on_the_right() -> None:
    visits = {name: [*texts, *texts] for name, texts in _panel("visits").items()}
    (join,) = profile(raw_table(_panel("income"), name="incomes"), raw_table(visits, name="visits")).pair_joins
    assert (join.left, join.right, join.relation) == ("visits", "incomes", "many-to-one")


def test_tables_of_one_shape_or_with_other_names_or_values_have_no_pair() -> None:
    panel, other = raw_table(_panel("co2"), name="a"), raw_table(_panel("co2", countries="FGHIJ"), name="b")
    assert profile(panel, other).pair_joins == ()
    assert profile(panel, raw_table(_panel("income", is_named="season"), name="b")).pair_joins == ()
    assert profile(panel, raw_table(_panel("income", countries="VWXYZ"), name="b")).pair_joins == ()
