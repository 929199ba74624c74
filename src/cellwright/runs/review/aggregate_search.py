"""Plain aggregates of a table with and without what makes them wrong. Its text runs in a fresh kernel, beside pandas.

Nothing here is called by the host; it stands alone, so that its source can be carried.
"""

from __future__ import annotations

from typing import Any


def aggregates(rows: Any, wanted: dict[str, Any], factors: dict[str, float], weight: str) -> dict[str, float]:
    """Each aggregate that a goal could mean, by what it is: `mean of price where region is West`."""
    found: dict[str, float] = {}
    for where, part in selected_rows(rows, wanted):
        for column in wanted["columns"]:
            if column not in part or not len(part):
                continue
            values = part[column]
            if not hasattr(values, "mean") or values.dtype.kind not in "iuf":
                continue
            by = factors.get(column, 1.0)
            for how in wanted["hows"]:
                name = f"{how} of {column}{where}"
                if weight and how == "mean" and weight != column:
                    known = part[[column, weight]].dropna()
                    found[name] = float((known[column] * known[weight]).sum() / known[weight].sum())
                elif how == "count":
                    found[f"number of rows{where}"] = float(len(part))
                elif how in ("sum", "mean", "median", "min", "max"):
                    found[name] = float(getattr(values, how)()) * by
        for first in wanted["pairs"]:
            for second in wanted["pairs"]:
                if first == second or first not in part or second not in part:
                    continue
                known = part[[first, second]].dropna()
                if len(known) > 2 and known[first].var():
                    found[f"slope of {second} on {first}{where}"] = float(
                        known[first].cov(known[second]) / known[first].var()
                    )
        for column, label in wanted["shares"]:
            if column in part and len(part):
                is_it = part[column].astype(str).str.strip() == label
                share = (is_it * part[weight]).sum() / part[weight].sum() if weight else is_it.mean()
                found[f"share of {column} {label}{where}"] = float(share) * 100
    return found


def selected_rows(rows: Any, wanted: dict[str, Any]) -> list[tuple[str, Any]]:
    """The rows a goal could mean: all, those of each label it names, of all these together, of each group it names."""
    chosen, together = [("", rows)], rows
    for column, label in wanted["labels"]:
        if column in rows:
            is_it = rows[column].astype(str).str.strip() == label
            chosen.append((f" where {column} is {label}", rows[is_it]))
            together = together[together[column].astype(str).str.strip() == label]
    if len(wanted["labels"]) > 1:
        chosen.append((" where all of that holds", together))
    for column in wanted["keys"]:
        if column in rows and rows[column].nunique() <= 400:
            chosen += [(f" where {column} is {label}", part) for label, part in rows.groupby(column)]
    for column, shape in wanted["moments"]:
        if column in rows and rows[column].dtype.kind == "M":
            moments = rows[column].dt.strftime(shape)
            if moments.nunique() <= 800:
                chosen += [(f" in {label}", part) for label, part in rows.groupby(moments)]
    return chosen


def find_origins(naive: dict[str, float], clean: dict[str, float], figures: list[list[float]]) -> list[dict[str, Any]]:
    """Which figure is an aggregate only as long as what makes it wrong is still in.

    Each figure comes with how far an aggregate may lie off to be it, and how far off it may be printed.
    """
    found: list[dict[str, Any]] = []
    for place, (figure, reach, half) in enumerate(figures):
        if any(abs(value - figure) <= max(reach, half) for value in clean.values()):
            continue
        for name, value in naive.items():
            if abs(value - figure) <= reach and abs(clean.get(name, value) - value) > half:
                found.append({"figure": place, "name": name, "naive": value, "clean": clean[name]})
    return found
