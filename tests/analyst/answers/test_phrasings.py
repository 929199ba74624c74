"""Questions in people's words, each answered with the figure that SQL, written independently, gives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from cellwright.analyst.goal.question import DeclinedQuestion
from tests.analyst.answers.asked import Asked, Files, ask
from tests.sampling import every

EXAMPLES = Path(__file__).parents[3] / "examples"
_SHOP = """
CREATE VIEW orders AS
SELECT order_id, coalesce(try_strptime(order_date, '%Y-%m-%d'), try_strptime(order_date, '%d.%m.%Y'))::DATE AS day,
    customer_id, trim(product_group) AS product_group, channel, quantity::DOUBLE AS quantity,
    replace(replace(replace(amount, ' €', ''), '.', ''), ',', '.')::DOUBLE AS amount,
    nullif(shipping_days::DOUBLE, 9999) AS shipping_days, weight_kg::DOUBLE AS weight_kg, packed_by
FROM read_csv('{folder}/orders.csv', delim = ';', all_varchar = true, header = true, null_padding = true)
WHERE order_id SIMILAR TO 'B2[45]-[0-9]+';
CREATE VIEW customers AS
SELECT * REPLACE (nullif(birth_year::DOUBLE, 9999) AS birth_year, satisfaction::DOUBLE AS satisfaction)
FROM read_csv('{folder}/customers.csv', all_varchar = true, header = true, encoding = 'latin-1');
CREATE VIEW sold AS SELECT * FROM orders LEFT JOIN customers USING (customer_id);
"""
_OTHERS = """
CREATE VIEW penguins AS FROM read_csv_auto('{folder}/penguins.csv');
CREATE VIEW climate AS FROM read_csv('{folder}/climate.csv', header = true, all_varchar = true);
CREATE VIEW answers AS FROM read_csv('{folder}/answers.csv', header = true, delim = '\t', all_varchar = true);
"""
Q3 = "day BETWEEN '2025-07-01' AND '2025-09-30'"

SHOP = [
    ("How many orders were there?", "SELECT count(*) FROM orders"),
    ("number of orders in Q3 2025", f"SELECT count(*) FROM orders WHERE {Q3}"),
    ("How many orders did we get in March 2025?", "SELECT count(*) FROM orders WHERE day BETWEEN '2025-03-01' AND '2025-03-31'"),
    ("What was the total revenue?", "SELECT sum(amount) FROM orders"),
    ("total revenue in 2024", "SELECT sum(amount) FROM orders WHERE year(day) = 2024"),
    ("How much revenue did we make in the South?", "SELECT sum(amount) FROM sold WHERE region = 'South'"),
    ("revenue in the South in Q3 2025", f"SELECT sum(amount) FROM sold WHERE region = 'South' AND {Q3}"),
    ("revenue without phone orders", "SELECT sum(amount) FROM orders WHERE channel <> 'Phone'"),
    ("How much did business customers spend in 2025?", "SELECT sum(amount) FROM sold WHERE segment = 'Business' AND year(day) = 2025"),
    ("How many pieces were sold?", "SELECT sum(quantity) FROM orders"),
    ("What is the average order value?", "SELECT avg(amount) FROM orders"),
    ("average order value in the North", "SELECT avg(amount) FROM sold WHERE region = 'North'"),
    ("What is the median amount?", "SELECT median(amount) FROM orders"),
    ("average shipping days", "SELECT avg(shipping_days) FROM orders"),
    ("How long does shipping take on average for phone orders?", "SELECT avg(shipping_days) FROM orders WHERE channel = 'Phone'"),
    ("highest amount", "SELECT max(amount) FROM orders"),
    ("How many different customers ordered in Q3 2025?", f"SELECT count(DISTINCT customer_id) FROM orders WHERE {Q3}"),
    ("How many customers do we have?", "SELECT count(*) FROM customers"),
    ("How many cities do our customers live in?", "SELECT count(DISTINCT city) FROM customers"),
    ("How many orders over 500 euros were there?", "SELECT count(*) FROM orders WHERE amount > 500"),
    ("orders with at least 5 pieces", "SELECT count(*) FROM orders WHERE quantity >= 5"),
    ("average satisfaction of private customers", "SELECT avg(satisfaction) FROM customers WHERE segment = 'Private'"),
    ("revenue since May 2025", "SELECT sum(amount) FROM orders WHERE day >= '2025-05-01'"),
    ("revenue in the first half of 2025", "SELECT sum(amount) FROM orders WHERE day BETWEEN '2025-01-01' AND '2025-06-30'"),
    ("What share of revenue comes from the South?", "SELECT sum(amount) FILTER (region = 'South') / sum(amount) FROM sold"),
    ("What percentage of orders came by phone?", "SELECT avg((channel = 'Phone')::INT) FROM orders"),
    ("share of web orders that came from the South", "SELECT avg(coalesce((region = 'South')::INT, 0)) FROM sold WHERE channel = 'Web'"),
    ("Which region sells most?", "SELECT region, sum(amount) s FROM sold WHERE region IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("Which region sells most, and how did it change over the year?", "SELECT region, sum(amount) s FROM sold WHERE region IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("Which region has the least revenue?", "SELECT region, sum(amount) s FROM sold WHERE region IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("top 5 cities by revenue", "SELECT city, sum(amount) s FROM sold WHERE city IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("the three best product groups by revenue in 2025", "SELECT product_group, sum(amount) s FROM orders WHERE year(day) = 2025 GROUP BY 1 ORDER BY 2 DESC"),
    ("revenue by channel", "SELECT channel, sum(amount) s FROM orders GROUP BY 1 ORDER BY 2 DESC"),
    ("Show me the number of orders per region", "SELECT region, count(*) s FROM sold WHERE region IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("average shipping days by channel", "SELECT channel, avg(shipping_days) s FROM orders WHERE shipping_days IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("compare the average quantity of business and private customers", "SELECT segment, avg(quantity) s FROM sold WHERE segment IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"),
    ("Do phone orders take longer than web orders?", "SELECT channel, avg(shipping_days) s FROM orders WHERE channel IN ('Phone', 'Web') GROUP BY 1 ORDER BY 2 DESC"),
    ("On which weekday do we sell most?", "SELECT dayname(day), sum(amount) s FROM orders GROUP BY 1 ORDER BY 2 DESC"),
    ("Which month had the highest revenue?", "SELECT strftime(day, '%Y-%m'), sum(amount) s FROM orders GROUP BY 1 ORDER BY 2 DESC"),
    ("revenue per quarter", "SELECT date_trunc('quarter', day), sum(amount) FROM orders GROUP BY 1 ORDER BY 1"),
    ("How did revenue develop over time?", "SELECT date_trunc('month', day), sum(amount) FROM orders GROUP BY 1 ORDER BY 1"),
    ("monthly number of orders in 2025", "SELECT date_trunc('month', day), count(*) FROM orders WHERE year(day) = 2025 GROUP BY 1 ORDER BY 1"),
    ("Why did revenue fall in Q3 2025?", "SELECT sum(amount) FILTER (day BETWEEN '2024-07-01' AND '2024-09-30'), sum(amount) FILTER (day BETWEEN '2025-07-01' AND '2025-09-30') FROM orders"),
    ("What happened to revenue in the third quarter of 2025?", "SELECT sum(amount) FILTER (day BETWEEN '2024-07-01' AND '2024-09-30'), sum(amount) FILTER (day BETWEEN '2025-07-01' AND '2025-09-30') FROM orders"),
    ("Did the number of orders fall in Q3 2025?", "SELECT count(*) FILTER (day BETWEEN '2024-07-01' AND '2024-09-30'), count(*) FILTER (day BETWEEN '2025-07-01' AND '2025-09-30') FROM orders"),
    ("compare revenue in Q2 2025 and Q3 2025", "SELECT sum(amount) FILTER (day BETWEEN '2025-04-01' AND '2025-06-30'), sum(amount) FILTER (day BETWEEN '2025-07-01' AND '2025-09-30') FROM orders"),
    ("Why did revenue in the South drop in Q3 2025?", "SELECT sum(amount) FILTER (day BETWEEN '2024-07-01' AND '2024-09-30'), sum(amount) FILTER (day BETWEEN '2025-07-01' AND '2025-09-30') FROM sold WHERE region = 'South'"),
    ("2024 vs 2025 revenue", "SELECT sum(amount) FILTER (year(day) = 2024), sum(amount) FILTER (year(day) = 2025) FROM orders"),
]  # fmt: skip
OTHERS = [
    ("penguins.csv", "How many penguins are there?", "SELECT count(*) FROM penguins"),
    ("penguins.csv", "average body mass by species", "SELECT species, avg(body_mass_g) s FROM penguins GROUP BY 1 ORDER BY 2 DESC"),
    ("penguins.csv", "Which species has the longest flippers on average?", "SELECT species, avg(flipper_length_mm) s FROM penguins GROUP BY 1 ORDER BY 2 DESC"),
    ("penguins.csv", "What share of the penguins live on Holm?", "SELECT avg((island = 'Holm')::INT) FROM penguins"),
    ("penguins.csv", "mean bill length of female Ember penguins", "SELECT avg(bill_length_mm) FROM penguins WHERE sex = 'female' AND species = 'Ember'"),
    ("penguins.csv", "number of penguins per island", "SELECT island, count(*) s FROM penguins GROUP BY 1 ORDER BY 2 DESC"),
    ("climate.csv", "What is the average co2 in the office?", "SELECT avg(try_cast(co2_ppm AS DOUBLE)) FROM climate WHERE room = 'office' AND try_cast(co2_ppm AS DOUBLE) < 9000"),
    ("climate.csv", "Which room is the warmest on average?", "SELECT room, avg(t) s FROM (SELECT room, try_cast(temperature_c AS DOUBLE) t FROM climate) WHERE t > -60 GROUP BY 1 ORDER BY 2 DESC"),
    ("answers.csv", "How many people answered?", "SELECT count(*) FROM answers"),
    ("answers.csv", "average recommendation by team", "SELECT trim(team), avg(try_cast(recommend_0_to_10 AS DOUBLE)) s FROM answers GROUP BY 1 ORDER BY 2 DESC"),
    ("answers.csv", "What share of respondents have parking?", "SELECT avg((parking = 'yes')::INT) FROM answers"),
    ("answers.csv", "respondents per site", "SELECT site, count(*) s FROM answers GROUP BY 1 ORDER BY 2 DESC"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("asked")
    for each in (
        "data/orders.csv",
        "data/customers.csv",
        "data/penguins.csv",
        "sensors/climate.csv",
        "survey/answers.csv",
    ):
        shutil.copy(EXAMPLES / each, place)
    return place


@pytest.fixture(scope="module")
def shop(folder: Path) -> Files:
    return Files(folder=folder, names=("orders.csv", "customers.csv"))


@pytest.fixture(scope="module")
def sql(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute((_SHOP + _OTHERS).format(folder=folder))
        yield connection


def figures(asked: Asked) -> Any:
    """What the notebook came to, as SQL would give it."""
    if asked.question.kind == "change":
        return [(float(asked.values["first"]), float(asked.values["second"]))]
    result = asked.values["result"]
    if isinstance(result, pd.Series):
        dropped = result.dropna()
        return [(label, float(value)) for label, value in dropped.items()]
    return [(float(result),)]


def agree(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected), (found, expected)
    for one, other in zip(found, expected, strict=True):
        if len(one) == 2 and not isinstance(one[0], float):
            label = pd.Timestamp(other[0]) if isinstance(one[0], pd.Timestamp) else other[0]
            assert one[0] == label
        assert [float(each) for each in one if isinstance(each, int | float)] == pytest.approx(
            [float(each) for each in other if isinstance(each, int | float)]
        )


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize(("words", "query"), every(SHOP, 8))
def test_a_question_about_the_shop_gets_the_figure_that_sql_gives(
    shop: Files, sql: duckdb.DuckDBPyConnection, words: str, query: str
) -> None:
    asked = ask(shop, words)
    assert isinstance(asked, Asked), asked
    agree(figures(asked), sql.execute(query).fetchall())


@pytest.mark.parametrize(("file", "words", "query"), every(OTHERS, 6))
def test_a_question_about_other_files_gets_the_figure_that_sql_gives(
    folder: Path, sql: duckdb.DuckDBPyConnection, file: str, words: str, query: str
) -> None:
    asked = ask(Files(folder=folder, names=(file,)), words)
    assert isinstance(asked, Asked), asked
    agree(figures(asked), sql.execute(query).fetchall())


DECLINED = [
    *(
        "Forecast revenue for next quarter.",
        "Train a model that predicts churn.",
        "Cluster our customers into segments.",
    ),
    *("Write an email to our customers about the sale.", "Translate the product groups into French."),
    *("What is the weather in Berlin?", "How many employees do we have?", "What is our profit margin?"),
    *("Revenue in 2031", "How much revenue did we make in Atlantis?", "What would happen if we doubled our prices?"),
    *("Should we open a store in Dresden?", "Delete the duplicate rows from my files.", "Send the report to my boss."),
    *("Tell me a joke.", "Download the newest exchange rates.", "Build a web app that shows the orders."),
    *(
        "What do customers say about us in their comments?",
        "Recommend products to each customer.",
        "Draw a picture of a cat.",
    ),
]


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", every(DECLINED, 7))
def test_what_cannot_be_answered_is_declined_with_a_reason_and_what_is_nearest(shop: Files, words: str) -> None:
    declined = ask(shop, words)
    assert isinstance(declined, DeclinedQuestion), declined.told["headline"]
    assert len(declined.why.split()) >= 5
    for near in declined.nearest:
        assert isinstance(ask(shop, near), Asked), near
