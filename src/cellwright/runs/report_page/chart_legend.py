"""What the colours of a chart mean, drawn beside it."""

from __future__ import annotations

from typing import Final

from cellwright.runs.report_page.chart_colours import Grouped, Ramped
from cellwright.runs.report_page.chart_painting import rectangle, text
from cellwright.runs.report_page.chart_scales import round_ticks, said

_LONGEST: Final = 24
_STEPS: Final = 24
_TALL: Final = 110.0


def legend_width(legend: Grouped | Ramped) -> int:
    """How much room it needs beside the chart."""
    labels = [legend.title, *(legend.colours if isinstance(legend, Grouped) else ())]
    return 30 + round(6.8 * max(len(_cut(label)) for label in labels))


def legend_height(legend: Grouped | Ramped) -> float:
    """How far down it reaches."""
    return 30 + (18 * len(legend.colours) if isinstance(legend, Grouped) else _TALL)


def legend_parts(legend: Grouped | Ramped, left: float) -> list[str]:
    """The legend, with its left edge there."""
    heading = text(left, 6, _cut(legend.title), extra=' font-weight="600"')
    if isinstance(legend, Ramped):
        return [heading, *_ramp(legend, left)]
    parts = [heading]
    for row, (group, colour) in enumerate(legend.colours.items()):
        down = 26 + 18 * row
        parts += [rectangle(left, down - 9, 10, 10, colour), text(left + 16, down, _cut(group))]
    return parts


def _ramp(legend: Ramped, left: float) -> list[str]:
    """A strip of its colours, the largest on top, with round numbers beside it."""
    parts: list[str] = []
    for step in range(_STEPS):
        colour = legend.at(1 - (step + 0.5) / _STEPS)
        parts.append(rectangle(left, 18 + step * _TALL / _STEPS, 14, _TALL / _STEPS + 0.3, colour))
    if legend.high - legend.low <= max(abs(legend.low), abs(legend.high)) * 1e-9 + 1e-200:
        return [*parts, text(left + 20, 18 + _TALL / 2, said(legend.low))]
    last = -1e9
    for tick in reversed(round_ticks(legend.low, legend.high, 4)):
        down = 18 + (1 - legend.share(tick)) * _TALL
        if legend.low <= tick <= legend.high and down - last >= 13:
            parts.append(text(left + 20, down + 4, said(tick)))
            last = down
    return parts


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
