"""Two spans of time compared: how far a measure changed, and which parts of it did."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from cellwright.analyst.methods.columns import column_of, moments_of, numbers_of
from cellwright.analyst.methods.course import STEP_WORDS, persistence
from cellwright.analyst.methods.pairs import row_of


def within_span(moments: pd.Series, span: tuple[str, str]) -> pd.Series:
    """Which moments lie in a span of days, both ends included."""
    return (moments >= pd.Timestamp(span[0])) & (moments < pd.Timestamp(span[1]) + pd.Timedelta(days=1))


def span_courses(
    table: pd.DataFrame, y: str, when: str, spans: tuple[tuple[str, str], tuple[str, str]], how: str
) -> tuple[str, list[np.ndarray]]:
    """A measure for each step of two spans, in the finest steps with rows; empty where none fits."""
    frame = pd.DataFrame({"when": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
    for step in ("D", "W", "M", "h"):
        courses: list[np.ndarray] = []
        for span in spans:
            inside = frame[within_span(frame["when"], span)]
            if inside.empty:
                return "", []
            grouped = inside["value"].groupby(inside["when"].dt.to_period(step))
            course = (grouped.sum() if how == "sum" else grouped.mean()).sort_index()
            every = pd.period_range(course.index[0], course.index[-1], freq=step) if len(course) >= 5 else course.index
            if len(course) < 5 or len(every) > 4000 or len(course) < 0.6 * len(every):
                break
            course = course.reindex(every, fill_value=0.0) if how == "sum" else course
            if step == "D" and len(course) >= 28:
                usual = course.groupby(course.index.start_time.day_of_week).transform("mean")
                course = course - usual + course.mean()
            courses.append(course.to_numpy(dtype=float))
        if len(courses) == 2:
            return STEP_WORDS[step], courses
    return "", []


def without_far_off(course: np.ndarray) -> np.ndarray:
    """Values more than eight usual distances from the middle set back to there: one wild step is no other level."""
    middle = np.median(course)
    reach = 8 * 1.4826 * np.median(np.abs(course - middle))
    return np.clip(course, middle - reach, middle + reach) if reach > 0 else course


def change(
    table: pd.DataFrame, y: str, when: str, first: tuple[str, str], second: tuple[str, str], how: str = "mean"
) -> dict[str, object] | None:
    """Whether a measure has another level in a second span of time than in a first (ISO dates)."""
    word, courses = span_courses(table, y, when, (first, second), how)
    if not courses:
        return None
    held_back = [without_far_off(course) for course in courses]
    is_held = any((old != new).any() for old, new in zip(courses, held_back, strict=True))
    courses = held_back
    before, after = courses
    rest, n = np.concatenate([before - before.mean(), after - after.mean()]), len(before) + len(after)
    spread = np.sqrt((rest**2).sum() / (n - 2))
    if spread == 0:
        return None
    share, uncertain, returning = persistence(rest, 2)
    comes_back = returning < -4.5 - 10 / n
    share = min(max(share + 0.5 * uncertain, 0.0), 0.97) if comes_back else 0.97
    worth = [max(len(course) * (1 - share) / (1 + share), 1.0) for course in courses]
    parts = [course.var(ddof=1) / size for course, size in zip(courses, worth, strict=True)]
    freedom = sum(parts) ** 2 / sum(part**2 / max(size - 1, 0.5) for part, size in zip(parts, worth, strict=True))
    gap, error = after.mean() - before.mean(), np.sqrt(sum(parts))
    p, reach = 2 * stats.t.sf(abs(gap) / error, freedom), min(stats.t.ppf(0.975, freedom), 50.0) * error
    sizes = (gap / spread, (gap - reach) / spread, (gap + reach) / spread)
    outcome = ("Welch t with autocorrelated errors", gap / error, p, "change in standard deviations of a step", *sizes)
    held = "likeness of neighbours allowed for" if comes_back else "held against a series that wanders by itself"
    percent = f" ({gap / before.mean():+.1%})" if before.mean() > 0 else ""
    says = f"the {how} of {y} for each {word} {'rose' if gap > 0 else 'fell'} from {before.mean():,.4g}"
    says += f" ({first[0]} to {first[1]}) to {after.mean():,.4g} ({second[0]} to {second[1]}){percent}"
    checked = [f"one value for each {word}", held, *([f"a {word} far off all others held back"] if is_held else [])]
    return row_of("change", (y, when), n, outcome, checked, says)


def explain_change(
    table: pd.DataFrame, y: str, when: str, first: tuple[str, str], second: tuple[str, str], by: str, how: str = "sum"
) -> pd.DataFrame:
    """Which labels of `by` a change of a total (or a mean) comes from; the parts add up exactly.

    `amount` is due to more or fewer rows (for a mean: to other shares of rows), `rate` to other values in them.
    """
    labels = column_of(table, by).astype(object).map(str, na_action="ignore").fillna("(missing)")
    frame = pd.DataFrame({"label": labels, "value": numbers_of(table, y), "when": moments_of(table, when)}).dropna()
    spans = [frame[within_span(frame["when"], span)].groupby("label")["value"] for span in (first, second)]
    names = sorted({*spans[0].groups, *spans[1].groups})
    rows = [span.size().reindex(names, fill_value=0).to_numpy(dtype=float) for span in spans]
    totals = [span.sum().reindex(names, fill_value=0.0).to_numpy(dtype=float) for span in spans]
    weights = rows if how == "sum" else [size / max(size.sum(), 1.0) for size in rows]
    means = [total / np.where(size > 0, size, np.nan) for total, size in zip(totals, rows, strict=True)]
    old, new = (np.where(np.isfinite(mean), mean, other) for mean, other in (means, means[::-1]))
    level = 0.0 if how == "sum" else (weights[0] @ old + weights[1] @ new) / 2
    amount = (weights[1] - weights[0]) * ((old + new) / 2 - level)
    rate = (weights[1] + weights[0]) / 2 * (new - old)
    parts = pd.DataFrame({"label": names, "first": weights[0] * old, "second": weights[1] * new})
    parts = parts.assign(amount=amount, rate=rate, change=amount + rate)
    whole = parts["change"].sum()
    parts["share"] = parts["change"] / whole if whole else np.nan
    order = parts["change"].abs().sort_values(ascending=False, kind="stable").index
    return parts.loc[order].reset_index(drop=True)
