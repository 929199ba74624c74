from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest

from cellwright_guest.profiling.kinds import type_column
from cellwright_guest.profiling.raw import RawColumn
from cellwright_guest.profiling.records import Conversion
from tests.guest.profiling.raw_tables import column_of, normal, oddities_of, profiled


@pytest.mark.parametrize(
    ("texts", "kind", "least", "greatest", "conversion"),
    [
        (["1", "2", "-3"], "integer", -3, 2, Conversion(kind="number")),
        (["1.5", "2", "-3e2"], "number", -300, 2, Conversion(kind="number")),
        (["1,5", "2,25", "3"], "number", 1.5, 3, Conversion(kind="number", decimal=",")),
        (["1.234,5", "2,25"], "number", 2.25, 1234.5, Conversion(kind="number", decimal=",", thousands=".")),
        (["1,234.5", "2.25"], "number", 2.25, 1234.5, Conversion(kind="number", thousands=",")),
        (["1,234", "22,345"], "integer", 1234, 22345, Conversion(kind="number", thousands=",")),
        (["1 234,5", "2,0"], "number", 2, 1234.5, Conversion(kind="number", decimal=",", thousands=" ")),
        (["1\u202f234", "5"], "integer", 5, 1234, Conversion(kind="number", thousands="\u202f")),
        (["1'234.50", "2.00"], "number", 2, 1234.5, Conversion(kind="number", thousands="'")),
        (["(5)", "7", "(1.5)"], "number", -5, 7, Conversion(kind="number", has_parentheses=True)),
        (["12 kg", "13.5 kg", "9"], "number", 9, 13.5, Conversion(kind="number", suffix="kg")),
        (["€5", "€ 6.50", "-€7"], "number", -7, 6.5, Conversion(kind="number", prefix="€")),
        (["5 EUR", "6,5 EUR"], "number", 5, 6.5, Conversion(kind="number", decimal=",", suffix="EUR")),
        (["50%", "5 %"], "number", 0.05, 0.5, Conversion(kind="number", suffix="%", scale=0.01)),
        (["3 rooms", "4 rooms"], "integer", 3, 4, Conversion(kind="number", suffix="rooms")),
    ],
)
def test_numbers_are_read_however_they_are_written(
    texts: list[str], kind: str, least: float, greatest: float, conversion: Conversion
) -> None:
    column = column_of(texts)
    assert column.numbers is not None
    assert (column.kind, column.conversion) == (kind, conversion)
    assert (column.numbers.least, column.numbers.greatest) == pytest.approx((least, greatest))


@pytest.mark.parametrize(
    "texts",
    [
        ["A12", "B13", "C14"],
        ["12 Main Street", "13 High Street", "7 Low Road"],
        ["1.2.3", "1.2.4", "2.0.0"],
        ["555-1234", "555-9876"],
        ["192.168.0.1", "10.0.0.1"],
        ["3-4", "5-6"],
    ],
)
def test_what_only_has_digits_in_it_stays_text(texts: list[str]) -> None:
    assert column_of(texts).kind == "text"


def test_leading_zeros_keep_a_code_from_becoming_a_number() -> None:
    column = column_of(["01067", "10115", "20095"], name="place")
    assert (column.kind, column.meaning, column.conversion) == ("text", "code", Conversion())
    assert oddities_of(["01067", "10115", "20095"], "leading-zeros")[0].severity == "note"


def test_zeros_before_a_decimal_point_are_no_leading_zeros() -> None:
    assert column_of(["0.5", "0.25", "01.5"]).kind == "number"


def test_a_point_is_a_thousand_where_another_column_has_a_decimal_comma() -> None:
    table = profiled({"a": ["1.234", "2.345", "999"], "b": ["1,5", "2,25", "3,75"]})
    assert table.columns[0].numbers is not None
    assert (table.columns[0].numbers.greatest, table.columns[0].conversion.thousands) == (2345, ".")


def test_a_point_is_a_decimal_point_where_nothing_speaks_against_it() -> None:
    table = profiled({"a": ["1.234", "2.345", "999"], "b": ["1.5", "2.25", "3.75"]})
    assert table.columns[0].numbers is not None
    assert table.columns[0].numbers.least == 1.234


@pytest.mark.parametrize(
    ("texts", "true_words", "false_words"),
    [
        (["yes", "no", "Yes"], ("yes", "Yes"), ("no",)),
        (["ja", "nein"], ("ja",), ("nein",)),
        (["TRUE", "FALSE"], ("TRUE",), ("FALSE",)),
        (["Y", "N", "n/a"], ("Y",), ("N",)),
    ],
)
def test_yes_and_no_are_booleans(texts: list[str], true_words: tuple[str, ...], false_words: tuple[str, ...]) -> None:
    column = column_of(texts)
    assert (column.kind, column.meaning) == ("boolean", "flag")
    assert (column.conversion.true_words, column.conversion.false_words) == (true_words, false_words)


def test_yes_alone_is_a_label() -> None:
    assert column_of(["yes", "yes"]).kind == "text"


def test_zero_and_one_are_whole_numbers_that_mean_a_flag() -> None:
    column = column_of(["0", "1", "1"])
    assert (column.kind, column.meaning) == ("integer", "flag")


