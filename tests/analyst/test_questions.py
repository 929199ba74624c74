"""Goals in the words people use, read as questions about the data of the examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.analyst.goal.question import DeclinedQuestion, NumberFilter, Quantity, Question, ValueFilter
from cellwright.analyst.goal.question_reader import read_question
from cellwright.analyst.goal.request import NamedColumn
from cellwright.profiles.profile import ColumnProfile, Profile, ReadOptions, TableProfile, Times, ValueCount
from tests.analyst.sections.section_notebook import profile_of
from tests.profiles.made import two_tables

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = {
    "shop": ("data", "orders.csv", "customers.csv"),
    "penguins": ("data", "penguins.csv"),
    "sensors": ("sensors", "climate.csv"),
    "survey": ("survey", "answers.csv"),
    "turbines": ("turbines", "output.xlsx", "faults.jsonl"),
    "kiosk": ("kiosk", "kiosk.db"),
}

SHOP = """
Which region sells most, and how did it change over the year?
    ranking, sum(orders.amount), by customers.region, of order_date, per month
how many orders do we have
    figure, count(orders)
How many orders were there in 2025?
    figure, count(orders), in 2025-01-01..2025-12-31, of order_date
how many customers do we have
    figure, count(customers)
how many customers bought in Q3
    figure, distinct(orders.customer_id), in 2025-07-01..2025-09-30, of order_date
how many different customers ordered
    figure, distinct(orders.customer_id)
How many cities do our customers live in?
    figure, distinct(customers.city)
How many pieces were sold
    figure, sum(orders.quantity)
how many products were sold in 2025
    figure, sum(orders.quantity), in 2025-01-01..2025-12-31, of order_date
how much money did we make last year
    figure, sum(orders.amount), in 2025-01-01..2025-12-31, of order_date
total revenue
    figure, sum(orders.amount)
what was our turnover in the first half of 2025
    figure, sum(orders.amount), in 2025-01-01..2025-06-30, of order_date
average order value
    figure, mean(orders.amount)
average revenue per order
    figure, mean(orders.amount)
whats the avg basket per segment
    groups, mean(orders.amount), by customers.segment
median amount for store orders
    figure, median(orders.amount), where channel in Store
average price
    figure, mean(orders.amount)
What share of web orders came from the South
    share, count(orders), where region in South, within channel in Web
what percentage of customers are from the South
    share, count(customers), where region in South
what fraction of revenue in the South is from garden
    share, sum(orders.amount), where product_group in Garden, within region in South
how much of our revenue comes from business customers
    share, sum(orders.amount), where segment in Business
share of revenue by region
    share, sum(orders.amount), by customers.region
what percent of our customers get the newsletter
    share, count(customers), where newsletter in yes
what share of orders took longer than 5 days
    share, count(orders), where shipping_days > 5
top 5 cities by revenue
    ranking, sum(orders.amount), by customers.city, top 5
give me the three best cities
    ranking, sum(orders.amount), by customers.city, top 3
which product group sells least
    ranking, sum(orders.amount), by orders.product_group, lowest first
Which customers spend the most?
    ranking, sum(orders.amount), by orders.customer_id
top ten customers by number of orders
    ranking, count(orders), by orders.customer_id, top 10
bottom 3 cities by orders
    ranking, count(orders), by customers.city, top 3, lowest first
which two regions have the lowest satisfaction
    ranking, mean(customers.satisfaction), by customers.region, top 2, lowest first
worst performing region
    ranking, sum(orders.amount), by customers.region, lowest first
who packed the most orders
    ranking, count(orders), by orders.packed_by
best selling product
    ranking, sum(orders.amount), by orders.product_group
which region has the most cities
    ranking, distinct(customers.city), by customers.region
rank the channels by average shipping days
    ranking, mean(orders.shipping_days), by orders.channel
largest order
    ranking, sum(orders.amount), by orders.order_id
