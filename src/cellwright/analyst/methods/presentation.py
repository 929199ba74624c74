"""The small tables behind charts of findings, and the sentences a notebook makes from its own numbers.

Their source is part of the notebook, so it runs without Cellwright. Each takes what a table holds at that moment,
whichever repairs are on; none changes its input. All sentences are plain text: whoever shows one as markdown escapes
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from cellwright.analyst.methods.pairs import labels_of, moments_of, numbers_of


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


def chart_headline(row: Any, otherwise: str) -> Any:
    """A chart's title: what the test says while it holds, else only what is shown. In lines that fit."""
    import textwrap

    words = str(row["says"]) if row and row["is_finding"] else otherwise
    return textwrap.wrap(words[:1].upper() + words[1:], 70)[:3]


def with_labels(row: Any, labels: dict[str, str]) -> Any:
    """The row of a test, or None, with columns called and large numbers written as a reader would."""
    import re

    if row is None:
        return row
    says = re.sub(r"(?<![\w.])\d\.?\d*e\+\d+", lambda found: f"{float(found[0]):,.0f}", str(row["says"]))
    names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(labels, key=len, reverse=True))
    return {**row, "says": re.sub(names, lambda found: labels[found[0]], says) if labels else says}


def told_in_brief(row: Any, otherwise: str) -> str:
    """One sentence for the answer: what was found, or that nothing could be told from chance, with its test."""
    if row is None:
        return f"{otherwise}: not tested, because the data as it stands does not allow it."
    p = row["p_adjusted"]
    sure = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    proof = f"({row['test']}, n = {row['n']:,}, corrected {sure})"
    if row["is_finding"]:
        words = str(row["says"]).rstrip(".")
        return f"{words[:1].upper()}{words[1:]} {proof}."
    if p <= 0.05:
        return f"{otherwise}: there is a pattern, but too weak to matter {proof}."
    return f"{otherwise}: nothing that could be told from chance {proof}."


def could_be_seen(row: Any) -> str:
    """How large an effect may hide behind a test that found nothing: what its interval does not rule out."""
    if row is None or row["is_finding"] or row["high"] != row["high"]:
        return ""
    reach = max(abs(row["low"]), abs(row["high"]))
    scale = "" if "deviation" in row["effect_name"] else "; 0 is none, 1 the largest there is"
    return (
        f"With n = {row['n']:,}, the data speaks against an effect beyond {reach:.2g} ({row['effect_name']}{scale}). "
        "A smaller one may be there and was not seen."
    )


def repairs_in_use(repairs: dict[str, Any]) -> str:
    """Which repairs are on and off at this moment, and how much each touches: from each table's log and switches."""
    on, off = list[str](), list[str]()
    for table, (log, switches) in repairs.items():
        touches = dict(zip(log["repair"], log["touches"], strict=True))
        for repair, is_on in switches.items():
            (on if is_on else off).append(f"{repair} in {table} ({touches.get(repair, 0):,})")
    if not on and not off:
        return "No repair of the data was needed."
    told = [f"Repairs that are on: {', '.join(on[:6])}{' and more' if on[6:] else ''}." if on else "No repair is on."]
    told += [f"Off, for you to decide: {', '.join(off[:4])}{' and more' if off[4:] else ''}."] if off else []
    return " ".join(told)


# ── changes, and what they come from ──


def telling_order(parts: dict[str, Any]) -> Any:
    """Columns by how much more of a change one of their labels makes up than its size would lead one to expect."""

    def surprise(table: Any) -> float:
        whole, before = table["change"].sum(), table["first"].abs().sum()
        if len(table) < 2 or len(table) > 30 or not whole or not before:
            return -1.0
        return float((table["change"] / whole - table["first"].abs() / before).max())

    order, told = sorted(parts, key=lambda name: -surprise(parts[name])), list[str]()
    alike = {name: tuple(sorted(parts[name]["change"].round(6))) for name in order}
    # Columns that say the same, such as a code and its name, are told once.
    for name in order:
        told += [name] if alike[name] not in [alike[other] for other in told] else []
    return told


def in_figures(value: float) -> str:
    """A number as people write it: no more digits than anybody reads."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"


def largest_shares(table: Any) -> str:
    """The parts that make up most of a change: those that go its way, up to three, until four fifths are told."""
    told, sum_told = list[str](), 0.0
    for label, share in zip(table.iloc[:3, 0], table["share"][:3], strict=True):
        if share <= 0 or sum_told >= 0.8:
            break
        told.append(f"{label} ({share:.0%} of it)")
        sum_told += share
    return " and ".join(filter(None, [", ".join(told[:-1]), *told[-1:]]))


def why_it_changed(row: Any, parts: dict[str, Any], what: str) -> str:
    """By how much it changed and what that comes from; where it may be chance, only by how much, and that it may."""
    order = telling_order(parts)
    table = parts[order[0]]
    first, second, whole = table["first"].sum(), table["second"].sum(), table["change"].sum()
    if row is None or not whole:
        return ""
    percent = f" ({whole / abs(first):+.1%})" if first else ""
    moved = f"The {what} {'rose' if whole > 0 else 'fell'} from {in_figures(first)} to {in_figures(second)}{percent}"
    if not row["is_finding"]:
        return f"{moved}, which may well be chance: see the test."
    ways = [f"by {name}, from {shares}" for name in order[:2] if (shares := largest_shares(parts[name]))]
    return f"{moved}. It comes, {'; '.join(ways)}." if ways else f"{moved}."


def largest_parts(table: Any, most: int = 12) -> Any:
    """The largest parts of a change for a chart, the rest put together as one."""
    parts = table.rename(columns={table.columns[0]: "label"})
    if len(parts) > most:
        rest = parts.iloc[most:].drop(columns="label").sum()
        parts = parts.iloc[:most].copy()
        parts.loc[len(parts)] = {"label": "(all others)", **rest}
    return parts.sort_values("change", kind="stable")
