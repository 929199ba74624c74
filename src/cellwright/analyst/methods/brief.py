"""The few helpers of a short notebook: figures and spans as people say them, and rows of a span.

Their source is part of the notebook, so it runs without Cellwright.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats


def short(number: Any, before: str = "", after: str = "") -> str:
    """A figure as people say it: €58.7k, 1,240, 3.41 kg."""
    if pd.isna(number):
        return "unknown"
    size, sign = abs(float(number)), "-" if number < 0 else ""
    for least, step, mark in ((1e9, 1e9, "bn"), (1e6, 1e6, "m"), (1e4, 1e3, "k"), (100, 1, "")):
        if size >= least:
            return f"{sign}{before}{size / step:,.{1 if 1 < size / step < 100 and mark else 0}f}{mark}{after}"
    return f"{sign}{before}{size:.3g}{after}"


def named(span: Any) -> str:
    """A span of days as people say it: Q3 2025, March 2025, 2025; any other by its days."""
    first, last = pd.Timestamp(span[0]), pd.Timestamp(span[1])
    for code, form in (("Y", "%Y"), ("Q", "Q%q %Y"), ("M", "%B %Y"), ("D", "%Y-%m-%d")):
        period = first.to_period(code)
        if (first, last) == (period.start_time, period.end_time.normalize()):
            return str(period.strftime(form))
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def during(rows: pd.DataFrame, when: str, span: Any) -> pd.DataFrame:
    """The rows of a span of days, both ends included."""
    first, last = pd.Timestamp(span[0]), pd.Timestamp(span[1]) + pd.Timedelta(days=1)
    return rows[(rows[when] >= first) & (rows[when] < last)]



def change_test(first: pd.Series, second: pd.Series) -> dict[str, float] | None:
    """Welch's t test on one value a day: weekdays levelled, days far off held back; None for fewer than five days.

    Days that resemble the day before them count for less.
    """
    days: list[Any] = []
    for each in (first, second):
        usual = each.groupby(each.index.day_of_week).transform("mean") if len(each) >= 28 else each.mean()
        level = each - usual + each.mean()
        reach = 8 * stats.median_abs_deviation(level, scale="normal") if len(each) else 0
        days.append(level.clip(level.median() - reach, level.median() + reach) if reach else level)
    rest, n = np.concatenate([each - each.mean() for each in days]), len(first) + len(second)
    if min(len(first), len(second)) < 5 or not np.ptp(rest):
        return None
    past, spread = (rest[:-1] ** 2).sum(), np.sqrt((rest**2).sum() / (n - 2))
    alike = (rest[1:] * rest[:-1]).sum() / past
    error = np.sqrt(((rest[1:] - alike * rest[:-1]) ** 2).sum() / (n - 3) / past)
    comes_back = (alike - 1) / error < -4.5 - 10 / n
    kept = np.clip(alike + (2 + 4 * alike) / n + error / 2, 0, 0.97) if comes_back else 0.97
    worth = [max(len(each) * (1 - kept) / (1 + kept), 1.0) for each in days]
    parts = [each.var() / size for each, size in zip(days, worth, strict=True)]
    freedom = sum(parts) ** 2 / sum(part**2 / max(size - 1, 0.5) for part, size in zip(parts, worth, strict=True))
    gap, wide = days[1].mean() - days[0].mean(), np.sqrt(sum(parts))
    reach, p = min(stats.t.ppf(0.975, freedom), 50) * wide, 2 * stats.t.sf(abs(gap) / wide, freedom)
    return {"n": n, "p": p, "effect": gap / spread, "low": (gap - reach) / spread, "high": (gap + reach) / spread}


def words_of_test(found: Any, times: int = 1) -> str:
    """A test of a change in words; its p counts every comparison that was made."""
    if found is None:
        return "too few days for a test."
    return (
        f"Welch's t test, n = {found['n']:,} days, p = {min(found['p'] * times, 1):.2g}, comparisons counted: {times:,}; "
        f"effect {found['effect']:.2f} standard deviations of a day, 95 % {found['low']:.2f} to {found['high']:.2f}."
    )
