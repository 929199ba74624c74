"""How often somebody may ask: buckets that fill with time. Pure but for a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_MOST_KEYS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How much at once, and how fast it comes back."""

    at_once: float
    per_second: float


class Rates:
    """One bucket per key, e.g. per token."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets = dict[str, tuple[float, float]]()
        """How much was left, and when."""

    def take(self, key: str) -> float:
        """0 if one more may be had now, and it is taken; else after how many seconds."""
        now = self._clock()
        left = self._left(key, now)
        if left < 1:
            return (1 - left) / self._rate.per_second
        if key not in self._buckets and len(self._buckets) >= _MOST_KEYS:
            self._forget_full(now)
        self._buckets[key] = (left - 1, now)
        return 0

    def __len__(self) -> int:
        return len(self._buckets)

    def _left(self, key: str, now: float) -> float:
        left, then = self._buckets.get(key, (self._rate.at_once, now))
        return min(self._rate.at_once, left + (now - then) * self._rate.per_second)

    def _forget_full(self, now: float) -> None:
        """Those that are full again; if that is not half of them, the oldest: a flood must not cost a look at each."""
        kept = [(key, found) for key, found in self._buckets.items() if self._left(key, now) < self._rate.at_once]
        self._buckets = dict(kept[-_MOST_KEYS // 2 :])
