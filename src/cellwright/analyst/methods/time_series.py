"""A measure over time: trend, season, break, and the change between two periods with its parts.

Neighbours in time are alike, and every test here allows for it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from cellwright.analyst.methods.pairs import column_of, many_groups, moments_of, numbers_of, row_of

STEP_WORDS = {
    **{"s": "second", "min": "minute", "h": "hour", "D": "day"},
    **{"W": "week", "M": "month", "Q": "quarter", "Y": "year"},
}


def course_of(table: pd.DataFrame, y: str, when: str, steps: tuple[str, ...] = (), how: str = "mean") -> pd.Series:
    """A measure for each step of time (its mean or its sum), in the finest steps that give 20 to 400 of them.

    Empty where no step fits: too short, or with too many steps that have no row.
    """
    frame = pd.DataFrame({"when": moments_of(table, when), "value": numbers_of(table, y)}).dropna()
    for step in steps or tuple(STEP_WORDS):
        if frame.empty:
            break
        periods = frame["when"].dt.to_period(step)
        ordinals = pd.Series(periods.array.asi8, index=frame.index)
        count, span = ordinals.nunique(), int(ordinals.max() - ordinals.min()) + 1
        if not 20 <= count <= (4000 if steps else 400) or count < 0.7 * span:
            continue
        grouped = frame["value"].groupby(periods)
        return (grouped.sum() if how == "sum" else grouped.mean()).sort_index()
    return pd.Series(dtype=float)


def phase_of(course: pd.Series, cycle: str) -> np.ndarray:
    """Where in its cycle each step stands: its hour of the day, its weekday, its month or quarter."""
    index = pd.PeriodIndex(course.index)
    starts = index.start_time
    phases = {"hour": starts.hour, "weekday": starts.day_of_week, "month": starts.month, "quarter": starts.quarter}
    return np.asarray(phases[cycle])


def cycles_of(course: pd.Series) -> tuple[str, ...]:
    """The cycles a course is long enough to show: at least two whole ones, and steps that fit into them."""
    index = pd.PeriodIndex(course.index)
    step = str(index.freqstr).split("-")[0]
    days = (index[-1].end_time - index[0].start_time) / pd.Timedelta(days=1)
    found = ["hour"] if step == "h" and days >= 3 else []
    found += ["weekday"] if step in ("h", "D") and days >= 28 else []
    found += ["quarter"] if step == "Q" and days >= 720 else []
    found += ["month"] if step in ("D", "W", "M") and days >= 720 else []
    return tuple(found)


def without_season(course: pd.Series) -> np.ndarray:
    """The values of a course less the usual deviation of each phase of its cycles."""
    values = course.to_numpy(dtype=float)
    for cycle in cycles_of(course):
        phases = pd.Series(phase_of(course, cycle))
        values = values - pd.Series(values).groupby(phases).transform("mean").to_numpy() + values.mean()
    return values


def persistence(rest: np.ndarray, parameters: int) -> tuple[float, float, float]:
    """How much of a value stays to the next: the share, its uncertainty, and how surely it is not everything.

    The last is the Dickey-Fuller statistic: far below zero where the series keeps coming back to its level.
    """
    n, past = len(rest), (rest[:-1] ** 2).sum()
    if past <= 0:
        return 0.0, 0.0, -np.inf
    share = (rest[1:] * rest[:-1]).sum() / past
    error = np.sqrt(((rest[1:] - share * rest[:-1]) ** 2).sum() / max(n - parameters - 1, 1) / past)
    corrected = share + (parameters + 2 * parameters * share) / n
    return float(corrected), float(error), float((share - 1) / max(error, 1e-12))


def line_test(values: np.ndarray) -> tuple[float, float, float, float, bool]:
    """A straight line through a series: its slope, its error, degrees of freedom, p, and whether it comes back.

    The error allows for neighbours that are alike. Where the series may wander without coming back (a random walk),
    the line must also stand out from the usual steps.
    """
    n = len(values)
    x = np.arange(n) - (n - 1) / 2
    slope = (x @ values) / (x @ x)
    rest = values - values.mean() - slope * x
    share, uncertain, returning = persistence(rest, 2)
    share = min(max(share + 0.5 * uncertain, 0.0), 0.97)
    alike = share ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    variance = (rest @ rest) / max(n - alike.sum() / n - (x @ alike @ x) / (x @ x), 1e-9)
    error = np.sqrt(max(variance * (x @ alike @ x), 1e-300)) / (x @ x)
    freedom = max(n * (1 - share) / (1 + share) - 2, 2.0)
    p = 2 * stats.t.sf(abs(slope) / error, freedom)
    comes_back = returning < -4.5 - 10 / n
    if not comes_back:
        steps = np.diff(values)
        around = steps - steps.mean()
        stays = min(max((around[1:] @ around[:-1]) / max(around @ around, 1e-300), 0.0) + 2 / n, 0.9)
        wide = steps.std(ddof=1) * np.sqrt((1 + stays) / (1 - stays) / (n - 1))
        drift = 2 * stats.t.sf(abs(steps.mean()) / max(wide, 1e-300), n / 2 - 2)
        error, freedom, p = max(error, wide), min(freedom, n / 2 - 2), max(p, drift)
    return float(slope), float(error), float(freedom), float(p), bool(comes_back)


def trend(table: pd.DataFrame, y: str, when: str, how: str = "mean") -> dict[str, object] | None:
    """Whether a measure rises or falls over time, beyond what a series that wanders by itself would do."""
    course = course_of(table, y, when, how=how)
    if len(course) < 20 or course.nunique() < 3:
        return None
    values, index = without_season(course), pd.PeriodIndex(course.index)
    slope, error, freedom, p, comes_back = line_test(values)
    places = np.arange(len(values))
    rest, at = values - values.mean() - slope * (places - places.mean()), step_at(values)
    left = values - np.where(places < at, values[:at].mean(), values[at:].mean())
    word = STEP_WORDS[str(index.freqstr).split("-")[0]]
    checked = [
        f"one value for each {word}",
        *(f"season by {cycle} taken out" for cycle in cycles_of(course)),
        "likeness of neighbours allowed for" if comes_back else "held against a series that wanders by itself",
        "one step fits better than a line" if left.std() < 0.95 * rest.std() else "",
        ""
        if {"month", "quarter"} & {*cycles_of(course)} or word == "year"
        else "too short to tell a yearly season from it",
    ]
    whole = places[-1] / max(rest.std(), 1e-9 * max(abs(values).max(), 1e-9))
    reach = stats.t.ppf(0.975, freedom) * error
    name = "change over the whole time in standard deviations"
    sizes = (slope * whole, (slope - reach) * whole, (slope + reach) * whole)
    says = f"the {how} of {y} for each {word} {'rises' if slope > 0 else 'falls'} from {index[0]} to {index[-1]}"
    says += f", by about {abs(slope):,.3g} a {word}"
    outcome = ("line with autocorrelated errors", slope / max(error, 1e-300), p, name, *sizes)
    return row_of("trend", (y, when), len(values), outcome, checked, says)


def season(table: pd.DataFrame, y: str, when: str) -> dict[str, object] | None:
    """Whether a measure follows the hour, the weekday, the month or the quarter; the clearest of them.

    Tested on what is new in each step, so that a slow wave is not taken for a season.
    """
    found: list[dict[str, object]] = []
    for cycle, step in (("hour", "h"), ("weekday", "D"), ("month", "M"), ("quarter", "Q")):
        course = course_of(table, y, when, steps=(step,))
        if len(course) < 24 or cycle not in cycles_of(course) or course.nunique() < 3:
            continue
        values = course.to_numpy(dtype=float)
        share = min(max(persistence(values - values.mean(), 1)[0], 0.0), 1.0)
        fresh, phases = values[1:] - share * values[:-1], phase_of(course, cycle)[1:]
        groups = [fresh[phases == phase] for phase in np.unique(phases) if (phases == phase).sum() >= 2]
        if len(groups) >= 2 and np.unique(np.concatenate(groups)).size >= 2:
            outcome = (f"Kruskal-Wallis by {cycle}", *many_groups(groups)[1:])
            says = f"{y} is {extremes(course, cycle)}"
            found.append(
                row_of("season", (y, when), len(course), outcome, ["tested on what is new in each step"], says)
            )
    if not found:
        return None
    best = min(found, key=lambda row: float(row["p"]))
    more = {
        "p": min(float(best["p"]) * len(found), 1.0),
        "checked": f"{best['checked']}; p raised for {len(found)} cycles",
    }
    return {**best, **(more if len(found) > 1 else {})}


def extremes(course: pd.Series, cycle: str) -> str:
    """In which phase of its cycle a course is usually highest and lowest, in words."""
    values, phases = pd.Series(course.to_numpy(dtype=float)), phase_of(course, cycle)
    window = {"hour": 24, "weekday": 7, "month": 12, "quarter": 4}[cycle]
    around = values - values.rolling(window, center=True, min_periods=window // 2).mean()
    levels = around.groupby(phases).mean()
    high, low = int(levels.idxmax()), int(levels.idxmin())
    if cycle == "weekday":
        days = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
        return f"highest on {days[high]} and lowest on {days[low]}"
    if cycle == "month":
        months = pd.date_range("2001-01-01", periods=12, freq="MS").strftime("%B")
        return f"highest in {months[high - 1]} and lowest in {months[low - 1]}"
    if cycle == "hour":
        return f"highest at {high}:00 and lowest at {low}:00"
    return f"highest in quarter {high} and lowest in quarter {low}"


def step_at(values: np.ndarray) -> int:
    """Where one step fits a series best: the place of the first value after it, not near the ends."""
    n, sums = len(values), np.cumsum(values - values.mean())[:-1]
    place, edge = np.arange(1, n), max(5, int(0.15 * n))
    gain = np.where((place >= edge) & (place <= n - edge), sums**2 / (place * (n - place)), -1.0)
    return int(np.argmax(gain)) + 1


def breaks(table: pd.DataFrame, y: str, when: str) -> dict[str, object] | None:
    """Whether a measure stepped to another level once and stayed there: a cumulative-sum test.

    None where the series may wander by itself, for then no test can tell. The effect is what the step is beyond a line.
    """
    course = course_of(table, y, when)
    if len(course) < 24 or course.nunique() < 3:
        return None
    values, index = without_season(course), pd.PeriodIndex(course.index)
    n, at = len(values), step_at(values)
    rest = values - np.where(np.arange(n) < at, values[:at].mean(), values[at:].mean())
    share, uncertain, returning = persistence(rest, 2)
    if returning > -5.3 - 15 / n or rest.std() == 0:
        return None
    kept = min(max(share + uncertain, 0.0), 0.95)
    noise = np.sqrt(((rest[1:] - min(max(share, 0.0), 0.95) * rest[:-1]) ** 2).sum() / (n - 3)) / (1 - kept)
    statistic = abs(np.cumsum(values - values.mean())).max() / (noise * np.sqrt(n))
    design = np.column_stack([np.ones(n), np.arange(n) / n, np.arange(n) >= at]).astype(float)
    weights, inverse = np.linalg.lstsq(design, values, rcond=None)[0], np.linalg.inv(design.T @ design)
    size, reach = weights[2] / rest.std(), 2 * noise / rest.std() * np.sqrt(inverse[2, 2])
    before, after = values[:at].mean(), values[at:].mean()
    name, p = "step beyond a straight line in standard deviations", min(2 * np.exp(-2 * statistic**2), 1.0)
    outcome = ("cumulative sums", statistic, p, name, size, size - reach, size + reach)
    checked = ["likeness of neighbours allowed for", "the series keeps coming back to its level"]
    moved = "rose" if after > before else "fell"
    says = f"{y} {moved} at about {index[at]}, from {before:,.4g} to {after:,.4g} on average"
    return row_of("break", (y, when), n, outcome, checked, says)


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