monthly revenue
    trend, sum(orders.amount), of order_date, per month
revenue per region per month
    trend, sum(orders.amount), by customers.region, of order_date, per month
show me orders per week
    trend, count(orders), of order_date, per week
How did revenue develop over time?
    trend, sum(orders.amount), of order_date
weekly orders in the South since September 2025
    trend, count(orders), where region in South, in 2025-09-01..2025-12-31, of order_date, per week
yearly revenue
    trend, sum(orders.amount), of order_date, per year
new customers per month
    trend, count(customers), of joined, per month
compare Q2 and Q3 2025
    change, sum(orders.amount), in 2025-04-01..2025-06-30, in 2025-07-01..2025-09-30, of order_date
revenue 2024 vs 2025
    change, sum(orders.amount), in 2024-01-01..2024-12-31, in 2025-01-01..2025-12-31, of order_date
how did revenue change from 2024 to 2025
    change, sum(orders.amount), in 2024-01-01..2024-12-31, in 2025-01-01..2025-12-31, of order_date
revenue this year vs last year
    change, sum(orders.amount), in 2025-01-01..2025-12-31, in 2024-01-01..2024-12-31, of order_date
revenue in Q3 2025 compared to the same quarter last year
    change, sum(orders.amount), in 2025-07-01..2025-09-30, in 2024-07-01..2024-09-30, of order_date
revenue in H1 2025 vs H2 2025
    change, sum(orders.amount), in 2025-01-01..2025-06-30, in 2025-07-01..2025-12-31, of order_date
Why did revenue fall in Q3 2025?
    change, sum(orders.amount), in 2025-07-01..2025-09-30, of order_date, why
did revenue fall in Q3 2025
    change, sum(orders.amount), in 2025-07-01..2025-09-30, of order_date
why were sales down in Q3 2025
    change, sum(orders.amount), in 2025-07-01..2025-09-30, of order_date, why
what caused the drop in revenue in Q3 2025?
    change, sum(orders.amount), in 2025-07-01..2025-09-30, of order_date, why
which products drove the drop in Q3 2025
    change, sum(orders.amount), by orders.product_group, in 2025-07-01..2025-09-30, of order_date, why
did the number of orders go down in February 2025
    change, count(orders), in 2025-02-01..2025-02-28, of order_date
what drives satisfaction
    drivers, mean(customers.satisfaction)
what affects shipping days
    drivers, mean(orders.shipping_days)
why is satisfaction so low in the South
    drivers, mean(customers.satisfaction), where region in South
Is satisfaction related to shipping days
    relation, mean(customers.satisfaction), by orders.shipping_days
does weight influence shipping days
    relation, mean(orders.shipping_days), by orders.weight_kg
does satisfaction depend on region
    relation, mean(customers.satisfaction), by customers.region
effect of newsletter on satisfaction
    relation, mean(customers.satisfaction), by customers.newsletter
are older customers more satisfied
    relation, mean(customers.satisfaction), by customers.birth_year
outliers in amount
    outliers, sum(orders.amount)
any outliers?
    outliers
outliers in amount in 2025
    outliers, sum(orders.amount), in 2025-01-01..2025-12-31, of order_date
what is wrong with this data
    quality
are there duplicates in the orders
    quality
summarise
    overview
tell me about it
    overview
how is the business doing
    overview
compare web and phone orders
    groups, count(orders), by orders.channel, where channel in Web|Phone
is revenue higher in the South than in the North
    groups, sum(orders.amount), by customers.region, where region in South|North
Do firms buy more pieces than private customers?
    groups, mean(orders.quantity), by customers.segment, where segment in Business|Private
can you show me how many orders each packer handled
    groups, count(orders), by orders.packed_by
revenue by product category
    groups, sum(orders.amount), by orders.product_group
which customer segment spends more per order
    ranking, mean(orders.amount), by customers.segment
