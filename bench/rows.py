"""What the bench finds out: samples of each side, a ratio, and whether it meets its bar."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

TOLD: Final = "told"
"""In the place of a bar, where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """How many times faster we must be, or how many times as much we may take."""

    direction: Literal["at least", "at most"]
    """at least: the ratio is peer / ours (speed). at most: ours / peer (size)."""
    factor: float | None
    """None: the ratio is told, and held against nothing."""

    def __str__(self) -> str:
        return TOLD if self.factor is None else f"{'≥' if self.direction == 'at least' else '≤'} {self.factor:g}×"

    def ratio(self, ours: float, peer: float) -> float:
        """The figure that is held against the bar."""
        return peer / ours if self.direction == "at least" else ours / peer

    def holds(self, ratio: float) -> bool:
        """Whether a ratio meets it; one that is only told does."""
        if self.factor is None:
            return True
        return ratio >= self.factor if self.direction == "at least" else ratio <= self.factor


def faster(factor: float) -> Bar:
    """We must be this many times faster."""
    return Bar(direction="at least", factor=factor)


def no_more_than(factor: float) -> Bar:
    """We may take this many times as much."""
    return Bar(direction="at most", factor=factor)


def told(direction: Literal["at least", "at most"]) -> Bar:
    """No bar: worth knowing, and nothing is given for it."""
    return Bar(direction=direction, factor=None)


@dataclass(frozen=True, slots=True)
class Samples:
    """One side's measurements, in the unit of its row."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """What counts."""
        return statistics.median(self.values)

    @property
    def minimum(self) -> float:
        """What it took when the machine was least in the way."""
        return min(self.values)

    def scaled(self, factor: float) -> Samples:
        """The same measurements in another unit, e.g. per cell."""
        return Samples(tuple(value * factor for value in self.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of `latest.json`."""

    name: str
    ours: float
    peer: float
    peer_name: str
    unit: str
    ratio: float
    bar: str
    holds: bool

    def as_json(self) -> dict[str, str | float | bool]:
        """As it is written to the file."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A row and the measurements behind it, so that a noisy run can be recognised."""

    row: Row
    ours: Samples
    peer: Samples


def compare(name: str, *, ours: Samples, peer: Samples, peer_name: str, unit: str, bar: Bar) -> Finding:
    """Medians of both sides, held against the bar."""
    ratio = bar.ratio(ours.median, peer.median)
    row = Row(
        name=name,
        ours=_rounded(ours.median),
        peer=_rounded(peer.median),
        peer_name=peer_name,
        unit=unit,
        ratio=_rounded(ratio),
        bar=str(bar),
        holds=bar.holds(ratio),
    )
    return Finding(row=row, ours=ours, peer=peer)


def slope(values: Sequence[float]) -> float:
    """What one more adds: the least-squares slope over 1, 2, 3 …"""
    return statistics.linear_regression(range(1, len(values) + 1), values).slope


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
