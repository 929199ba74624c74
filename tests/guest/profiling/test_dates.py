from __future__ import annotations

import pytest

from tests.guest.profiling.raw_tables import column_of, days, odd, oddities_of, profiled


@pytest.mark.parametrize(
    ("texts", "kind", "formats", "first", "last"),
    [
        (["2024-01-31", "2024-02-01"], "date", ("%Y-%m-%d",), "2024-01-31", "2024-02-01"),
        (["31.1.2024", "01.02.2024"], "date", ("%d.%m.%Y",), "2024-01-31", "2024-02-01"),
        (["31/01/2024", "01/02/2024"], "date", ("%d/%m/%Y",), "2024-01-31", "2024-02-01"),
        (["1/31/2024", "2/1/2024"], "date", ("%m/%d/%Y",), "2024-01-31", "2024-02-01"),
        (["2024/1/31", "2024/2/1"], "date", ("%Y/%m/%d",), "2024-01-31", "2024-02-01"),
        (["31-Jan-2024", "1-Feb-2024"], "date", ("%d-%b-%Y",), "2024-01-31", "2024-02-01"),
        (["January 31, 2024", "February 1, 2024"], "date", ("%B %d, %Y",), "2024-01-31", "2024-02-01"),
        (["20240131", "20240201", "20240202"], "date", ("%Y%m%d",), "2024-01-31", "2024-02-02"),
        (["31.01.24", "01.02.24"], "date", ("%d.%m.%y",), "2024-01-31", "2024-02-01"),
        (["2024-01", "2024-02"], "date", ("%Y-%m",), "2024-01-01", "2024-02-01"),
        (
            ["2024-01-31 10:00:00", "2024-02-01 11:30:00"],
            "datetime",
            ("%Y-%m-%d %H:%M:%S",),
            "2024-01-31T10:00:00",
            "2024-02-01T11:30:00",
        ),
        (
            ["2024-01-31T10:00:00Z", "2024-02-01T11:30:00+02:00"],
            "datetime",
            ("%Y-%m-%dT%H:%M:%S%z",),
            "2024-01-31T10:00:00",
            "2024-02-01T09:30:00",
        ),
        (["31/01/2024 3:05 PM"], "datetime", ("%d/%m/%Y %I:%M %p",), "2024-01-31T15:05:00", "2024-01-31T15:05:00"),
    ],
)
def test_dates_are_read_however_they_are_written(
    texts: list[str], kind: str, formats: tuple[str, ...], first: str, last: str
) -> None:
    column = column_of(texts)
    assert column.times is not None
    assert (column.kind, column.conversion.kind, column.conversion.formats) == (kind, "date", formats)
    assert (column.times.first, column.times.last) == (first, last)


@pytest.mark.parametrize("texts", [["10000001", "99999999", "55555555"], ["12/5", "13/4"], ["May", "June"], ["1/2/3"]])
def test_what_only_resembles_a_date_is_none(texts: list[str]) -> None:
    assert column_of(texts).kind not in ("date", "datetime")


def test_several_formats_are_all_named_the_commonest_first() -> None:
    texts = ["2024-01-31", "2024-02-01", "2024-02-02", "03.02.2024", "4-Feb-2024"]
    (oddity,) = oddities_of(texts, "mixed-date-formats")
    assert column_of(texts).conversion.formats == ("%Y-%m-%d", "%d-%b-%Y", "%d.%m.%Y")
    assert (oddity.severity, oddity.count) == ("warning", 2)


def test_dates_with_and_without_fractions_of_seconds_are_no_mix_to_warn_of() -> None:
    (oddity,) = oddities_of(["2024-01-31 10:00:00", "2024-01-31 10:00:00.5"], "mixed-date-formats")
    assert oddity.severity == "note"


def test_a_day_above_twelve_settles_day_and_month() -> None:
    assert oddities_of(["03/04/2024", "25/04/2024"], "ambiguous-dates") == []


def test_dates_that_could_be_read_both_ways_say_which_was_taken() -> None:
    (oddity,) = oddities_of(["03/04/2024", "05/02/2024", "01/06/2024"], "ambiguous-dates")
    assert "month first" in oddity.says
    assert oddity.severity == "warning"


def test_the_order_of_rows_settles_day_and_month() -> None:
    texts = ["11/01/2024", "12/01/2024", "01/02/2024", "02/02/2024"]
    assert column_of(texts).conversion.formats == ("%d/%m/%Y",)
    assert "in order of time" in oddities_of(texts, "ambiguous-dates")[0].says


def test_another_column_settles_day_and_month() -> None:
    table = profiled({"a": ["03/04/2024", "05/02/2024"], "b": ["25/04/2024", "01/02/2024"]})
    assert table.columns[0].conversion.formats == ("%d/%m/%Y",)


def test_both_orders_in_one_column_are_a_problem() -> None:
    texts = ["25/04/2024", "04/25/2024", "26/04/2024"]
    (oddity,) = oddities_of(texts, "ambiguous-dates")
    assert (oddity.severity, column_of(texts).conversion.formats) == ("problem", ("%d/%m/%Y", "%m/%d/%Y"))


