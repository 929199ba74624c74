"""Columns as tests want them: numbers, labels and moments, whatever they were read as."""

from __future__ import annotations

import numpy as np
import pandas as pd


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
