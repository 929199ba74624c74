"""Methods: scipy's own numbers on clean data, honest intervals, and no table odd enough to stop them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cellwright.analyst.drafts import TestRow as Row
from cellwright.analyst.methods.battery import LEAST_EFFECTS, claim, escaped, examine, say
from cellwright.analyst.methods.pairs import association, correlation, difference, labels_of, moments_of, numbers_of
from cellwright.analyst.methods.source import method_cells, method_imports
from cellwright.analyst.methods.time_series import change, explain_change
from cellwright.errors import Defect
from tests.sampling import some


def number(row: dict[str, object] | None, name: str) -> float:
    assert row is not None
    return float(str(row[name]))


def sample(seed: int = 0, rows: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b", "c"], rows)
    x = random.standard_normal(rows)
    return pd.DataFrame(
        {
            **{"group": group, "pair": np.where(random.random(rows) < 0.5, "one", "two"), "x": x},
            "y": x + random.standard_normal(rows) + (group == "a"),
        }
    )


# ── scipy's own numbers ──


def test_two_groups_give_scipys_mann_whitney() -> None:
    table = sample()
    one, two = (table["y"][table["pair"] == name] for name in ("one", "two"))
    assert number(difference(table, "y", "pair"), "p") == pytest.approx(stats.mannwhitneyu(one, two).pvalue)


def test_two_groups_of_unequal_spread_give_scipys_brunner_munzel() -> None:
    table = sample()
    table["y"] = table["y"] * np.where(table["pair"] == "one", 1, 5)
    one, two = (table["y"][table["pair"] == name] for name in ("one", "two"))
    row = difference(table, "y", "pair")
    assert row and row["test"] == "Brunner-Munzel"
    assert number(row, "p") == pytest.approx(stats.brunnermunzel(one, two).pvalue)


def test_many_groups_give_scipys_kruskal_wallis_and_name_the_ends() -> None:
    table = sample()
    row = difference(table, "y", "group")
    expected = stats.kruskal(*(values for _, values in table.groupby("group")["y"]))
    assert row and number(row, "p") == pytest.approx(expected.pvalue)
    assert str(row["says"]).startswith("y is highest where group is a (median ")


def test_two_categories_give_scipys_chi_square() -> None:
    table = sample()
    expected = stats.chi2_contingency(pd.crosstab(table["group"], table["pair"]))
    assert number(association(table, "group", "pair"), "p") == pytest.approx(expected.pvalue)


def test_small_counts_give_fishers_exact_test() -> None:
    table = pd.DataFrame({"a": ["x"] * 8 + ["y"] * 8, "b": ["u"] * 7 + ["v"] * 9})
    row = association(table, "a", "b")
    assert row and row["test"] == "Fisher's exact test"
    assert number(row, "p") == pytest.approx(stats.fisher_exact([[7, 1], [0, 8]]).pvalue)


def test_two_measures_give_scipys_spearman() -> None:
    table = sample()
    row = correlation(table, "y", "x")
    expected = stats.spearmanr(table["y"], table["x"])
    assert (number(row, "effect"), number(row, "p")) == pytest.approx((expected.statistic, expected.pvalue))


# ── intervals ──


def _shifted(random: np.random.Generator) -> pd.DataFrame:
    group = random.choice(["a", "b"], 120)
    return pd.DataFrame({"y": random.standard_normal(120) + 0.6 * (group == "a"), "x": group})


def _three_levels(random: np.random.Generator) -> pd.DataFrame:
    group = random.integers(0, 3, 200)
    return pd.DataFrame({"y": random.standard_normal(200) + 0.5 * group, "x": group.astype(str)})


def _tilted(random: np.random.Generator) -> pd.DataFrame:
    x = random.standard_normal(120)
    return pd.DataFrame({"y": 0.6 * x + random.standard_normal(120), "x": x})


def _uneven(random: np.random.Generator) -> pd.DataFrame:
    x = random.integers(0, 3, 250)
    return pd.DataFrame({"y": (random.random(250) < 0.3 + 0.2 * x).astype(str), "x": x.astype(str)})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "make"),
    some([(difference, _shifted), (difference, _three_levels), (correlation, _tilted), (association, _uneven)], 1),
)
def test_intervals_cover_the_truth_about_95_times_in_100(
    method: Callable[[pd.DataFrame, str, str], dict[str, object] | None],
    make: Callable[[np.random.Generator], pd.DataFrame],
) -> None:
    random = np.random.default_rng(11)
    truth = abs(number(method(pd.concat([make(random) for _ in range(100)]), "y", "x"), "effect"))
    covered = 0
    for _ in range(100):
        row = method(make(random), "y", "x")
        covered += number(row, "low") <= truth <= number(row, "high")
    assert covered >= 90


# ── two spans ──


def orders() -> pd.DataFrame:
    random = np.random.default_rng(4)
    days: Any = pd.date_range("2024-01-01", "2024-06-30", freq="D").repeat(6)
    shops: Any = ["North", "South", None]
    shop = random.choice(shops, len(days), p=[0.5, 0.4, 0.1])
    revenue = random.gamma(5, 20, len(days)) * np.where((days >= "2024-04-01") & (shop == "South"), 0.5, 1.0)
    return pd.DataFrame({"day": days, "shop": shop, "revenue": revenue})


FIRST, SECOND = ("2024-01-01", "2024-03-31"), ("2024-04-01", "2024-06-30")


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_the_parts_of_a_change_add_up_to_it_exactly(how: str) -> None:
    table = orders()
    parts = explain_change(table, "revenue", "day", FIRST, SECOND, "shop", how)
    spans = [table["revenue"][table["day"].between(*span)].agg(how) for span in (FIRST, SECOND)]
    assert parts["change"].sum() == pytest.approx(spans[1] - spans[0])
    assert (parts["amount"] + parts["rate"]).to_numpy() == pytest.approx(parts["change"].to_numpy())
    assert parts["share"].sum() == pytest.approx(1)
    assert set(parts["label"]) == {"North", "South", "(missing)"}
    assert parts.sort_values("rate")["label"].iloc[0] == "South"


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_a_change_of_level_between_two_spans_is_certain(how: str) -> None:
    row = change(orders(), "revenue", "day", FIRST, SECOND, how)
    assert row and f"the {how} of revenue for each day fell from" in str(row["says"])
    assert number(row, "p") < 0.001
    assert number(row, "high") < 0


def test_no_change_is_certain_where_there_is_none() -> None:
    table = orders()
    table["revenue"] = np.random.default_rng(0).gamma(5, 20, len(table))
    assert number(change(table, "revenue", "day", FIRST, SECOND), "p") > 0.01


def test_spans_in_the_family_are_tested_with_all_else() -> None:
    roles = {"day": "date", "shop": "category", "revenue": "currency"}
    tests = examine({"orders": orders()}, {"orders": roles}, spans=((FIRST, SECOND),))
    row = claim(tests, "orders", "revenue", "day", "change")
    assert row and row["is_finding"]
    assert str(row["says"]).startswith("the sum of revenue for each day fell from ")


# ── the whole family ──


def test_the_table_of_tests_has_exactly_the_columns_of_a_row() -> None:
    roles = {"group": "category", "pair": "category", "x": "measure", "y": "measure"}
    tests = examine({"t": sample()}, {"t": roles})
    assert list(tests.columns) == [field.name for field in dataclasses.fields(Row)]
    assert tests["is_finding"].dtype == bool
    expected = stats.false_discovery_control(tests["p"], method="by")
    assert tests["p_adjusted"].to_numpy() == pytest.approx(expected)
    assert set(tests["effect_name"]) <= set(LEAST_EFFECTS)
    again = examine({"t": sample()}, {"t": roles})
    pd.testing.assert_frame_equal(tests, again)


@pytest.mark.slow
def test_wanted_columns_come_first_and_what_is_left_out_is_said() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.standard_normal((60, 20)), columns=[f"m{place}" for place in range(20)])
    tests = examine({"t": table}, {"t": dict.fromkeys(table.columns, "measure")}, first=(("t", "m19"),))
    assert tests["y"].iloc[0] == "m19"
    assert len(tests) == 66
    assert sum("was not tested" in why for why in tests.attrs["left_out"]) == 8


def test_columns_that_repeat_or_make_each_other_are_not_news() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"price": random.gamma(4, 5, 300), "units": random.integers(1, 9, 300)})
    table["revenue"] = table["price"] * table["units"]
    table["cents"] = table["price"] * 100
    table["city"] = random.choice(["Bonn", "Lyon", "Nice"], 300)
    table["country"] = table["city"].map({"Bonn": "DE", "Lyon": "FR", "Nice": "FR"})
    roles = dict.fromkeys(["price", "units", "revenue", "cents"], "measure") | dict.fromkeys(
        ["city", "country"], "category"
    )
    tests = examine({"t": table}, {"t": roles})
    assert not tests["is_finding"].any()
    assert not {"cents"} & {*tests["y"], *tests["x"]}
    assert claim(tests, "t", "revenue", "price") is None
    assert claim(tests, "t", "city", "country") is None


ODD = {
    "no rows": pd.DataFrame({"y": pd.Series(dtype=float), "g": pd.Series(dtype=str), "when": pd.Series(dtype=str)}),
    "one row": pd.DataFrame({"y": [1.0], "g": ["a"], "when": ["2024-01-01"]}),
    "constants": pd.DataFrame({"y": [1.0] * 50, "g": ["a"] * 50, "when": ["2024-01-01"] * 50}),
    "all null": pd.DataFrame({"y": [None] * 50, "g": [None] * 50, "when": [None] * 50}),
    "infinities": pd.DataFrame({"y": [np.inf, -np.inf, 1.0, 2.0] * 20, "g": ["a", "b"] * 40, "when": ["x"] * 80}),
    "decimals": pd.DataFrame({"y": [Decimal(place) / 3 for place in range(60)], "g": ["a", "b", "c"] * 20}),
    "nullable": pd.DataFrame(
        {
            "y": pd.array([1, 2, None, 4] * 15, dtype="Int64"),
            "g": pd.array([True, False, None] * 20, dtype="boolean"),
            "when": pd.date_range("2020-01-01", periods=60, tz="Europe/Berlin"),
        }
    ),
    "mixed": pd.DataFrame({"y": [1, "2", None, [3]] * 15, "g": [1, "1", ("t",), None] * 15, "when": [2020, "x"] * 30}),
    "singletons": pd.DataFrame({"y": np.arange(60.0), "g": [f"only {place}" for place in range(60)]}),
    "far dates": pd.DataFrame({"y": np.arange(60.0), "g": ["a"] * 60, "when": ["0001-01-01", "9999-12-31"] * 30}),
    "years": pd.DataFrame({"y": np.arange(60.0) % 7, "g": ["a", "b"] * 30, "when": range(1950, 2010)}),
    "perfect": pd.DataFrame({"y": np.arange(60.0), "x": np.arange(60.0) ** 3, "g": ["a", "b"] * 30}),
    "huge": pd.DataFrame({"y": np.arange(60.0) * 1e300, "x": np.arange(60.0)[::-1] * 1e-300, "g": ["a", "b"] * 30}),
    "two of one name": pd.DataFrame(np.arange(120.0).reshape(60, 2), columns=["y", "y"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_odd_tables_give_fewer_rows_and_no_error(name: str) -> None:
    roles = {"y": "measure", "x": "measure", "g": "category", "when": "date"}
    tests = examine(
        {"odd": ODD[name]}, {"odd": roles}, spans=((("2020-01-01", "2020-01-20"), ("2020-02-01", "2020-02-20")),)
    )
    assert tests["p"].between(0, 1).all()
    assert np.isfinite(tests[["statistic", "p", "p_adjusted", "effect", "low", "high"]].to_numpy(dtype=float)).all()
    assert ((tests["low"] <= tests["effect"] + 1e-9) & (tests["effect"] <= tests["high"] + 1e-9)).all()


def test_columns_are_read_whatever_they_are() -> None:
    table = pd.DataFrame(
        {"n": ["1", "x", None], "w": ["2024-01-01T00:00:00+02:00", "?", None], "year": [2019, 7, 2021]}
    )
    assert numbers_of(table, "n").dropna().tolist() == [1.0]
    assert numbers_of(table, "nowhere").isna().all()
    assert moments_of(table, "w").dropna().astype(str).tolist() == ["2023-12-31 22:00:00"]
    assert moments_of(table, "year").dt.year.dropna().tolist() == [2019, 2021]
    assert labels_of(table, "n", least=1).dropna().tolist() == ["1", "x"]


# ── words ──


def test_a_claim_is_told_with_its_test_and_withdrawn_when_it_no_longer_holds() -> None:
    tests = examine({"t": sample()}, {"t": {"group": "category", "x": "measure", "y": "measure"}})
    told = say(claim(tests, "t", "y", "x"))
    assert told.startswith(
        "**X rises as y rises.** (Spearman, n = 300, p < 0.0001 corrected for all tests; rank correl"
    )
    assert "95 % interval" in told
    assert claim(tests, "t", "x", "y") == claim(tests, "t", "y", "x")
    weak = say(claim(tests, "t", "x", "group"))
    assert weak.startswith("*No difference found for x and group with the data and repairs chosen now: ")
    assert say(claim(tests, "t", "y", "nowhere")).startswith("*This cannot be tested")


def test_names_from_files_stay_text_in_markdown() -> None:
    assert escaped("<b>*x*</b>\n[a](b) $1$") == ("&#60;b&#62;&#42;x&#42;&#60;&#47;b&#62; &#91;a&#93;(b) &#36;1&#36;")
    assert len(escaped("a" * 1000)) == 400


# ── as cells ──


def test_methods_run_as_cells_where_cellwright_is_not_installed() -> None:
    cells = method_cells(["examine", "claim", "say", "explain_change"])
    space: dict[str, object] = {}
    for line in method_imports(["examine", "claim", "say", "explain_change"]):
        exec(line, space)
    for cell in cells:
        exec(cell.code, space)
    roles = {"group": "category", "x": "measure", "y": "measure"}
    run = space["examine"]
    assert callable(run)
    pd.testing.assert_frame_equal(run({"t": sample()}, {"t": roles}), examine({"t": sample()}, {"t": roles}))


def test_methods_are_short_cells_that_need_only_the_usual_libraries() -> None:
    every = ["examine", "claim", "say", "explain_change"]
    cells = method_cells(every)
    assert max(len(cell.code.splitlines()) for cell in cells) <= 35
    assert len({cell.name for cell in cells}) == len(cells)
    assert not [cell.name for cell in cells if "cellwright" in cell.code or "pyrefly" in cell.code]
    assert method_imports(every) == (
        "import numpy as np",
        "import pandas as pd",
        "from scipy import stats",
    )
    assert [cell.name for cell in method_cells(["correlation"])] == [
        *("method_column_of", "method_numbers_of", "method_row_of", "method_correlation"),
    ]


def test_a_method_that_is_not_there_is_a_defect() -> None:
    with pytest.raises(Defect, match="no method 'guess'"):
        method_cells(["guess"])


def test_what_is_said_of_groups_agrees_with_the_order_they_are_said_in() -> None:
    # By ranks the first is higher; by medians the second.
    table = pd.DataFrame({"g": ["a"] * 5 + ["b"] * 5, "y": [4, 4, 4, 9, 9, 0, 0, 5, 5, 5]})
    row = difference(table, "y", "g")
    assert row is not None
    assert row["says"] == "y is higher where g is a (mean rank 6.2) than where it is b (mean rank 4.8)"
    plain = difference(table.assign(y=[6, 6, 6, 9, 9, 0, 0, 5, 5, 5]), "y", "g")
    assert plain is not None
    assert plain["says"] == "y is higher where g is a (median 6) than where it is b (median 5)"