compare revenue of Q3 2025 with the previous quarter
    change, sum(orders.amount), in 2025-07-01..2025-09-30, in 2025-04-01..2025-06-30, of order_date
how many orders are delivered within 3 days
    figure, count(orders), where shipping_days <= 3
how many kg did we ship in 2025
    figure, sum(orders.weight_kg), in 2025-01-01..2025-12-31, of order_date
how many items per order
    figure, mean(orders.quantity)
satisfaction by channel
    groups, mean(customers.satisfaction), by orders.channel
which channel do business customers prefer
    ranking, count(orders), by orders.channel, where segment in Business
customers by birth year
    groups, count(customers), by customers.birth_year
how many columns are there
    overview
which region grew most from 2024 to 2025
    change, sum(orders.amount), by customers.region, in 2024-01-01..2024-12-31, in 2025-01-01..2025-12-31, of
    order_date
sum of amount by channel and month
    trend, sum(orders.amount), by orders.channel, of order_date, per month
regions with more than 1000 orders
    groups, count(orders), by customers.region
is more than half of revenue from the web
    share, sum(orders.amount), where channel in Web
quantity distribution
    groups, count(orders), by orders.quantity
how does revenue vary by month
    trend, sum(orders.amount), of order_date, per month
revenue 2024-2025
    figure, sum(orders.amount), in 2024-01-01..2025-12-31, of order_date
which region lost the most revenue in Q3 2025
    change, sum(orders.amount), by customers.region, in 2025-07-01..2025-09-30, of order_date
how much was spent by customers from Hamburg
    figure, sum(orders.amount), where city in Hamburg
what's the highest order value in the west
    figure, max(orders.amount), where region in West
customers who bought garden in 2025
    figure, distinct(orders.customer_id), where product_group in Garden, in 2025-01-01..2025-12-31, of order_date
distribution of amount
    outliers, sum(orders.amount)
are business customers more satisfied?
    groups, mean(customers.satisfaction), by customers.segment
do phone orders take longer
    groups, mean(orders.shipping_days), by orders.channel
revenue in the South without garden
    figure, sum(orders.amount), where region in South, where product_group not in Garden
total amount of lighting orders via phone excluding the south
    figure, sum(orders.amount), where product_group in Lighting|Lightning|LIGHTING, where channel in Phone, where
    region not in South
orders in the south or west
    figure, count(orders), where region in South|West
non-web orders
    figure, count(orders), where channel not in Web
revenue in kitchen
    figure, sum(orders.amount), where product_group in Kitchen|Kichen|kitchen|Kitchen␣
revenue in Munich
    figure, sum(orders.amount), where city in München
how many orders over 100 euros
    figure, count(orders), where amount > 100
how many orders with at least 3 pieces
    figure, count(orders), where quantity >= 3
orders between 50 and 100 euros
    figure, count(orders), where amount >= 50, where amount <= 100
orders heavier than 10 kg
    figure, count(orders), where weight_kg > 10
orders with quantity 5
    figure, count(orders), where quantity = 5
how many customers have a satisfaction of at least 8
    figure, count(customers), where satisfaction >= 8
customers with newsletter
    figure, count(customers), where newsletter in yes
how many newsletter subscribers
    figure, count(customers), where newsletter in yes
how many customers without newsletter
    figure, count(customers), where newsletter in no
revenue of customer C0007 in 2025
    figure, sum(orders.amount), where customer_id in C0007, in 2025-01-01..2025-12-31, of order_date
on which weekday do people spend most
    ranking, sum(orders.amount), by its weekday, of order_date
which month had the highest revenue
    ranking, sum(orders.amount), by its month, of order_date
what's the busiest month
    ranking, count(orders), by its month, of order_date
which day had the highest revenue
    ranking, sum(orders.amount), of order_date, per day
how much do we sell on saturdays
    groups, sum(orders.amount), by its weekday, of order_date
