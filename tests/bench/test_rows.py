"""What a row of the bench says, and how it is worked out."""

from __future__ import annotations

from typing import Literal

import pytest
from inline_snapshot import snapshot

from bench.rows import Samples, compare, faster, no_more_than, slope, told


def test_a_speed_row_says_how_many_times_faster_we_are() -> None:
    finding = compare(
        "round trip",
        ours=Samples((2.0, 1.0, 9.0)),
        peer=Samples((60.0, 50.0, 40.0)),
        peer_name="a peer",
        unit="ms",
        bar=faster(25),
    )
    assert finding.row.as_json() == snapshot(
        {
            "name": "round trip",
            "ours": 2.0,
            "peer": 50.0,
            "peer_name": "a peer",
            "unit": "ms",
            "ratio": 25.0,
            "bar": "≥ 25×",
            "holds": True,
        }
    )


def test_a_size_row_says_how_many_times_as_much_we_take() -> None:
    finding = compare(
        "memory", ours=Samples((36.0,)), peer=Samples((90.0,)), peer_name="a peer", unit="MB", bar=no_more_than(0.35)
    )
    assert finding.row.as_json() == snapshot(
        {
            "name": "memory",
            "ours": 36.0,
            "peer": 90.0,
            "peer_name": "a peer",
            "unit": "MB",
            "ratio": 0.4,
            "bar": "≤ 0.35×",
            "holds": False,
        }
    )


def test_a_bar_is_judged_on_the_exact_ratio_not_on_the_rounded_one() -> None:
    finding = compare(
        "close", ours=Samples((1.0,)), peer=Samples((29.99999,)), peer_name="a peer", unit="ms", bar=faster(30)
    )
    assert (finding.row.ratio, finding.row.holds) == (30.0, False)


@pytest.mark.parametrize(("direction", "ratio"), [("at least", 0.5), ("at most", 2.0)])
def test_a_figure_that_is_told_is_held_against_nothing(direction: Literal["at least", "at most"], ratio: float) -> None:
    slow = Samples((2.0,))
    row = compare("call", ours=slow, peer=Samples((1.0,)), peer_name="a peer", unit="ms", bar=told(direction)).row
    assert (row.ratio, row.bar, row.holds) == (ratio, "told", True)


def test_samples_give_their_median_and_minimum_and_can_be_counted_per_cell() -> None:
    samples = Samples((400.0, 100.0, 300.0, 200.0))
    assert (samples.median, samples.minimum) == (250.0, 100.0)
    assert samples.scaled(1 / 100).median == pytest.approx(2.5)


def test_the_slope_is_what_one_more_kernel_adds() -> None:
    assert slope([120.0, 150.0, 180.0, 210.0]) == pytest.approx(30.0)
