"""How values are spread: numbers, lengths of text, and what a column of dates covers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from cellwright_guest.profiling.records import Numbers, Step, Texts, Times
from cellwright_guest.profiling.typed_column import Codes, Floats, compute
from cellwright_guest.profiling.wording import finite

BINS: Final = 20
_STRONG_SKEW: Final = 2.0
_DAY: Final = 86400.0
_GAPS: Final = 5
_USUAL: Final = 0.6
_STEPS: Final[tuple[tuple[Step, float, float], ...]] = (
    ("second", 1, 1), ("minute", 60, 60), ("hour", 3600, 3600), ("day", _DAY, _DAY), ("week", 7 * _DAY, 7 * _DAY),
    ("month", 28 * _DAY, 31 * _DAY), ("quarter", 89 * _DAY, 93 * _DAY), ("year", 364 * _DAY, 367 * _DAY),
)  # fmt: skip


def describe_numbers(values: Floats) -> Numbers | None:
    """The distribution of the finite ones; None where there is none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    with np.errstate(all="ignore"):
        least, low, middle, high, greatest = np.quantile(known, (0, 0.25, 0.5, 0.75, 1))
        mean, deviation = float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else 0.0
        skew = skew_of(known, mean)
        top = float(np.quantile(known, 0.99)) if skew > _STRONG_SKEW else float(greatest)
        histogram = _histogram(known, float(least), top if top > least else float(greatest))
    return Numbers(
        least=finite(least),
        greatest=finite(greatest),
        mean=finite(mean),
        deviation=finite(deviation),
        quartiles=(finite(low), finite(middle), finite(high)),
        skew=round(finite(skew), 4),
        zeros=int((known == 0).sum()),
        negatives=int((known < 0).sum()),
        histogram=tuple(int(count) for count in histogram),
        has_integers_only=bool((known == np.floor(known)).all()),
    )


def _histogram(known: Floats, least: float, top: float) -> Codes:
    """Counts in equal steps; one step where the values leave no room for more."""
    span = top - least
    if not np.isfinite(span) or span <= 0:
        return np.array([len(known)], np.int64)
    indices = np.floor((known[known <= top] - least) / span * BINS)
    return np.bincount(np.clip(indices, 0, BINS - 1).astype(np.int64), minlength=BINS).astype(np.int64)


def skew_of(known: Floats, mean: float) -> float:
    """The third standardised moment; 0 for constants."""
    deviation = float(known.std())
    if not deviation or not np.isfinite(deviation):
        return 0.0
    scaled = (known - mean) / deviation
    return float((scaled * scaled * scaled).mean())


def describe_texts(texts: Any, counts: Codes) -> Texts | None:
    """Lengths in characters and words, weighted by how often each text occurs."""
    there = counts > 0
    if not there.any():
        return None
    lengths = compute.utf8_length(texts).to_numpy(zero_copy_only=False)
    words = compute.count_substring(texts, " ").to_numpy(zero_copy_only=False) + 1
    total = int(counts.sum())
    return Texts(
        shortest=int(lengths[there].min()),
        longest=int(lengths[there].max()),
        mean_length=round(float((lengths * counts).sum() / total), 2),
        mean_words=round(float((words * counts).sum() / total), 2),
    )


def iso(seconds: Any, *, has_times: bool) -> str:
    """`2024-01-31`, or with its time."""
    moment = np.datetime64(int(seconds), "s")
    return str(moment) if has_times else str(moment.astype("datetime64[D]"))


def describe_times(values: Floats, *, has_times: bool) -> Times | None:
    """First and last moment, the usual step and what is missing in between."""
    known = np.unique(values[np.isfinite(values)])
    if not len(known):
        return None
    first, last = iso(known[0], has_times=has_times), iso(known[-1], has_times=has_times)
    step, interval = step_of(known), 0.0
    if not step and has_times:
        interval = _interval(known)
        known = np.unique(np.floor(known / _DAY) * _DAY)
        step = step_of(known)
        has_times = False
    if not step:
        return Times(first=first, last=last, interval_seconds=interval)
    gaps, missing = _gaps(known, step, has_times=has_times)
    return Times(first=first, last=last, step=step, interval_seconds=interval, gaps=gaps, missing_steps=missing)


def _interval(known: Floats) -> float:
    """The distance that most neighbouring moments keep exactly, in seconds; 0: there is none."""
    distances, counts = np.unique(np.round(np.diff(known), 3), return_counts=True)
    return float(distances[counts.argmax()]) if len(known) >= 4 and counts.max() >= _USUAL * counts.sum() else 0.0


def step_of(known: Floats) -> Step:
    """The step that most neighbouring moments keep; empty: there is none, or there are too few."""
    if len(known) < 4:
        return ""
    distances = np.diff(known)
    for step, least, most in _STEPS:
        within = (distances >= least - 0.5) & (distances <= most + 0.5)
        if within.mean() >= _USUAL:
            return step
    return ""


def _gaps(known: Floats, step: Step, *, has_times: bool) -> tuple[tuple[str, ...], int]:
    length = {name: (least + most) / 2 for name, least, most in _STEPS}[step]
    missing = np.maximum(np.round(np.diff(known) / length) - 1, 0)
    if step == "day":
        missing = np.where(_are_weekends(known), 0, missing)
    indices = np.flatnonzero(missing > 0)
    order = indices[np.argsort(-missing[indices], kind="stable")][:_GAPS]
    told = [
        f"{iso(known[index] + length, has_times=has_times)} to {iso(known[index + 1] - length, has_times=has_times)}"
        for index in order
    ]
    return tuple(told), int(missing.sum())


def _are_weekends(known: Floats) -> Any:
    """Which distances only leave out a Saturday and a Sunday, where the data hardly knows any."""
    weekdays = (known // _DAY + 3).astype(np.int64) % 7
    if (weekdays >= 5).mean() > 0.02:
        return np.zeros(len(known) - 1, bool)
    return (np.diff(known) == 3 * _DAY) & (weekdays[:-1] == 4)