revenue in March
    figure, sum(orders.amount), in 2025-03-01..2025-03-31, of order_date
orders since May 2025
    figure, count(orders), in 2025-05-01..2025-12-31, of order_date
revenue last quarter
    figure, sum(orders.amount), in 2025-10-01..2025-12-31, of order_date
revenue over the last 3 months
    figure, sum(orders.amount), in 2025-10-01..2025-12-31, of order_date
sales on 17 October 2024
    figure, sum(orders.amount), in 2024-10-17..2024-10-17, of order_date
how many customers joined in 2023
    figure, count(customers), in 2023-01-01..2023-12-31, of joined
average satisfaction by region
    groups, mean(customers.satisfaction), by customers.region
How long does shipping take for phone orders?
    figure, mean(orders.shipping_days), where channel in Phone
highest amount
    figure, max(orders.amount)
How satisfied are our customers?
    figure, mean(customers.satisfaction)
Umsatz nach Region
    groups, sum(orders.amount), by customers.region
Welche Region verkauft am meisten?
    ranking, sum(orders.amount), by customers.region
Wie viele Bestellungen hatten wir 2025?
    figure, count(orders), in 2025-01-01..2025-12-31, of order_date
Warum ist der Umsatz im 3. Quartal 2025 gefallen?
    change, sum(orders.amount), in 2025-07-01..2025-09-30, of order_date, why
Umsatz pro Monat im Süden
    trend, sum(orders.amount), where region in South, of order_date, per month
revenu by regoin
    groups, sum(orders.amount), by customers.region
"""
PENGUINS = """
does flipper length predict body mass
    relation, mean(penguins.body_mass_g), by penguins.flipper_length_mm
how did body mass change from 2023 to 2025
    groups, mean(penguins.body_mass_g), by penguins.year, where year in 2023|2025
how many penguins are there
    figure, count(penguins)
average body mass by species
    groups, mean(penguins.body_mass_g), by penguins.species
which species is the heaviest
    ranking, mean(penguins.body_mass_g), by penguins.species
what percentage of penguins are female
    share, count(penguins), where sex in female
flipper length vs body mass
    relation, mean(penguins.flipper_length_mm), by penguins.body_mass_g
does sex matter for body mass
    relation, mean(penguins.body_mass_g), by penguins.sex
do males weigh more than females
    groups, mean(penguins.body_mass_g), by penguins.sex, where sex in male|female
how many Frost penguins live on Skerry
    figure, count(penguins), where species in Frost, where island in Skerry
how many penguins are heavier than 4 kg
    figure, count(penguins), where body_mass_g > 4000
the longest flipper
    figure, max(penguins.flipper_length_mm)
penguins in 2024
    figure, count(penguins), where year in 2024
body mass by year
    groups, mean(penguins.body_mass_g), by penguins.year
mean flipper length for each species and sex
    groups, mean(penguins.flipper_length_mm), by penguins.species, by penguins.sex
"""
SENSORS = """
was the workshop colder than the office in January
    groups, mean(climate.temperature_c), by climate.room, where room in workshop|office, in 2025-01-01..2025-01-31,
    of time
daily max co2
    trend, max(climate.co2_ppm), of time, per day
What matters in these sensor readings, and what is wrong with the data?
    overview
which room is coldest
    ranking, mean(climate.temperature_c), by climate.room, lowest first
highest co2 in the office
    figure, max(climate.co2_ppm), where room in office
how often was co2 over 800
    figure, count(climate), where co2_ppm > 800
at what time of day is co2 highest
    ranking, mean(climate.co2_ppm), by its hour, of time
hourly temperature in the workshop
    trend, mean(climate.temperature_c), where room in workshop, of time, per hour
is humidity related to temperature
    relation, mean(climate.humidity_percent), by climate.temperature_c
temperature in february vs january
    change, mean(climate.temperature_c), in 2025-02-01..2025-02-28, in 2025-01-01..2025-01-31, of time
