"""How long models took to answer and how often they did not, by what the ledger's file has of every call."""

from __future__ import annotations

from collections import Counter, defaultdict

from cellwright.models.ledger import texts
from cellwright.models.ledger.file import LedgerFile
from cellwright.models.reports import LatencyRow


def latency_rows(file: LedgerFile, since: str) -> tuple[LatencyRow, ...]:
    """Every model that was asked since then, the most used first."""
    taken: defaultdict[str, list[int]] = defaultdict(list)
    for model, milliseconds in file.rows(
        "SELECT model, milliseconds FROM call WHERE state = 'answered' AND source = 'provider' AND ended_at >= ?", since
    ):
        taken[model].append(milliseconds)
    failed = Counter[str]()
    for (written,) in file.rows("SELECT attempts FROM call WHERE attempts != '[]' AND ended_at >= ?", since):
        failed.update(attempt.model for attempt in texts.read_attempts(written))
    rows = [_row(model, sorted(taken.get(model, [])), failed[model]) for model in {**taken, **failed}]
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.model)))


def _row(model: str, times: list[int], failures: int) -> LatencyRow:
    return LatencyRow(
        model=model, calls=len(times), failures=failures, p50_ms=_share(times, 50), p95_ms=_share(times, 95)
    )


def _share(times: list[int], percent: int) -> int:
    """The least time within which this share of them lies; 0 if there are none."""
    return times[max(0, -(-len(times) * percent // 100) - 1)] if times else 0
