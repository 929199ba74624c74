"""In which order the sides are measured."""

from __future__ import annotations

from bench.interleave import interleave
from bench.rows import Samples


async def test_sides_take_turns_and_what_warms_up_is_not_counted() -> None:
    order: list[str] = []

    async def ours() -> float:
        order.append("ours")
        return float(len(order))

    async def peer() -> float:
        order.append("peer")
        return float(len(order))

    taken = await interleave([ours, peer], rounds=2, burst=2, warm_ups=1)
    assert " ".join(order) == "ours peer ours ours peer peer ours ours peer peer"
    assert taken == [Samples((3.0, 4.0, 7.0, 8.0)), Samples((5.0, 6.0, 9.0, 10.0))]
