"""The few helpers of a short notebook: figures and spans as people say them, and rows of a span.

Their source is part of the notebook, so it runs without Cellwright.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special


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


def change_test(first: pd.Series, second: pd.Series, times: int = 1) -> dict[str, object]:
    """Welch's t test on one value a day: weekdays levelled, days far off held back, days like the one before less."""
    days: list[Any] = []
    for each in (first, second):
        usual = each.groupby(each.index.day_of_week).transform("mean") if len(each) >= 28 else each.mean()
        level = each - usual + each.mean()
        reach = 8 * 1.4826 * (level - level.median()).abs().median() if len(each) else 0
        days.append(level.clip(level.median() - reach, level.median() + reach) if reach else level)
    rest, n = np.concatenate([each - each.mean() for each in days]), len(first) + len(second)
    if min(len(first), len(second)) < 5 or not np.ptp(rest):
        return {"p": 1.0, "effect": 0.0, "says": "too few days for a test."}
    past, spread = (rest[:-1] ** 2).sum(), np.sqrt((rest**2).sum() / (n - 2))
    alike = (rest[1:] * rest[:-1]).sum() / past
    error = np.sqrt(((rest[1:] - alike * rest[:-1]) ** 2).sum() / (n - 3) / past)
    comes_back = (alike - 1) / error < -4.5 - 10 / n
    kept = np.clip(alike + (2 + 4 * alike) / n + error / 2, 0, 0.97) if comes_back else 0.97
    worth = [max(len(each) * (1 - kept) / (1 + kept), 1.0) for each in days]
    parts = [each.var() / size for each, size in zip(days, worth, strict=True)]
    freedom = sum(parts) ** 2 / sum(part**2 / max(size - 1, 0.5) for part, size in zip(parts, worth, strict=True))
    gap, wide = (days[1].mean() - days[0].mean()) / spread, np.sqrt(sum(parts)) / spread
    reach = min(special.stdtrit(freedom, 0.975), 50) * wide
    p = min(2 * special.stdtr(freedom, -abs(gap) / wide) * times, 1.0)
    says = f"Welch's t test, n = {n:,} days, p = {p:.2g}, comparisons counted: {times:,}; effect {gap:.2f} "
    says += f"standard deviations of a day, 95 % interval {gap - reach:.2f} to {gap + reach:.2f}."
    return {"p": p, "effect": gap, "says": says}
