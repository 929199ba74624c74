"""The findings as a table for people."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bench.rows import TOLD, Finding, Samples

_HEAD = ("what", "against", "ours (min)", "peer (min)", "ratio", "bar", "")


def table(findings: Sequence[Finding]) -> str:
    """One line per row: medians, minima in parentheses, and whether the bar holds."""
    lines = [_HEAD, *(_line(finding) for finding in findings)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def load() -> str:
    """How busy the machine is, so that a noisy run can be recognised."""
    averages = " ".join(f"{average:.2f}" for average in os.getloadavg())
    return f"load average {averages} on {len(os.sched_getaffinity(0))} cores"


def _line(finding: Finding) -> tuple[str, ...]:
    row = finding.row
    return (
        row.name,
        row.peer_name,
        _side(finding.ours, row.unit),
        _side(finding.peer, row.unit),
        f"{row.ratio:.3g}×",
        row.bar,
        "" if row.bar == TOLD else "holds" if row.holds else "DOES NOT HOLD",
    )


def _side(samples: Samples, unit: str) -> str:
    return f"{samples.median:.4g} {unit} ({samples.minimum:.4g})"
