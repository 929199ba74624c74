"""Taking turns: every side is measured in every round, so that a busy moment of the machine hits all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bench.rows import Samples

Measure = Callable[[], Awaitable[float]]
"""Does the measured thing once; gives what it took."""


async def interleave(sides: Sequence[Measure], *, rounds: int, burst: int = 1, warm_ups: int = 1) -> list[Samples]:
    """Samples of each side: `rounds` × `burst` of them, after some that do not count."""
    taken: list[list[float]] = [[] for _ in sides]
    for side in sides:
        for _ in range(warm_ups):
            await side()
    for _ in range(rounds):
        for side, samples in zip(sides, taken, strict=True):
            samples.extend([await side() for _ in range(burst)])
    return [Samples(tuple(samples)) for samples in taken]
