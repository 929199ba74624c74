"""Ten tables that have nothing to do with each other; one of them is meant."""

from __future__ import annotations

from pathlib import Path

from eval.data_folders import write_folder
from eval.delivered import Delivered, said
from eval.frames import pd


def make(folder: Path) -> None:
    write_folder(folder / "downloads", 10)


def right(folder: Path) -> Delivered:
    prices = pd.read_csv(folder / "downloads/energy_prices.csv")
    mean = (prices["price_mwh"] * prices["volume_mwh"]).sum() / prices["volume_mwh"].sum()
    return said(f"A megawatt hour cost {mean:.2f}.")


def wrong(folder: Path) -> Delivered:
    prices = pd.read_csv(folder / "downloads/energy_prices.csv")
    return said(f"A megawatt hour cost {prices['price_mwh'].mean():.2f}.")