@pytest.mark.parametrize("word", ["n/a", "NA", "-", "none", "NULL", "?", "unknown", "#N/A", " "])
def test_a_null_word_among_numbers_is_nothing(word: str) -> None:
    column = column_of(["1", "2", word, "4", "5"])
    assert (column.kind, column.count, column.nulls, column.conversion.null_words) == ("integer", 4, 1, (word,))
    assert oddities_of(["1", "2", word, "4", "5"], "placeholder-nulls")[0].values == (word,)


def test_a_label_that_may_be_meant_stays_one_among_words() -> None:
    assert column_of(["unknown", "North", "none", "South"]).nulls == 0
    assert column_of(["n/a", "North", "-", "South"]).nulls == 2


def test_a_few_words_among_numbers_are_told_and_not_lost() -> None:
    values = [*normal(98), "closed", "see note"]
    column = column_of(values)
    (oddity,) = oddities_of(values, "mixed-types")
    assert (column.kind, column.count) == ("number", 100)
    assert (oddity.count, oddity.values, oddity.rows) == (2, ("closed", "see note"), (98, 99))


def test_half_words_half_numbers_is_text_and_told() -> None:
    values = [*normal(60), *["closed"] * 40]
    assert column_of(values).kind == "text"
    assert oddities_of(values, "mixed-types")[0].count == 40


def test_sizes_with_some_digits_are_no_mixed_types() -> None:
    assert oddities_of(["M", "L", "XL", "38", "S", "M", "L"], "mixed-types") == []


def test_typed_columns_keep_their_types() -> None:
    table = profiled(
        {
            "whole": pa.array([1, 2, None]),
            "real": pa.array([1.5, None, float("nan")]),
            "flag": pa.array([True, False, None]),
            "day": pa.array([date(2024, 1, 1), date(2024, 1, 2), None]),
            "moment": pa.array([datetime(2024, 1, 1, 5), datetime(2024, 1, 2), None]),
            "label": pa.array(["a", "b", "a"]).dictionary_encode(),
            "list": pa.array([[1], [2, 3], None]),
            "nothing": pa.nulls(3),
            "binary": pa.array([b"\xff", b"a", None]),
        },
        is_text=False,
    )
    assert {column.name: (column.kind, column.count) for column in table.columns} == {
        "whole": ("integer", 2),
        "real": ("number", 1),
        "flag": ("boolean", 2),
        "day": ("date", 2),
        "moment": ("datetime", 2),
        "label": ("text", 3),
        "list": ("nested", 2),
        "nothing": ("empty", 0),
        "binary": ("nested", 2),
    }
    assert all(column.conversion == Conversion() for column in table.columns)


def test_numbers_in_a_column_of_strings_are_told_where_the_format_has_types() -> None:
    assert oddities_of(pa.array(["1", "2", "3"]), "numbers-as-text", is_text=False)
    assert not oddities_of(pa.array(["1", "2", "3"]), "numbers-as-text", is_text=True)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1,5", "2,5"], "decimal-comma"),
        (["$5", "$6"], "currency-text"),
        (["5%", "6%"], "percent-text"),
        (["5 kg", "6 kg"], "numbers-as-text"),
        (["1,234.5", "2"], "numbers-as-text"),
    ],
)
def test_what_keeps_numbers_from_being_read_is_told(texts: list[str], kind: str) -> None:
    assert oddities_of(texts, kind)
    assert not oddities_of(["1.5", "2.5"], kind)


def test_two_units_in_one_column_are_a_problem_and_turned_into_one() -> None:
    values = ["12 kg", "13 kg", "10 lb", "14 kg"]
    (oddity,) = oddities_of(values, "mixed-units")
    column = column_of(values)
    assert (oddity.severity, oddity.values, oddity.examples) == ("problem", ("kg", "lb"), ("10 lb",))
    assert column.conversion.other_suffixes == (("lb", 0.45359237),)
    assert column.numbers is not None and column.numbers.least == pytest.approx(4.5359237)


def test_one_unit_beside_bare_numbers_is_no_mix() -> None:
    assert oddities_of(["12 kg", "13", "10 kg"], "mixed-units") == []


def test_two_currencies_are_not_added_up() -> None:
    values = ["€12", "€13", "$10", "€14"]
    column = column_of(values)
    assert oddities_of(values, "mixed-units")[0].values == ("EUR", "USD")
    assert column.numbers is not None and column.numbers.least == 12


@pytest.mark.parametrize("values", [[], [None, None], ["", " "], ["n/a", "-"]])
def test_nothing_at_all_is_an_empty_column(values: list[str | None]) -> None:
    column = column_of(pa.array(values, pa.string()))
    assert (column.kind, column.meaning, column.count) == ("empty", "unknown", 0)


def test_huge_and_strange_texts_are_bounded() -> None:
    column = column_of(["x" * 1_000_000, "\x00\n\ud7ff", "🦊" * 500], name="n" * 1_000)
    assert len(column.name) <= 200
    assert max(len(example) for example in column.examples) <= 120


def test_numbers_in_large_strings_are_read_like_those_in_plain_ones() -> None:
    texts = pa.array(["53,77 €", "46,76 €", "1.024,00 €"], pa.large_string())
    typed = type_column(RawColumn(name="amount", values=pa.chunked_array([texts]), is_text_format=False))
    assert typed.kind == "number"