is the battery getting lower
    trend, mean(climate.battery_v), of time
"""
SURVEY = """
how many people in sales
    figure, count(answers), where team in Sales|Sales␣|sales
average recommendation by team
    groups, mean(answers.recommend_0_to_10), by answers.team
which team is least likely to recommend
    ranking, mean(answers.recommend_0_to_10), by answers.team, lowest first
what percentage of people strongly agree that tools are good
    share, count(answers), where tools_are_good in strongly agree
what share of engineering has parking
    share, count(answers), where parking in yes, within team in Engineering|Engineering␣|engineering
is content related to team
    relation, count(answers), by answers.content, by answers.team
"""
TURBINES = """
compare T1 and T3
    groups, count(faults), by faults.turbine, where turbine in T1|T3
how long do ice faults last
    figure, mean(faults.minutes), where kind in ice
why did T3 energy fall in April
    change, sum(output_output.T3 energy_kwh), in 2025-04-01..2025-04-30, of date, why
which turbine had the most faults
    ranking, count(faults), by faults.turbine
how many gear faults did T3 have
    figure, count(faults), where kind in gear, where turbine in T3
total minutes of faults since March
    figure, sum(faults.minutes), in 2025-03-01..2025-06-27, of date
average wind at T2
    figure, mean(output_output.T2 wind_m_s)
how much energy did T1 produce in March
    figure, sum(output_output.T1 energy_kwh), in 2025-03-01..2025-03-31, of date
which maker has the most faults
    ranking, count(faults), by output_turbines.maker
"""
KIOSK = """
how many sales
    figure, count(kiosk_sales)
total sales
    figure, sum(kiosk_sales.paid)
which product sells best
    ranking, sum(kiosk_sales.paid), by kiosk_products.name
who sold the most
    ranking, sum(kiosk_sales.paid), by kiosk_sales.staff
most expensive product
    ranking, mean(kiosk_products.price), by kiosk_products.name
how many espressos were sold
    figure, sum(kiosk_sales.pieces), where name in Espresso
revenue of drinks in May
    figure, sum(kiosk_sales.paid), where category in drinks, in 2025-05-01..2025-05-31, of sold_on
sales per weekday
    groups, sum(kiosk_sales.paid), by its weekday, of sold_on
which reason is most common
    ranking, count(kiosk_refunds), by kiosk_refunds.reason
What is our best selling drink?
    ranking, sum(kiosk_sales.paid), by kiosk_products.name, where category in drinks
which staff member sells the most drinks
    ranking, sum(kiosk_sales.paid), by kiosk_sales.staff, where category in drinks
Is March better than April?
    change, sum(kiosk_sales.paid), in 2025-03-01..2025-03-31, in 2025-04-01..2025-04-30, of sold_on
