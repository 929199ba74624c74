"""Tests of two columns: a measure by groups, two categories, two measures; and columns converted for tests.

Rank based, with effect and interval.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats


def column_of(table: pd.DataFrame, column: str) -> pd.Series:
    """One column, also where several have that name; all missing where none has."""
    if column not in table.columns:
        return pd.Series(np.nan, index=table.index)
    values = table[column]
    return values.iloc[:, 0] if isinstance(values, pd.DataFrame) else values


def numbers_of(table: pd.DataFrame, column: str) -> pd.Series:
    """A column as numbers; infinities, and what is no number, are missing."""
    values = column_of(table, column)
    if values.dtype == float:
        numbers = values.to_numpy()
    elif pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
        numbers = np.real(values.to_numpy(dtype=complex if values.dtype.kind == "c" else float, na_value=np.nan))
    elif values.dtype.kind in "mM":
        numbers = np.full(len(values), np.nan)
    else:
        text = values.astype(object).map(str, na_action="ignore").replace({"True": "1", "False": "0"})
        numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.where(np.isfinite(numbers), numbers, np.nan), index=table.index)


def labels_of(table: pd.DataFrame, column: str, most: int = 20, least: int = 5) -> pd.Series:
    """A column as labels: the `most` common that occur `least` times; others are missing."""
    values = column_of(table, column)
    is_ready = isinstance(values.dtype, pd.CategoricalDtype) and values.cat.categories.inferred_type == "string"
    if not is_ready:
        values = values.astype(object).map(str, na_action="ignore").astype("str").str.slice(0, 80).astype("category")
    codes, names = values.cat.codes.to_numpy(), list(values.cat.categories)
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    kept = sorted(np.flatnonzero(counts >= max(least, 1)), key=lambda place: (-int(counts[place]), str(names[place])))[
        :most
    ]
    places = np.full(len(names) + 1, -1)
    places[kept] = np.arange(len(kept))
    return pd.Series(pd.Categorical.from_codes(places[codes], [names[place] for place in kept]), index=table.index)


def moments_of(table: pd.DataFrame, column: str) -> pd.Series:
    """A column as moments without a time zone (UTC if there was one); numbers are years."""
    values = column_of(table, column)
    if pd.api.types.is_numeric_dtype(values):
        years = numbers_of(table, column)
        text = years.where(years.between(1000, 2999)).round().astype("Int64").astype("string")
        return pd.to_datetime(text, format="%Y", errors="coerce")
    if values.dtype.kind != "M" and not isinstance(values.dtype, pd.DatetimeTZDtype):
        values = values.astype(object).map(str, na_action="ignore")
        return pd.to_datetime(values, format="mixed", errors="coerce", utc=True).dt.tz_localize(None)
    return pd.to_datetime(values, errors="coerce", utc=True).dt.tz_localize(None)


def row_of(
    kind: str,
    names: tuple[str, str],
    n: int,
    outcome: tuple[str, float, float, str, float, float, float],
    checked: list[str],
    says: str,
) -> dict[str, object]:
    """One row for the table of tests.

    `outcome` is the test, its statistic and p, the name of the effect, its size and its bounds.
    """
    test, statistic, p, effect_name, effect, low, high = outcome
    numbers = {"statistic": statistic, "p": p, "effect": effect, "low": low, "high": high}
    return {
        **{"kind": kind, "y": names[0], "x": names[1], "test": test, "n": int(n), "effect_name": effect_name},
        **{name: float(number) for name, number in numbers.items()},
        **{"checked": "; ".join(note for note in checked if note), "says": says},
    }


def difference(table: pd.DataFrame, y: str, x: str, note: str = "") -> dict[str, object] | None:
    """Whether a measure differs between groups; by ranks, so far-out values weigh no more."""
    values, labels = numbers_of(table, y).to_numpy(), labels_of(table, x).cat
    codes, names = labels.codes.to_numpy(), list(labels.categories)
    there = np.isfinite(values) & (codes >= 0)
    values, codes = values[there], codes[there]
    large = np.flatnonzero(np.bincount(codes, minlength=len(names)) >= 5)
    there = np.isin(codes, large)
    values, codes = values[there], codes[there]
    if len(large) < 2 or np.ptp(values) == 0:
        return None
    ranks = np.bincount(codes, stats.rankdata(values)) / np.maximum(np.bincount(codes), 1)
    order = sorted(large, key=lambda place: (float(ranks[place]), str(names[place])))
    groups = [values[codes == place] for place in order]
    spreads = [np.ptp(np.percentile(group, [25, 75])) for group in groups]
    outcome = two_groups(groups[1], groups[0]) if len(groups) == 2 else many_groups(groups)
    medians = [float(np.median(group)) for group in groups]
    # What is said must agree with the order, which is that of the ranks.
    is_plain = medians[0] == min(medians) and medians[-1] == max(medians)
    figures = [f"median {medians[end]:,.4g}" if is_plain else f"mean rank {ranks[order[end]]:,.4g}" for end in (0, -1)]
    low, high = (f"{names[order[end]]} ({figures[end]})" for end in (0, -1))
    more, less = ("higher", "than") if len(groups) == 2 else ("highest", "and lowest")
    checked = [
        f"smallest group {min(len(group) for group in groups):,}",
        "similar spread" if max(spreads) <= 2 * min(spreads) else "unequal spread",
        "many ties" if len(np.unique(values)) < len(values) / 2 else "",
        "groups do not overlap: one may be made from the other" if are_apart(groups) else "",
    ]
    says = f"{y} is {more} where {x} is {high} {less} where it is {low}"
    return row_of("difference", (y, x), len(values), outcome, [note, *checked], says)


def are_apart(groups: list[np.ndarray]) -> bool:
    """Whether three groups or more lie one above the other without any overlap, as bands made from a measure do."""
    ends = sorted((float(group.min()), float(group.max())) for group in groups)
    return len(ends) > 2 and all(ends[place][1] < ends[place + 1][0] for place in range(len(ends) - 1))


def two_groups(first: np.ndarray, second: np.ndarray) -> tuple[str, float, float, str, float, float, float]:
    """Mann-Whitney, or Brunner-Munzel where spreads differ, with the rank-biserial correlation.

    That is how much more often a value of the first group is the higher one than the lower one: -1 to 1.
    """
    n, m = len(first), len(second)
    a, b = np.sort(first), np.sort(second)
    wins = (np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")) / (2 * m)
    losses = (np.searchsorted(a, b, "left") + np.searchsorted(a, b, "right")) / (2 * n)
    effect = 2 * wins.mean() - 1
    parts = wins.var(ddof=1) / n, losses.var(ddof=1) / m
    variance = max(sum(parts), 0.25 / (n * m))
    freedom = max(sum(parts) ** 2 / max(parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1), 1e-300), min(n, m) - 1)
    spreads = sorted(np.ptp(np.percentile(group, [25, 75])) for group in (first, second))
    if spreads[1] > 2 * spreads[0] and sum(parts) > 0 and min(n, m) >= 20:
        test, statistic = "Brunner-Munzel", effect / (2 * np.sqrt(variance))
        p = 2 * stats.t.sf(abs(statistic), freedom)
    else:
        test, (statistic, p) = "Mann-Whitney", stats.mannwhitneyu(first, second)
    inner = np.clip(effect, -1 + 1 / (n * m), 1 - 1 / (n * m))
    reach = stats.t.ppf(0.975, freedom) * 2 * np.sqrt(variance) / (1 - inner**2)
    low, high = np.tanh(np.arctanh(inner) - reach), np.tanh(np.arctanh(inner) + reach)
    return test, statistic, p, "rank-biserial correlation", effect, min(low, effect), max(high, effect)


def many_groups(groups: list[np.ndarray]) -> tuple[str, float, float, str, float, float, float]:
    """Kruskal-Wallis with epsilon squared.

    That is the share of the ranks' spread that lies between groups, less what chance alone gives.
    """
    n, freedom = sum(len(group) for group in groups), len(groups) - 1
    statistic, p = stats.kruskal(*groups)
    low, high = noncentral_interval(float(statistic), freedom)
    effect = min(max(statistic - freedom, 0.0) / max(n - freedom - 1, 1), 1.0)
    return (
        "Kruskal-Wallis",
        statistic,
        p,
        "epsilon squared",
        effect,
        min(low / n, effect),
        max(min(high / n, 1.0), effect),
    )


def noncentral_interval(statistic: float, freedom: int) -> tuple[float, float]:
    """A 95 % interval of how far a chi-square statistic lies from chance (its noncentrality)."""
    # Beyond this the root of the statistic is as good as normal, and the exact distribution is slow.
    if statistic > 2000:
        middle = np.sqrt(statistic - freedom)
        return float((middle - 1.96) ** 2), float((middle + 1.96) ** 2)
    distances = np.linspace(0, np.sqrt(statistic) + 8, 300) ** 2
    levels = stats.ncx2.cdf(statistic, freedom, np.maximum(distances, 1e-9))
    low, high = np.interp([-0.975, -0.025], -levels, distances)
    return float(low), float(high)


def cross_counts(table: pd.DataFrame, y: str, x: str) -> pd.DataFrame:
    """How often the 12 commonest labels of two categories meet."""
    rows, columns = labels_of(table, y, most=12).cat, labels_of(table, x, most=12).cat
    first, second, width = rows.codes.to_numpy(), columns.codes.to_numpy(), len(columns.categories)
    both = (first >= 0) & (second >= 0)
    cells = np.bincount(first[both].astype(int) * width + second[both], minlength=len(rows.categories) * width)
    counts = cells.reshape(len(rows.categories), width)
    return pd.DataFrame(counts, index=rows.categories, columns=columns.categories)


def counts_of(table: pd.DataFrame, y: str, x: str) -> np.ndarray:
    """Two categories counted; rare labels are put together until 5 are expected in each cell."""
    counts = cross_counts(table, y, x).to_numpy()
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    while counts.size and min(counts.shape) >= 2 and max(counts.shape) > 2:
        rows, columns = counts.sum(axis=1), counts.sum(axis=0)
        if rows.min() * columns.min() / counts.sum() >= 5:
            break
        # The rarer margin that can still be folded: only totals decide, so the test stays honest.
        if counts.shape[0] > 2 and (rows.min() <= columns.min() or counts.shape[1] == 2):
            order = np.argsort(-rows, kind="stable")
            counts = np.vstack([counts[order[:-2]], counts[order[-2:]].sum(axis=0)])
        else:
            order = np.argsort(-columns, kind="stable")
            counts = np.column_stack([counts[:, order[:-2]], counts[:, order[-2:]].sum(axis=1)])
    return counts


def association(table: pd.DataFrame, y: str, x: str, note: str = "") -> dict[str, object] | None:
    """Whether two categories go together: chi-square, Fisher's exact test where counts are small."""
    counts = counts_of(table, y, x)
    if counts.size == 0 or min(counts.shape) < 2 or counts.sum(axis=0).min() == 0 or counts.sum(axis=1).min() == 0:
        return None
    n, (rows, columns) = int(counts.sum()), counts.shape
    statistic, p, freedom, expected = stats.chi2_contingency(counts, correction=False)
    test, is_small = "chi-square", expected.min() < 5
    if is_small and counts.shape == (2, 2):
        test, p = "Fisher's exact test", stats.fisher_exact(counts).pvalue
    excess = max(statistic / n - freedom / (n - 1), 0.0)
    width = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    effect = min(float(np.sqrt(excess / max(width, 1e-9))), 1.0)
    low, high = (np.sqrt(bound / (n * (min(rows, columns) - 1))) for bound in noncentral_interval(statistic, freedom))
    checked = f"{rows} by {columns} labels, no fewer than {expected.min():,.1f} expected in a cell"
    outcome = (test, statistic, p, "Cramer's V", effect, min(low, effect), max(min(high, 1.0), effect))
    return row_of("association", (y, x), n, outcome, [note, checked], together(table, y, x))


