"""Stock and a history of prices: joined carelessly, every piece counts several times."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import days, write_csv


def make(folder: Path) -> None:
    chance = random.Random(10)
    articles = [f"P{number:02d}" for number in range(40)]
    write_csv(
        folder / "stock.csv",
        ["article", "depot", "pieces"],
        [(article, depot, chance.randrange(60)) for article in articles for depot in ("A", "B")],
    )
    prices = [
        (article, day, round(chance.uniform(1, 50), 2))
        for article in articles
        for day in chance.sample(days("2025-01-01", 200), chance.randrange(1, 4))
    ]
    chance.shuffle(prices)
    write_csv(folder / "prices.csv", ["article", "valid_from", "price"], prices)


def _worth(folder: Path) -> float:
    stock, prices = pd.read_csv(folder / "stock.csv"), pd.read_csv(folder / "prices.csv")
    newest = prices.sort_values("valid_from").drop_duplicates("article", keep="last")
    joined = stock.merge(newest, on="article", validate="many_to_one")
    return float((joined["pieces"] * joined["price"]).sum())


def right(folder: Path) -> Delivered:
    return said(f"The stock is worth {_worth(folder):,.2f} euros.")


def wrong(folder: Path) -> Delivered:
    joined = pd.read_csv(folder / "stock.csv").merge(pd.read_csv(folder / "prices.csv"), on="article")
    return said(f"The stock is worth {(joined['pieces'] * joined['price']).sum():,.2f} euros.")