"""


@cache
def profile(name: str) -> Profile:
    folder, *paths = FILES[name]
    return profile_of(EXAMPLES / folder, *paths)


def asked(words: str, name: str = "shop") -> Question:
    read = read_question(words, profile(name))
    assert isinstance(read, Question), read
    return read


def declined(words: str, name: str = "shop") -> DeclinedQuestion:
    read = read_question(words, profile(name))
    assert isinstance(read, DeclinedQuestion), told(read)
    return read


def told(question: Question) -> str:
    """A question on one line: its kind, what is computed, and what else it has; no words of the goal and no notes."""
    said: list[str] = [question.kind]
    quantity = question.quantity
    if quantity:
        column = quantity.column
        of = f"{column.table}.{column.column}" if column else quantity.table
        said.append(f"{quantity.how}({of})")
    said += [f"by {name.table}.{name.column}" for name in question.by]
    said += [f"by its {question.part}"] if question.part else []
    said += [_condition("where", each) for each in question.filters]
    said += [_condition("within", each) for each in question.within]
    said += [f"in {span.first}..{span.last}" for span in question.spans]
    said += [f"of {question.time.column}"] if question.time else []
    said += [f"per {question.unit}"] if question.unit else []
    said += [f"top {question.top}"] if question.top else []
    said += ["lowest first"] if question.is_lowest else []
    said += ["why"] if question.asks_why else []
    return ", ".join(said)


def _condition(word: str, each: ValueFilter | NumberFilter) -> str:
    match each:
        case ValueFilter():
            return f"{word} {each.column.column} {'not in' if each.is_excluded else 'in'} {'|'.join(each.values)}"
        case NumberFilter():
            return f"{word} {each.column.column} {each.comparison} {each.number:g}"


def _cases(**sets: str) -> Iterator[tuple[str, str, str]]:
    """Words of a goal, and below them, indented, how they are read; a space at an end of a value is written `␣`."""
    for name, text in sets.items():
        for case in re.split(r"\n(?=\S)", text.strip()):
            words, _, reading = case.partition("\n")
            yield name, words, " ".join(reading.split()).replace("␣", " ")


@pytest.mark.parametrize(
    ("name", "words", "reading"),
    list(_cases(shop=SHOP, penguins=PENGUINS, sensors=SENSORS, survey=SURVEY, turbines=TURBINES, kiosk=KIOSK)),
)
def test_a_goal_is_read_as_the_question_it_asks(name: str, words: str, reading: str) -> None:
    assert told(asked(words, name)) == reading


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("forecast revenue for next quarter", "a forecast or prediction"),
        ("what will revenue be in 2026", "a forecast or prediction"),
        ("train a model to predict churn", "a model"),
        ("cluster the customers", "groups or recommendations to be learnt"),
        ("write an email to the customers", "a text to be written"),
        ("Build me a web app", "software to be written"),
        ("write a sql query for revenue", "code to be written"),
        ("translate the product names into French", "a translation"),
        ("scrape prices from our competitors", "something from the web"),
        ("send the report to my boss", "an action outside the notebook"),
        ("delete the duplicates", "an action outside the notebook"),
        ("export the orders to excel", "an action outside the notebook"),
        ("what is the sentiment of the reviews", "text to be understood"),
        ("tell me a joke", "a conversation"),
        ("hello", "a conversation"),
        ("what would happen if we doubled the price", "what would happen if"),
        ("should we hire more people", "advice"),
        ("how can we increase revenue", "advice"),
        ("standard deviation of amount", "a figure of spread"),
        ("How many employees do we have?", "nothing called “employees”"),
        ("What is the profit margin?", "nothing called “profit” or “margin”"),
        ("revenue in Atlantis", "nothing called “Atlantis”"),
        ("revenue without returns", "nothing called “returns”"),
        ("revenue by salesperson", "nothing called “salesperson”"),
        ("how many loyal customers", "nothing called “loyal”"),
        ("average temperature", "nothing called “temperature”"),
        ("what is the weather in Munich", "nothing called “weather”"),
        ("lorem ipsum dolor", "nothing called “lorem”, “ipsum” or “dolor”"),
        ("revenue in 2031", "covers 2024-01-01 to 2025-12-31: it has nothing of “2031”"),
        ("which hour is busiest", "has days, and no hours"),
        ("who sold the most", "does not say who"),
        ("revenue per piece", "divides by quantity"),
        ("customers who never ordered", "what is not in orders"),
        ("number of orders above average", "not clear which column “average” is about"),
        ("customers older than 50", "not clear which column “older than 50” is about"),
    ],
)
def test_what_cannot_be_answered_is_declined_with_a_reason_and_what_can_be_asked(words: str, why: str) -> None:
    read = declined(words)
    assert why in read.why and read.why.endswith(".")
    assert 1 <= len(read.nearest) <= 3
    for nearest in read.nearest:
        assert isinstance(read_question(nearest, profile("shop")), Question), nearest


@pytest.mark.parametrize(
    ("name", "words", "why"),
    [
        ("penguins", "revenue", "nothing called “revenue”"),
        ("penguins", "body mass last quarter", "years only"),
        ("penguins", "how many penguins were there in 1999", "nothing of “1999”"),
        ("survey", "revenue per month", "nothing called “revenue”"),
        ("survey", "recommend per month", "No column of the data says when"),
        ("sensors", "temperature in 2020", "nothing of “2020”"),
        ("kiosk", "revenue without refunds", "what is not in kiosk_refunds"),
        ("kiosk", "refund rate", "nothing called “rate”"),
        ("penguins", "smallest penguin on Holm", "not clear by which measure"),
    ],
)
def test_what_other_data_does_not_have_is_declined_too(name: str, words: str, why: str) -> None:
    assert why in declined(words, name).why


def test_what_the_data_lacks_no_model_is_offered_for_and_what_rules_cannot_do_one_is() -> None:
    assert not declined("revenue in Atlantis").model_would
    assert not declined("revenue in 2031").model_would
    assert "a forecast or prediction" in declined("forecast revenue for next quarter").model_would


def test_a_forecast_is_declined_with_the_trend_that_is_known_first() -> None:
    assert declined("forecast revenue for next quarter").nearest[0] == "How did amount develop month by month?"


def test_the_part_that_can_be_answered_is_answered_and_the_rest_is_named() -> None:
    read = asked("Show the trend of revenue and forecast the next month")
    assert told(read) == "trend, sum(orders.amount), of order_date"
    assert read.notes[-1] == "The goal also asks for a forecast or prediction: that part is left out."


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("Which region sells most?", "“Sells” was read as the sum of amount."),
        ("how did revenue do over the year", "“Over the year” was read as month by month."),
        ("how many customers bought in Q3", "“customers” was read as those named in orders, each counted once."),
        ("compare Q2 and Q3 2025", "No measure is named: the sum of amount is looked at."),
        (
            "average revenue per customer",
            "“Average revenue per customer” was read as the sum of amount for each customer.",
        ),
        ("how much do we sell on saturdays", "“Saturdays” was read as a question by weekday: all of them are shown."),
        ("revenue and quantity by region", "One measure is looked at: quantity is left out."),
        ("why is satisfaction so low", "“Why” was read as what goes with it: data like these prove no cause."),
        ("revenu by region", "“revenu” was read as “revenue”."),
        ("how has satisfaction changed", "Time is that of customers.joined."),
        ("revenue yesterday", "“yesterday” was read as 2025-12-30: the data ends on 2025-12-31."),
        ("why did revenue drop?", "No time is named: the last quarter is held against the time before."),
    ],
)
def test_a_reading_that_was_not_plain_is_told(words: str, note: str) -> None:
    assert note in asked(words).notes


def test_a_word_that_fits_several_columns_names_them() -> None:
    note = "“bill” was read as bill_length_mm; it could also mean bill_depth_mm."
    assert note in asked("average bill by species", "penguins").notes


def test_two_columns_that_say_the_same_are_no_doubt() -> None:
    assert asked("average weight").notes == ()


def test_a_question_keeps_the_words_of_the_goal() -> None:
    read = asked("how many orders over 100 euros in the South")
    assert read.quantity == Quantity(how="count", table="orders", words="orders")
    assert read.filters == (
        NumberFilter(
            column=NamedColumn(table="orders", column="amount"), comparison=">", number=100.0, words="over 100 euros"
        ),
        ValueFilter(
            column=NamedColumn(table="customers", column="region"), values=("South",), words="in the South"
        ),
    )  # fmt: skip


@pytest.mark.parametrize("words", ["", "   ", "\n", "?"])
def test_a_goal_without_words_is_an_overview(words: str) -> None:
    assert told(asked(words)) == "overview"


def test_words_that_say_nothing_give_an_overview_that_says_so() -> None:
    assert asked("please help me") == Question(kind="overview", is_understood=False)


def test_problems_are_promised_where_an_overview_asks_for_them_too() -> None:
    words = "What matters in these sensor readings, and what is wrong with the data?"
    assert asked(words, "sensors").notes == ("Problems of the data are told too.",)


def test_data_that_cannot_be_joined_is_not_mixed() -> None:
    plain = two_tables()
    apart = Profile(tables=plain.tables)
    read = read_question("average price by name", apart)
    assert isinstance(read, DeclinedQuestion) and "Nothing joins the rows of sales with those of regions." in read.why
    assert isinstance(read_question("average price by name", plain), Question)


def test_a_profile_without_tables_is_read_too() -> None:
    assert read_question("revenue in Q3", Profile()) == Question(kind="overview", is_understood=False)


def wide(name: str, value: str, columns: int = 3, last: str = "2025-12-31") -> Profile:
    values = (ValueCount(value=value, count=2), ValueCount(value="Other", count=1))
    made = [
        ColumnProfile(name=f"{name}{number or ''}", kind="text", meaning="category", distinct=2, common=values)
        for number in range(columns)
    ]
    made.append(ColumnProfile(name=f"{name} amount", kind="number", meaning="currency", distinct=50))
    made.append(ColumnProfile(name="when", kind="date", meaning="date", times=Times(first="2020-01-01", last=last)))
    reading = ReadOptions(path="x.csv", format="csv")
    return Profile(tables=(TableProfile(name=name, reading=reading, rows=9, looked_at=9, columns=tuple(made)),))


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "(.*)+$", "=SUM(A1)", "", " ", "\u202eevil", "a" * 200, "💥", "per", "how many"],
)
def test_names_of_any_kind_are_only_names(name: str) -> None:
    for words in (f"how many {name}", f"amount by {name}", f"{name} vs {name}", "top 3 by amount since March"):
        assert isinstance(read_question(words, wide(name, name)), Question | DeclinedQuestion)


@pytest.mark.parametrize(
    "words", ["sensor " * 400, "in 2024 " * 300, "over 5 " * 300, "q1 " * 700, "(" * 3_000, "a" * 5_000, "per " * 900]
)
def test_a_long_goal_is_cut_and_read(words: str) -> None:
    assert isinstance(read_question(words, wide("sensor", "Value 1", columns=1_000)), Question | DeclinedQuestion)


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=40), st.dates().map(str))
def test_no_words_and_no_names_break_the_reading(words: str, name: str, value: str, last: str) -> None:
    data = wide(name, value, last=last)
    for goal in (words, f"how many {name} in {value} last year", f"why did {words} fall since March vs {value}"):
        assert isinstance(read_question(goal, data), Question | DeclinedQuestion)


_SPOKEN = re.findall(
    r"\S+",
    "how many much which what why did fall share of percent top 3 five by per month in the South web revenue orders "
    "customers without over 100 euros between 5 and last year vs 2024 Q3 average median highest least compare "
    "who newsletter related to drives outliers wrong weekday region satisfaction not is more than pieces",
)


@given(st.lists(st.sampled_from(_SPOKEN), max_size=14).map(" ".join))
def test_known_words_in_any_order_are_declined_or_read_whole(words: str) -> None:
    read = read_question(words, profile("shop"))
    if isinstance(read, DeclinedQuestion):
        return
    assert read.quantity or read.kind in {"overview", "quality", "outliers"}
    assert read.time or not (read.spans or read.unit or read.part)
    assert all(note.endswith(".") for note in read.notes)
    match read.kind:
        case "share":
            assert read.filters or read.by
        case "groups":
            assert read.by or read.part
        case "ranking":
            assert read.by or read.part or read.unit
        case "relation":
            assert read.by
        case "change":
            assert read.spans
        case _:
            assert not read.within