def together(table: pd.DataFrame, y: str, x: str) -> str:
    """Where two categories meet more often than chance would have it, in words."""
    counts = cross_counts(table, y, x)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.to_numpy().sum()
    excess = (counts.to_numpy() - expected) / np.sqrt(np.maximum(expected, 1e-9))
    row, column = np.unravel_index(int(np.argmax(excess)), excess.shape)
    label, group = counts.index[int(row)], counts.columns[int(column)]
    inside = counts.iloc[int(row), int(column)] / max(counts.iloc[:, int(column)].sum(), 1)
    overall = counts.iloc[int(row)].sum() / counts.to_numpy().sum()
    return f"{y} is {label} more often where {x} is {group} ({inside:.0%} there, {overall:.0%} of all)"


def correlation(table: pd.DataFrame, y: str, x: str, note: str = "") -> dict[str, object] | None:
    """Whether two measures rise and fall together: Spearman's rank correlation."""
    frame = pd.DataFrame({"y": numbers_of(table, y), "x": numbers_of(table, x)}).dropna()
    n = len(frame)
    if n < 10 or frame["y"].nunique() < 3 or frame["x"].nunique() < 3:
        return None
    effect, p = stats.spearmanr(frame["y"], frame["x"])
    straight = float(np.corrcoef(frame["y"], frame["x"])[0, 1])
    shape = "close to a straight line" if abs(straight - effect) < 0.1 else "not a straight line, or far-out values"
    inner = np.clip(effect, -1 + 1e-9, 1 - 1e-9)
    reach = 1.96 * np.sqrt((1 + inner**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(inner) - reach), np.tanh(np.arctanh(inner) + reach)
    outcome = ("Spearman", effect, p, "rank correlation", effect, low, high)
    says = f"{y} {'rises' if effect > 0 else 'falls'} as {x} rises"
    return row_of("correlation", (y, x), n, outcome, [note, shape], says)
