"""Rows that hang together: the same customer again, the day after. Tests that ignore it find what is not there."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats


def likeness_within(values: np.ndarray, keys: np.ndarray) -> float:
    """How alike rows of one key are: the intraclass correlation of ranks, 0 to 1."""
    there = np.isfinite(values) & (keys >= 0)
    ranks, codes = stats.rankdata(values[there]), np.unique(keys[there], return_inverse=True)[1]
    sizes = np.bincount(codes)
    n, groups = len(ranks), len(sizes)
    if groups < 2 or n <= groups:
        return 0.0
    means = np.bincount(codes, ranks) / sizes
    between = (sizes * (means - ranks.mean()) ** 2).sum() / (groups - 1)
    within = ((ranks - means[codes]) ** 2).sum() / (n - groups)
    usual = (n - (sizes**2).sum() / n) / (groups - 1)
    total = between + (usual - 1) * within
    return float(np.clip((between - within) / total, 0, 1)) if total > 0 else 0.0


def likeness_next(values: np.ndarray) -> float:
    """How alike neighbours are: the greatest rank correlation with one of the three values before."""
    values = values[np.isfinite(values)]
    if len(values) < 10:
        return 0.0
    ranks = stats.rankdata(values)
    ranks = ranks - ranks.mean()
    total = (ranks**2).sum()
    return float(max((ranks[lag:] * ranks[:-lag]).sum() / total for lag in (1, 2, 3))) if total > 0 else 0.0


def bonds_of(table: pd.DataFrame, columns: list[str], keys: list[str]) -> dict[tuple[str, str], float]:
    """How alike each column is within each key, and (under the key "") from row to row."""
    bonds: dict[tuple[str, str], float] = {}
    codes = {key: pd.factorize(table[key])[0] for key in keys}
    for column in columns:
        parts = [table[column].to_numpy()]
        if isinstance(table[column].dtype, pd.CategoricalDtype):
            labels = table[column].cat.codes.to_numpy()
            common = np.argsort(-np.bincount(labels[labels >= 0]), kind="stable")[:3] if (labels >= 0).any() else []
            parts = [np.where(labels >= 0, labels == label, np.nan).astype(float) for label in common]
        bonds[column, ""] = max([likeness_next(part) for part in parts], default=0.0)
        for key in keys:
            bonds[column, key] = max([likeness_within(part, codes[key]) for part in parts], default=0.0)
    return bonds


def one_row_each(table: pd.DataFrame, y: str, x: str, key: str) -> pd.DataFrame:
    """One row for each value of a key: the mean of a measure, the commonest label of a category."""
    parts: list[pd.Series] = []
    for column in (y, x):
        if isinstance(table[column].dtype, pd.CategoricalDtype):
            pairs = table[[key, column]].dropna().groupby([key, column], observed=True).size()
            pairs = pairs.sort_values(ascending=False, kind="stable").reset_index().drop_duplicates(key)
            parts.append(pairs.set_index(key)[column])
        else:
            parts.append(table.groupby(key, observed=True)[column].mean())
    return pd.concat(parts, axis=1, join="inner").sort_index()


def innovations(values: np.ndarray) -> np.ndarray:
    """What is new in each value of a series: the rest of an autoregression on those before it."""
    n, order = len(values), min(7, max(1, len(values) // 25))
    centred = values - np.nanmean(values)
    centred = np.where(np.isfinite(centred), centred, 0.0)
    past = np.column_stack([centred[order - lag : n - lag] for lag in range(1, order + 1)])
    weights = np.linalg.lstsq(past, centred[order:], rcond=None)[0]
    fresh = np.concatenate([np.full(order, np.nan), centred[order:] - past @ weights])
    return np.where(np.isfinite(values), fresh, np.nan)


def means_of_stretches(frame: pd.DataFrame, y: str, x: str) -> tuple[pd.DataFrame, int] | None:
    """Means of as many neighbouring rows of a group as it takes until those are not alike; None: they always are."""
    place = frame.groupby(x, observed=True).cumcount()
    size = 2
    while len(frame) / size >= 12:
        means = frame.groupby([frame[x], place // size], observed=True)[y].mean()
        rest = means - means.groupby(level=0, observed=True).transform("mean")
        if likeness_next(rest.to_numpy()) <= 0.1:
            return means.rename_axis([x, "stretch"]).reset_index()[[y, x]], size
        size *= 2
    return None


def without_course(table: pd.DataFrame, y: str, x: str) -> tuple[pd.DataFrame, str]:
    """Rows whose neighbours in time are alike in both columns, with that likeness taken out."""
    frame = table[[y, x]].dropna().copy()
    measures = [column for column in (y, x) if not isinstance(frame[column].dtype, pd.CategoricalDtype)]
    if len(frame) < 20:
        return frame, ""
    if not measures:
        step = 1
        while step < len(frame) // 2 and bonds_of(frame.iloc[::step], [y], [])[y, ""] > 0.1:
            step *= 2
        return frame.iloc[::step], f"every {step}th row, since neighbours in time are alike"
    is_by_group = measures == [y]
    rest = frame[y] - frame.groupby(x, observed=True)[y].transform("mean") if is_by_group else frame[y]
    if likeness_next(rest.to_numpy()) <= 0.1:
        return frame, ""
    if is_by_group and (means := means_of_stretches(frame, y, x)) is not None:
        return means[0], f"means of {means[1]} neighbouring rows of one {x}, since neighbours in time are alike"
    for column in measures:
        frame[column] = frame[column].mean() + innovations(frame[column].to_numpy())
    return frame, "values less what follows from those before them, since neighbours in time are alike"


def within_keys(table: pd.DataFrame, y: str, x: str, keys: list[str], measures: list[str]) -> tuple[pd.DataFrame, str]:
    """Measures as deviations from the mean of their key, or of several keys at once."""
    frame = table[[y, x]].copy()
    for key in keys * (3 if len(keys) > 1 else 1):
        for column in measures:
            usual = frame[column].groupby(table[key], observed=True).transform("mean")
            frame[column] = frame[column] - usual + frame[column].mean()
    names = " and ".join(keys)
    return frame, f"within each {names}, since rows of one {names} are alike"


def independent_rows(
    table: pd.DataFrame, y: str, x: str, bonds: dict[tuple[str, str], float], keys: dict[str, bool], is_ordered: bool
) -> tuple[pd.DataFrame, str]:
    """The rows of two columns without what ties them together, and how that was done in words.

    `keys` are columns whose rows may hang together; where it says True, only if the key settles what `x` is.
    """

    def inflation(key: str) -> float:
        rows_each = len(table) / max(table[key].nunique(), 1)
        settles = max(bonds[x, key], bonds[y, key]) > 0.95
        return 1 + (rows_each - 1) * bonds[y, key] * bonds[x, key] if settles or not keys[key] else 1.0

    tied = sorted((key for key in keys if key not in (y, x) and inflation(key) > 1.1), key=inflation, reverse=True)
    measures = [column for column in (y, x) if not isinstance(table[column].dtype, pd.CategoricalDtype)]
    for key in tied[:1]:
        if len(measures) < 2 and (not measures or max(bonds[y, key], bonds[x, key]) >= 0.5):
            frame = one_row_each(table, y, x, key)
            return frame, f"one row for each {key} ({len(frame):,}), since rows of one {key} are alike"
        if len(tied) == 1 and min(bonds[y, key], bonds[x, key]) >= 0.5:
            frame = one_row_each(table, y, x, key)
            return frame, f"one row for each {key} ({len(frame):,}), since rows of one {key} are alike"
    if tied:
        return within_keys(table, y, x, tied, measures)
    if is_ordered and min(bonds[y, ""], bonds[x, ""]) > 0.1:
        return without_course(table, y, x)
    return table[[y, x]], ""
