"""A poll in which the old are many and count less."""

from __future__ import annotations

import random
from pathlib import Path

from eval.delivered import Delivered, said
from eval.frames import pd
from eval.writing import write_csv


def make(folder: Path) -> None:
    chance = random.Random(18)
    rows: list[tuple[object, ...]] = []
    for number in range(500):
        is_old = chance.random() < 0.7
        rows.append(
            (
                number,
                "60+" if is_old else "18-59",
                "agree" if chance.random() < (0.3 if is_old else 0.7) else "disagree",
                0.5 if is_old else 2.2,
            )
        )
    write_csv(folder / "poll.csv", ["respondent", "age", "answer", "weight"], rows)


def _share(folder: Path) -> float:
    table = pd.read_csv(folder / "poll.csv")
    return float(table.loc[table["answer"] == "agree", "weight"].sum() / table["weight"].sum() * 100)


def right(folder: Path) -> Delivered:
    return said(f"{_share(folder):.1f} % agree.")


def wrong(folder: Path) -> Delivered:
    return said(f"{pd.read_csv(folder / 'poll.csv')['answer'].eq('agree').mean() * 100:.1f} % agree.")
