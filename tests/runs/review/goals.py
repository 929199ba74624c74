"""Twelve goals with small data, the right answer as an agent would compute it, and ways to get it wrong.

Written before the code that gives a second opinion. Each wrong way is one cell that differs from the right one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

Mistake = Literal["off by a row", "wrong join", "rounded too early", "wrong unit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredGoal:
    """A goal, its data, and a notebook's two cells that answer it."""

    id: str
    goal: str
    make: Callable[[Path], None]
    data: tuple[str, ...]
    read: str
    """The cell that reads the data."""
    compute: str
    """The cell that computes the answer."""
    template: str
    """The answer, with the notebook's variables in braces."""
    wrong_reads: Mapping[Mistake, str] = field(default_factory=dict[Mistake, str])
    wrong_computes: Mapping[Mistake, str] = field(default_factory=dict[Mistake, str])
    is_shown: bool = True
    """False: only what the profile tells can be shown."""


def _write(folder: Path, name: str, header: str, rows: list[str]) -> None:
    (folder / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def _orders(folder: Path) -> None:
    chance = random.Random(1)
    rows = [
        f"o{number:03d},{date(2025, 1, 6) + timedelta(days=number * 2)},{chance.choice(['North', 'South', 'West'])},"
        f"c{number % 9},{chance.uniform(10, 90):.2f},{chance.choice(['yes', 'no', 'no'])},{chance.randrange(1, 9)}"
        for number in range(60)
    ]
    _write(folder, "orders.csv", "order_id,ordered_on,region,customer_id,revenue,returned,delivery_days", rows)


def _orders_and_customers(folder: Path) -> None:
    _orders(folder)
    # Two customers stand there twice under another number: a careless join by name would count them twice.
    rows = [f"c{number},{'firm' if number < 3 else 'private'},town{number % 4}" for number in range(9)]
    _write(folder, "customers.csv", "customer_id,segment,town", rows)


def _parcels(folder: Path) -> None:
    chance = random.Random(2)
    rows = [
        f"p{number:02d},{chance.uniform(2, 30):.1f} {'lb' if number % 6 == 5 else 'kg'},{chance.choice(['A', 'B'])}"
        for number in range(48)
    ]
    _write(folder, "parcels.csv", "parcel,weight,depot", rows)


def _budget(folder: Path) -> None:
    chance = random.Random(4)
    amounts = [chance.randrange(1000, 9000) / 100 for _ in range(24)]
    rows = [f"post {number:02d},{amount:.2f}" for number, amount in enumerate(amounts)]
    _write(folder, "budget.csv", "item,amount", [*rows, f"Total,{sum(amounts):.2f}"])


def _trips(folder: Path) -> None:
    chance = random.Random(5)
    rows = [
        f"t{number:02d},{chance.lognormvariate(3, 0.4):.2f},{chance.choice(['bus', 'tram'])}" for number in range(45)
    ]
    _write(folder, "trips.csv", "trip,duration,line", rows)


_ORDERS = 'orders = pd.read_csv(folder / "orders.csv", parse_dates=["ordered_on"])'
_ORDERS_LESS = _ORDERS + ".iloc[1:]"
_JOIN = (
    'orders = pd.read_csv(folder / "orders.csv")\n'
    'customers = pd.read_csv(folder / "customers.csv")\n'
    'joined = orders.merge(customers, on="customer_id", validate="many_to_one")'
)
_JOIN_TWICE = _JOIN.replace(
    'joined = orders.merge(customers, on="customer_id", validate="many_to_one")',
    'joined = orders.merge(pd.concat([customers, customers[customers["segment"] == "private"]]), on="customer_id")',
)
_JOIN_LOSES = _JOIN.replace("joined = orders", 'joined = orders[orders["customer_id"] != "c0"]')

GOALS = (
    AnsweredGoal(
        id="total",
        goal="What is the total revenue? Give the figure with two decimals.",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='total = orders["revenue"].sum()',
        template="The total revenue is {total:.2f}.",
        wrong_reads={"off by a row": _ORDERS_LESS},
        wrong_computes={"rounded too early": 'total = orders["revenue"].round().sum()'},
    ),
    AnsweredGoal(
        id="mean",
        goal="What is the average revenue? Two decimals.",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='mean = orders["revenue"].mean()',
        template="On average {mean:.2f}.",
        wrong_reads={"off by a row": _ORDERS_LESS},
        wrong_computes={"rounded too early": 'mean = orders["revenue"].round(0).mean()'},
    ),
    AnsweredGoal(
        id="count",
        goal="How many orders are there in the North?",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='north = int((orders["region"] == "North").sum())',
        template="There are {north} orders in the North.",
        wrong_computes={"off by a row": 'north = int((orders["region"] == "North").sum()) - 1'},
    ),
    AnsweredGoal(
        id="leader",
        goal="Which region has the highest revenue, and how much? Two decimals.",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='by_region = orders.groupby("region")["revenue"].sum()\n'
        "best, most = by_region.idxmax(), by_region.max()",
        template="{best}, with {most:.2f}.",
        wrong_reads={"off by a row": f"{_ORDERS}\norders = orders.drop(orders.groupby('region').head(1).index)"},
        wrong_computes={
            "rounded too early": 'by_region = orders["revenue"].round().groupby(orders["region"]).sum()\n'
            "best, most = by_region.idxmax(), by_region.max()"
        },
    ),
    AnsweredGoal(
        id="mean_in_group",
        goal="What is the average number of delivery days in the South? One decimal.",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='days = orders.loc[orders["region"] == "South", "delivery_days"].mean()',
        template="{days:.1f} days.",
        wrong_computes={
            "off by a row": 'south = orders.loc[orders["region"] == "South", "delivery_days"]\n'
            "days = south.nlargest(99).iloc[1:].mean()"
        },
    ),
    AnsweredGoal(
        id="joined_leader",
        goal="Which segment has the most revenue? Give its revenue with two decimals.",
        make=_orders_and_customers,
        data=("orders.csv", "customers.csv"),
        read=_JOIN,
        compute='segments = joined.groupby("segment")["revenue"].sum()\nbest, most = segments.idxmax(), segments.max()',
        template="{best}: {most:.2f}.",
        wrong_reads={"wrong join": _JOIN_TWICE},
        wrong_computes={
            "off by a row": 'segments = joined.iloc[:-1].groupby("segment")["revenue"].sum()\n'
            "best, most = segments.idxmax(), segments.max()"
        },
    ),
    AnsweredGoal(
        id="joined_total",
        goal="What is the total revenue of the segment firm? Two decimals.",
        make=_orders_and_customers,
        data=("orders.csv", "customers.csv"),
        read=_JOIN,
        compute='firms = joined.loc[joined["segment"] == "firm", "revenue"].sum()',
        template="Firms make {firms:,.2f}.",
        wrong_reads={"wrong join": _JOIN_LOSES},
        wrong_computes={
            "rounded too early": 'firms = joined.loc[joined["segment"] == "firm", "revenue"].round().sum()'
        },
    ),
    AnsweredGoal(
        id="mixed_units",
        goal="What is the total weight in kg? One decimal.",
        make=_parcels,
        data=("parcels.csv",),
        read='parcels = pd.read_csv(folder / "parcels.csv")',
        compute=(
            'parts = parcels["weight"].str.extract(r"([\\d.]+) (kg|lb)")\n'
            'kilograms = parts[0].astype(float) * parts[1].map({"kg": 1.0, "lb": 0.45359237})\n'
            "total = kilograms.sum()"
        ),
        template="All parcels weigh {total:.1f} kg.",
        wrong_computes={
            "wrong unit": 'parts = parcels["weight"].str.extract(r"([\\d.]+)")\n'
            "kilograms = parts[0].astype(float)\ntotal = kilograms.sum()"
        },
    ),
    AnsweredGoal(
        id="share",
        goal="What share of orders is returned? In percent with one decimal.",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='share = (orders["returned"] == "yes").mean() * 100',
        template="{share:.1f} % are returned.",
        wrong_reads={"off by a row": _ORDERS + ".iloc[1:]"},
    ),
    AnsweredGoal(
        id="median",
        goal="What is the median duration? Two decimals.",
        make=_trips,
        data=("trips.csv",),
        read='trips = pd.read_csv(folder / "trips.csv")',
        compute='middle = trips["duration"].median()',
        template="The median is {middle:.2f}.",
        wrong_reads={"off by a row": 'trips = pd.read_csv(folder / "trips.csv").sort_values("duration").iloc[1:]'},
        wrong_computes={"rounded too early": 'middle = trips["duration"].round().median()'},
    ),
    AnsweredGoal(
        id="month",
        goal="What was the revenue in March 2025? Two decimals.",
        make=_orders,
        data=("orders.csv",),
        read=_ORDERS,
        compute='march = orders.loc[orders["ordered_on"].dt.month == 3, "revenue"].sum()',
        template="In March it was {march:.2f}.",
        wrong_computes={
            "off by a row": 'days = orders["ordered_on"].between("2025-03-02", "2025-03-30")\n'
            'march = orders.loc[days, "revenue"].sum()',
            "rounded too early": 'march = orders.loc[orders["ordered_on"].dt.month == 3, "revenue"].round().sum()',
        },
    ),
    AnsweredGoal(
        id="without_totals",
        goal="What is the total amount? Two decimals.",
        make=_budget,
        data=("budget.csv",),
        read='budget = pd.read_csv(folder / "budget.csv")',
        compute='amount = budget.loc[budget["item"] != "Total", "amount"].sum()',
        template="{amount:.2f} in all.",
        wrong_computes={
            "off by a row": 'amount = budget["amount"].sum()',
            "rounded too early": 'amount = budget.loc[budget["item"] != "Total", "amount"].round().sum()',
        },
    ),
)