def test_days_no_calendar_has_are_impossible() -> None:
    (oddity,) = oddities_of([*days(30), "2024-02-30", "2023-02-29"], "impossible-dates")
    assert (oddity.count, oddity.values, oddity.severity) == (2, ("2024-02-30", "2023-02-29"), "problem")


def test_every_day_of_a_calendar_is_possible() -> None:
    assert oddities_of([*days(366)], "impossible-dates") == []


def test_a_date_decades_from_all_others_is_told() -> None:
    (oddity,) = oddities_of([*days(60), "2204-01-05"], "impossible-dates")
    assert oddity.rows == (60,)
    assert oddities_of([*days(60), "2026-01-05"], "impossible-dates") == []


def test_births_to_come_are_impossible() -> None:
    births = [*days(20_000, first="1945-01-01")[::300], "2030-05-05"]
    assert oddities_of(births, "impossible-dates", name="birth_date")[0].count == 1
    assert oddities_of(births, "impossible-dates", name="renewal") == []


def test_an_end_before_its_start_is_told() -> None:
    starts, ends = days(30), days(30, first="2024-01-03")
    assert odd(profiled({"start_date": starts, "end_date": ends}), "impossible-dates") == []
    ends[4] = "2023-12-01"
    (oddity,) = odd(profiled({"start_date": starts, "end_date": ends}), "impossible-dates", "end_date")
    assert (oddity.count, oddity.rows) == (1, (4,))


@pytest.mark.parametrize("placeholder", ["1900-01-01", "1970-01-01", "9999-12-31"])
def test_a_repeated_placeholder_for_a_date_is_a_sentinel(placeholder: str) -> None:
    (oddity,) = oddities_of([*days(60), *[placeholder] * 3], "sentinel")
    assert (oddity.values, oddity.count) == ((placeholder,), 3)


def test_the_first_of_january_among_its_neighbours_is_no_sentinel() -> None:
    assert oddities_of([*days(60, first="1969-12-01"), "1970-01-01"], "sentinel") == []


def test_a_column_of_dates_knows_its_step_and_its_gaps() -> None:
    all_days = days(40)
    column = column_of([*all_days[:10], *all_days[15:]])
    assert column.times is not None
    assert (column.times.step, column.times.missing_steps) == ("day", 5)
    assert column.times.gaps == ("2024-01-11 to 2024-01-15",)


def test_rows_that_a_sample_passes_over_are_no_gaps() -> None:
    texts = [f"2024-01-{day:02d}" for day in (*range(1, 11), *range(16, 31))]
    [column] = profiled({"value": texts}, sampling="every 2nd of 50 rows").columns
    assert column.times is not None and (column.times.first, column.times.last) == ("2024-01-01", "2024-01-30")
    assert (column.times.step, column.times.missing_steps, column.times.gaps) == ("day", 0, ())


def test_weekends_are_no_gaps_in_working_days() -> None:
    working = [day for place, day in enumerate(days(60)) if place % 7 < 5]
    column = column_of(working)
    assert column.times is not None and (column.times.step, column.times.missing_steps) == ("day", 0)


@pytest.mark.parametrize(
    ("texts", "step"),
    [
        ([f"2024-{month:02d}-01" for month in range(1, 13)], "month"),
        ([f"{year}-01-01" for year in range(2010, 2020)], "year"),
        (days(70)[::7], "week"),
        ([f"2024-01-01 {hour:02d}:00" for hour in range(24)], "hour"),
        (["2024-01-01", "2024-01-05", "2024-03-01", "2024-07-30", "2024-12-01"], ""),
    ],
)
def test_the_usual_step_is_named(texts: list[str], step: str) -> None:
    column = column_of(texts)
    assert column.times is not None and column.times.step == step


def test_many_moments_a_day_have_the_distance_they_keep() -> None:
    quarters = [
        f"2024-01-{day:02d} {hour:02d}:{minute:02d}"
        for day in (1, 2, 3, 4)
        for hour in range(24)
        for minute in (0, 15, 30, 45)
    ]
    column = column_of(quarters)
    assert column.times is not None
    assert (column.times.step, column.times.interval_seconds, column.times.missing_steps) == ("day", 900, 0)
    irregular = column_of([f"2024-01-{day:02d} {day * day % 24:02d}:{day * 7 % 60:02d}" for day in range(1, 29)])
    assert irregular.times is not None and irregular.times.interval_seconds == 0


def test_dates_stored_as_text_are_told_where_the_format_has_dates() -> None:
    assert oddities_of(days(5), "dates-as-text", is_text=False)[0].severity == "note"
    assert oddities_of(days(5), "dates-as-text") == []


def test_times_of_day_are_times() -> None:
    assert column_of(["10:00", "23:59", "3:04"]).kind == "time"
    assert column_of(["10:00", "25:99", "3:04"]).kind == "text"
