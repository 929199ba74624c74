"""Text read as numbers, dates and flags. The functions' source stands in the notebook, so it runs without Cellwright.

None raises on odd values: what cannot be read is missing, and whoever calls counts it.
"""

from __future__ import annotations

import pandas as pd


def as_number(
    values: pd.Series,
    decimal: str = ".",
    thousands: str = "",
    prefix: str = "",
    suffix: str = "",
    scale: float = 1.0,
    brackets: bool = False,
    units: dict[str, float] | None = None,
) -> pd.Series:
    """Text as numbers: signs of money and units are taken off, other units turned into one. What is none is missing."""
    if pd.api.types.is_numeric_dtype(values):
        return values
    if values.dtype.kind == "m":
        return values.dt.total_seconds()
    is_text = isinstance(values.dtype, pd.StringDtype)
    texts = values if is_text else values.astype(object).map(str, na_action="ignore").astype("str")
    if (decimal, thousands, prefix, suffix, scale, brackets, units) == (".", "", "", "", 1.0, False, None):
        return pd.Series(pd.to_numeric(texts.str.strip(), errors="coerce"), index=values.index, dtype="float64")
    texts = texts.str.replace("\N{MINUS SIGN}", "-").str.strip()
    factors = pd.Series(scale, index=values.index)
    for unit, factor in (units or {}).items():
        has_unit = texts.str.endswith(unit) & ~texts.str.endswith(suffix or "\0")
        factors = factors.mask(has_unit, factor or float("nan"))
        texts = texts.mask(has_unit, texts.str.removesuffix(unit))
    if brackets:
        texts = texts.str.replace(r"^\((.*)\)$", r"-\1", regex=True)
    for mark in (prefix, suffix, thousands):
        texts = texts.str.replace(mark, "", regex=False) if mark.strip() else texts
    texts = texts.str.replace(r"\s", "", regex=True)
    if decimal != ".":
        texts = texts.str.replace(".", "?", regex=False).str.replace(decimal, ".", regex=False)
    return pd.Series(pd.to_numeric(texts, errors="coerce"), index=values.index, dtype="float64") * factors


def as_date(values: pd.Series, formats: list[str] | None = None) -> pd.Series:
    """Text as dates, each read by the first format that fits. Moments with a time zone become UTC."""
    if values.dtype.kind == "M":
        return values.dt.tz_convert("UTC").dt.tz_localize(None) if values.dt.tz is not None else values
    is_text = isinstance(values.dtype, pd.StringDtype)
    texts = (values if is_text else values.astype(object).map(str, na_action="ignore").astype("str")).str.strip()
    found = pd.Series(pd.NaT, index=values.index, dtype="datetime64[us]")
    for form in formats or ["ISO8601"]:
        left = texts.where(found.isna())
        read = pd.to_datetime(left, format=form, errors="coerce", utc=True)
        found = found.fillna(read.dt.tz_localize(None).astype("datetime64[us]"))
    return found


def as_flag(values: pd.Series, true_words: list[str], false_words: list[str]) -> pd.Series:
    """Words for yes and no as true and false; any other word is missing."""
    if pd.api.types.is_bool_dtype(values):
        return values.astype("boolean")
    texts = values.astype(object).map(str, na_action="ignore").astype("str").str.strip().str.casefold()
    meanings = {word.strip().casefold(): True for word in true_words}
    meanings |= {word.strip().casefold(): False for word in false_words}
    return texts.map(meanings).astype("boolean")


def describe_columns(table: pd.DataFrame, meanings: dict[str, str]) -> pd.DataFrame:
    """One row per column: what it is, how full, how many different values, and between what they lie."""
    rows = list[dict[str, str]]()
    for at, name in enumerate(table.columns):
        values = table.iloc[:, at].dropna()
        is_ordered = pd.api.types.is_numeric_dtype(values) or values.dtype.kind == "M"
        counts = values.value_counts()
        common = counts[counts == counts.max()] if len(counts) and counts.max() > 1 else counts[:0]
        has_ends = is_ordered and len(values) > 0
        row = {"column": str(name), "meaning": meanings.get(str(name), "")}
        row |= {"filled": f"{len(values) / max(len(table), 1):.0%}", "different": f"{len(counts):,}"}
        row |= {"least": str(values.min()) if has_ends else "", "greatest": str(values.max()) if has_ends else ""}
        row["median"] = f"{values.median():.6g}" if has_ends and values.dtype.kind in "iuf" else ""
        row["commonest"] = min(map(str, common.index), default="")[:60]
        rows.append(row)
    return pd.DataFrame(rows)
