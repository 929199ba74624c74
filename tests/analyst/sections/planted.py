"""Tables with known effects, or with none, and their profiles, for tests of what the analyst writes about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from cellwright.profiles.profile import (
    ColumnProfile,
    Conversion,
    Kind,
    Meaning,
    Profile,
    ReadOptions,
    TableProfile,
    Times,
)


def planted_sales(rows: int = 900) -> pd.DataFrame:
    """Revenue is highest in North; channel goes with product; cost follows revenue; revenue drops from July 2024 on."""
    random = np.random.default_rng(7)
    days = pd.date_range("2023-01-01", "2024-12-31", periods=rows).normalize()
    region = random.choice(["North", "South", "West"], rows)
    product = random.choice(["chair", "table", "lamp"], rows)
    is_web = random.random(rows) < np.where(product == "lamp", 0.8, 0.3)
    level = np.where(region == "North", 130.0, 100.0) - np.where(days >= pd.Timestamp("2024-07-01"), 25.0, 0.0)
    revenue = level + random.normal(0, 15, rows)
    return pd.DataFrame({
        "order_id": np.arange(1, rows + 1),
        "day": days.strftime("%Y-%m-%d"),
        "region": region,
        "product": product,
        "channel": np.where(is_web, "web", "shop"),
        "revenue_eur": revenue.round(2),
        "cost_eur": (revenue * 0.6 + random.normal(0, 8, rows)).round(2),
        "rating": random.normal(3, 1, rows).round(1),
    })  # fmt: skip


SALES_MEANINGS: dict[str, Meaning] = {
    "order_id": "id", "day": "date", "region": "category", "product": "category", "channel": "category",
    "revenue_eur": "currency", "cost_eur": "currency", "rating": "measure",
}  # fmt: skip


def noise(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    """Nothing has to do with anything."""
    random = np.random.default_rng(seed)
    return pd.DataFrame({
        "group": random.choice(["a", "b", "c"], rows),
        "kind": random.choice(["x", "y"], rows),
        "size": random.normal(0, 1, rows).round(4),
        "weight": random.exponential(1, rows).round(4),
        "length": random.normal(5, 2, rows).round(4),
    })  # fmt: skip


NOISE_MEANINGS: dict[str, Meaning] = {
    "group": "category", "kind": "category", "size": "measure", "weight": "measure", "length": "measure",
}  # fmt: skip


def write_csv(frame: pd.DataFrame, project: Path, name: str) -> None:
    frame.to_csv(project / name, index=False)


def profile_of(frames: Mapping[str, pd.DataFrame], meanings: Mapping[str, Meaning]) -> Profile:
    """The profile that a careful reader would make of these files, by file name."""
    return Profile(tables=tuple(_table(name, frame, meanings) for name, frame in frames.items()))


def _table(path: str, frame: pd.DataFrame, meanings: Mapping[str, Meaning]) -> TableProfile:
    columns = tuple(_column(str(name), pd.Series(frame[name]), meanings[str(name)]) for name in frame.columns)
    return TableProfile(
        name=Path(path).stem,
        reading=ReadOptions(path=path, format="csv"),
        rows=len(frame),
        looked_at=len(frame),
        columns=columns,
        time_column=next((each.name for each in columns if each.meaning == "date"), ""),
    )


def _column(name: str, values: pd.Series, meaning: Meaning) -> ColumnProfile:
    kinds: dict[Meaning, Kind] = {"date": "date", "measure": "number", "currency": "number", "id": "integer"}
    conversions = {"date": Conversion(kind="date", formats=("%Y-%m-%d",)), "number": Conversion(kind="number")}
    kind = kinds.get(meaning, "text")
    there = values.dropna()
    return ColumnProfile(
        name=name,
        kind=kind,
        meaning=meaning,
        conversion=conversions.get("number" if kind == "integer" else kind, Conversion()),
        count=len(there),
        nulls=len(values) - len(there),
        distinct=int(there.nunique()),
        is_unique=bool(there.is_unique),
        unit="EUR" if name.endswith("_eur") else "",
        times=Times(first=str(there.min()), last=str(there.max()), step="day") if meaning == "date" else None,
    )
