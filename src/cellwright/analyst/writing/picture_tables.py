"""The small tables behind the charts of findings. Their source stands in the notebook, so it runs without Cellwright.

Each takes what a table holds at that moment, whichever repairs are on: text where numbers should be is left out, and an
empty table gives an empty picture. None changes the table it is given.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from cellwright.analyst.methods.columns import labels_of, moments_of, numbers_of


def group_summary(table: pd.DataFrame, y: str, x: str, most: int = 12) -> pd.DataFrame:
    """Per group: how many, the middle half, the median, and between what the true median is likely (95 %).

    The interval takes the values as they are, by counting ranks: no bell curve is assumed.
    """
    frame = pd.DataFrame({"group": labels_of(table, x, most), "value": numbers_of(table, y)}).dropna()
    rows = list[tuple[object, ...]]()
    for group, values in frame.groupby("group", observed=True)["value"]:
        ordered = np.sort(values.to_numpy())
        count = len(ordered)
        rank = int(stats.binom.ppf(0.025, count, 0.5))
        quarter, median, three_quarters = np.quantile(ordered, [0.25, 0.5, 0.75])
        low, high = (ordered[rank - 1], ordered[count - rank]) if rank else (ordered[0], ordered[-1])
        rows.append((str(group), count, quarter, median, three_quarters, low, high))
    columns = ["group", "count", "quarter", "median", "three_quarters", "low", "high"]
    return pd.DataFrame(rows, columns=columns).sort_values(["median", "group"], ascending=[False, True])


def shares_by_group(table: pd.DataFrame, y: str, x: str, most_y: int = 8, most_x: int = 12) -> pd.DataFrame:
    """Per group of `x`: which share of it falls on each value of `y`, and how many rows that is."""
    labels = {"group": labels_of(table, x, most_x), "value": labels_of(table, y, most_y)}
    frame = pd.DataFrame(labels).dropna().astype(object)
    counts = frame.value_counts(["group", "value"], sort=False).rename("count").reset_index()
    counts["share"] = counts["count"] / counts.groupby("group")["count"].transform("sum")
    return counts


def drawn_pairs(table: pd.DataFrame, y: str, x: str, most: int = 3000) -> pd.DataFrame:
    """The two columns side by side; of more rows than can be drawn a fixed sample."""
    frame = pd.DataFrame({"x": numbers_of(table, x), "y": numbers_of(table, y)}).dropna()
    return frame.sample(most, random_state=0).sort_index() if len(frame) > most else frame


def middle_line(table: pd.DataFrame, y: str, x: str, steps: int = 12) -> pd.DataFrame:
    """The median of `y` along `x`, in steps that hold equally many rows: the shape without the scatter."""
    frame = pd.DataFrame({"x": numbers_of(table, x), "y": numbers_of(table, y)}).dropna()
    step = frame["x"].rank(method="average", pct=True).mul(steps).apply(np.ceil)
    middles = frame.groupby(step).agg({"x": "median", "y": "median"})
    return pd.DataFrame(middles).reset_index(drop=True)


def density_of_pairs(table: pd.DataFrame, y: str, x: str, steps: int = 32) -> pd.DataFrame:
    """How many rows fall into each small field of `x` and `y`; the outermost hundredth at each edge is left out."""
    frame = pd.DataFrame({"x": numbers_of(table, x), "y": numbers_of(table, y)}).dropna()
    if frame.empty:
        return pd.DataFrame({"x": [], "x_end": [], "y": [], "y_end": [], "count": []})
    ends = [tuple(map(float, frame[axis].quantile([0.01, 0.99]))) for axis in ("x", "y")]
    edges = [np.linspace(low, high if high > low else low + 1, steps + 1) for low, high in ends]
    counts, x_edges, y_edges = np.histogram2d(frame["x"], frame["y"], bins=edges)
    column, row = np.nonzero(counts)
    fields = {"x": x_edges[column], "x_end": x_edges[column + 1], "y": y_edges[row], "y_end": y_edges[row + 1]}
    return pd.DataFrame({**fields, "count": counts[column, row].astype(int)})


def points_over_time(table: pd.DataFrame, y: str, when: str, most: int = 400, how: str = "mean") -> pd.DataFrame:
    """The mean or sum of `y` per hour, day, week, month or year: the finest step that leaves at most `most` points."""
    frame = pd.DataFrame({"time": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
    steps = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}
    if (frame["time"] == frame["time"].dt.normalize()).all():
        del steps["hour"]
    starts = {step: frame["time"].dt.to_period(code).dt.start_time for step, code in steps.items()}
    step = next((step for step, start in starts.items() if start.nunique() <= most), "year")
    grouped = frame["value"].groupby(starts[step])
    points = pd.DataFrame({"value": grouped.sum() if how == "sum" else grouped.mean(), "count": grouped.count()})
    return points.rename_axis("time").reset_index().assign(step=step).tail(most)


def usual_range(values: pd.Series) -> list[float]:
    """Where an axis should end: at the ends, or, where a few values lie far off, a little beyond all others."""
    if values.empty:
        return [0.0, 1.0]
    ends, usual = (values.min(), values.max()), (values.quantile(0.02), values.quantile(0.98))
    reach = max(usual[1] - usual[0], 1e-9)
    low = ends[0] if ends[0] >= usual[0] - 3 * reach else usual[0] - 0.2 * reach
    high = ends[1] if ends[1] <= usual[1] + 3 * reach else usual[1] + 0.2 * reach
    return [float(low), float(high) if high > low else float(low) + 1.0]


def with_spans(points: pd.DataFrame, spans: list[list[str]]) -> pd.DataFrame:
    """The points of a course, each with the span of days it lies in; those of other days come last."""
    points = points.assign(span="other days")
    for first, last in spans:
        inside = (points["time"] >= pd.Timestamp(first)) & (points["time"] < pd.Timestamp(last) + pd.Timedelta(days=1))
        points.loc[inside, "span"] = f"{first} to {last}"
    points = points.sort_values("time", kind="stable")
    # A line goes on only while the span stays the same.
    points["stretch"] = (points["span"] != points["span"].shift()).cumsum()
    return points.sort_values(["span", "time"], kind="stable")


def season_profile(table: pd.DataFrame, y: str, when: str, unit: str) -> pd.DataFrame:
    """The mean of `y` per quarter, month, weekday or hour over all years, and the middle half of its values."""
    frame = pd.DataFrame({"time": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
    times = frame["time"].dt
    if unit == "month":
        part, names = times.month, times.strftime("%b")
    elif unit == "weekday":
        part, names = times.day_of_week, times.strftime("%a")
    elif unit == "quarter":
        part, names = times.quarter, "quarter " + times.quarter.astype(str)
    else:
        part, names = times.hour, times.strftime("%H:00")
    grouped = frame.assign(part=part, name=names).groupby(["part", "name"])["value"]
    summary = {"value": grouped.mean(), "count": grouped.count()}
    middle = {"quarter": grouped.quantile(0.25), "three_quarters": grouped.quantile(0.75)}
    return pd.DataFrame({**summary, **middle}).reset_index()
