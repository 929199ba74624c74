"""Goals on public data sets, whose columns shorten words and are called like their tables."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from cellwright.analyst.goal.question import DeclinedQuestion, Question
from cellwright.analyst.goal.question_reader import read_question
from cellwright.profiles.profile import ColumnProfile, Join, Profile, ReadOptions, TableProfile, Times, ValueCount
from tests.analyst.test_questions import told


def number(name: str, distinct: int = 400, kind: Literal["number", "integer"] = "number") -> ColumnProfile:
    return ColumnProfile(name=name, kind=kind, meaning="measure", distinct=distinct)


def category(name: str, *values: str) -> ColumnProfile:
    common = tuple(ValueCount(value=value, count=2) for value in values)
    return ColumnProfile(name=name, kind="text", meaning="category", distinct=len(values), common=common)


def when(name: str, distinct: int = 0) -> ColumnProfile:
    times = Times(first="2013-01-01", last="2015-12-31")
    return ColumnProfile(name=name, kind="date", meaning="date", times=times, distinct=distinct)


def data(name: str, *columns: ColumnProfile, rows: int = 9000) -> Profile:
    reading = ReadOptions(path=f"{name}.csv", format="csv")
    return Profile(tables=(TableProfile(name=name, reading=reading, rows=rows, looked_at=rows, columns=columns),))


SETS = {
    "flights": data(
        "flights",
        when("time_hour"),
        category("carrier", "UA", "AA"),
        category("dest", "IAH", "MIA"),
        number("flight", 3576, "integer"),
        number("dep_delay", kind="integer"),
        number("arr_delay", kind="integer"),
        number("distance"),
    ),
    "gapminder": data(
        "gapminder", category("continent", "Asia", "Europe"), when("year"), number("lifeExp"), number("pop", 1700)
    ),
    "cars": data("cars", category("Origin", "USA", "Japan"), number("Miles_per_Gallon"), number("Weight_in_lbs")),
    "seattle-weather": data(
        "seattle-weather",
        when("date"),
        number("precipitation"),
        number("temp_max"),
        number("temp_min"),
        category("weather", "rain", "sun"),
    ),
    "jobs-in-iowa": data(
        "jobs-in-iowa", when("month"), category("sector", "Private"), number("construction"), number("nonfarm_change"),
        number("net_output"),
    ),
    "iowa-electricity": data(
        "iowa-electricity", when("year", 3000), category("source", "Coal", "Wind", "Sun"), number("net_generation")
    ),
    "readings": data("readings", when("day", 3000), category("room", "A", "B", "C"), number("temperature")),
    "temperature": data("temperature", when("day", 3000), category("city", "A", "B", "C"), number("degrees")),
    "two places": Profile(
        tables=tuple(
            table
            for place, rows in (("iowa-sun", 10), ("ohio-sun", 20))
            for table in data(place, when("year"), category("roof", "flat"), number("output"), rows=rows).tables
        )
    ),
    "temperatures": data("temperatures", category("city", "Rome", "Oslo"), number("temperature", 60, "integer")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words", "reading"),
    [
        ("flights", "How many flights were there per carrier?", "groups, count(flights), by flights.carrier"),
        ("flights", "Which carrier has the most flights?", "ranking, count(flights), by flights.carrier"),
        ("flights", "flights by month", "trend, count(flights), of time_hour, per month"),
        ("flights", "flights by carrier", "groups, count(flights), by flights.carrier"),
        ("flights", "average flights by carrier", "groups, mean(flights.flight), by flights.carrier"),
        ("flights", "average flight by carrier", "groups, mean(flights.flight), by flights.carrier"),
        ("flights", "average departure delay by carrier", "groups, mean(flights.dep_delay), by flights.carrier"),
        ("flights", "Is arrival delay related to distance?", "relation, mean(flights.arr_delay), by flights.distance"),
        ("flights", "highest arrival delay by destination", "groups, max(flights.arr_delay), by flights.dest"),
        ("gapminder", "life expectancy by continent", "groups, mean(gapminder.lifeExp), by gapminder.continent"),
        ("gapminder", "average population by continent", "groups, mean(gapminder.pop), by gapminder.continent"),
        ("cars", "What is the average mpg by origin?", "groups, mean(cars.Miles_per_Gallon), by cars.Origin"),
        ("seattle-weather", "Which month is the rainiest?",
         "ranking, sum(seattle-weather.precipitation), by its month, of date"),
        ("seattle-weather", "Which month is the coldest?",
         "ranking, mean(seattle-weather.temp_min), by its month, of date, lowest first"),
        ("seattle-weather", "Which month is the hottest?",
         "ranking, mean(seattle-weather.temp_max), by its month, of date"),
        ("seattle-weather", "how many days of each weather",
         "groups, count(seattle-weather), by seattle-weather.weather"),
        ("jobs-in-iowa", "How did construction change?", "trend, mean(jobs-in-iowa.construction), of month"),
        ("jobs-in-iowa", "average net output in Iowa", "figure, mean(jobs-in-iowa.net_output)"),
        ("iowa-electricity", "Which source produced most electricity?",
         "ranking, sum(iowa-electricity.net_generation), by iowa-electricity.source"),
        ("iowa-electricity", "share of wind by year",
         "share, sum(iowa-electricity.net_generation), where source in Wind, of year, per year"),
        ("temperature", "Which city has the highest temperature?",
         "ranking, mean(temperature.degrees), by temperature.city"),
        ("readings", "how many readings per room", "groups, count(readings), by readings.room"),
        ("temperatures", "temperatures by city", "groups, mean(temperatures.temperature), by temperatures.city"),
    ],
)  # fmt: skip
def test_names_that_shorten_words_or_are_the_tables_are_found(name: str, words: str, reading: str) -> None:
    read = read_question(words, SETS[name])
    assert isinstance(read, Question), read
    assert told(read) == reading


@pytest.mark.parametrize(
    ("name", "words", "note"),
    [
        ("gapminder", "average life expectancy", "“expectancy” was read as “exp”."),
        ("cars", "average mpg", "“mpg” was read as Miles_per_Gallon."),
    ],
)
def test_what_was_taken_for_a_shorter_name_is_told(name: str, words: str, note: str) -> None:
    read = read_question(words, SETS[name])
    assert isinstance(read, Question) and note in read.notes


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("flights", "Which department has the most delay?"),
        ("gapminder", "average expectancy by continent"),
        ("cars", "average mp by origin"),
        ("seattle-weather", "how many rainy days were there?"),
        ("two places", "average output in Iowa"),
    ],
)
def test_a_word_that_only_begins_like_a_name_is_no_name(name: str, words: str) -> None:
    assert isinstance(read_question(words, SETS[name]), DeclinedQuestion)


def test_an_adjective_is_told_as_the_measure_that_it_is_about() -> None:
    read = read_question("Which month is the rainiest?", SETS["seattle-weather"])
    assert isinstance(read, Question) and read.quantity and read.quantity.words == "precipitation"


def flights_and_what_they_fly_through() -> Profile:
    [flights] = SETS["flights"].tables
    flights = replace(flights, columns=(*flights.columns, category("tailnum", "N1", "N2")))
    [planes] = data("planes", category("tailnum", "N1", "N2"), category("type", "jet", "glider"), rows=2).tables
    [weather] = data("nyc_weather", when("time_hour"), number("visib"), number("precip")).tables
    join = Join(
        left="flights", left_column="tailnum", right="planes", right_column="tailnum",
        left_coverage=1, right_coverage=1, relation="many-to-one",
    )  # fmt: skip
    return Profile(tables=(flights, planes, weather), joins=(join,))


@pytest.mark.parametrize(
    "words", ["Which weather delays departures most?", "Which kind of weather in MIA has most delay?"]
)
def test_what_is_asked_for_by_which_and_stands_in_no_row_is_declined_and_not_passed_over(words: str) -> None:
    read = read_question(words, flights_and_what_they_fly_through())
    assert isinstance(read, DeclinedQuestion)
    assert read.why == "The data does not say which rows are of which weather."


def test_kinds_of_a_thing_are_those_of_the_column_that_says_the_kind() -> None:
    read = read_question("Which kind of plane has the highest departure delay?", flights_and_what_they_fly_through())
    assert isinstance(read, Question)
    assert told(read) == "ranking, mean(flights.dep_delay), by planes.type"
