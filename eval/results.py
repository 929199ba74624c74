"""What was measured: a result per task and worker, and the table a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.checks import has_passed, judge
from eval.task import Task
from eval.worker import Came


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One task, done by one worker."""

    task: str
    kind: str
    worker: str
    has_passed: bool
    failed: tuple[str, ...]
    """Which checks did not hold."""
    not_judged: int
    """How many checks look at a notebook where there is none."""
    status: str
    why: str
    seconds: float
    tokens: int
    microdollars: int | None
    answer: str

    def as_json(self) -> dict[str, Any]:
        """As a file keeps it."""
        return asdict(self)


def result_of(task: Task, worker: str, came: Came) -> Result:
    """The result, judged."""
    verdicts = judge(task.checks, came.delivered)
    return Result(
        task=task.id,
        kind=task.kind,
        worker=worker,
        has_passed=bool(came.delivered.answer) and has_passed(verdicts),
        failed=tuple(verdict.says for verdict in verdicts if verdict.has_held is False),
        not_judged=sum(verdict.has_held is None for verdict in verdicts),
        status=came.status,
        why=came.why,
        seconds=round(came.seconds, 1),
        tokens=came.tokens,
        microdollars=came.microdollars,
        answer=came.delivered.answer,
    )


def table(results: Sequence[Result]) -> str:
    """Every result, then sums by kind and by worker."""
    rows = [("task", "worker", "passed", "seconds", "tokens", "cost", "what failed")]
    rows += [
        (one.task, one.worker, "yes" if one.has_passed else "no", f"{one.seconds:.1f}", f"{one.tokens:,}",
         _cost([one]), "; ".join(one.failed) if not one.has_passed else "")
        for one in results
    ]  # fmt: skip
    sums: list[tuple[str, ...]] = [("kind", "worker", "passed", "seconds", "tokens", "cost", "")]
    for worker in _in_order(one.worker for one in results):
        own = [one for one in results if one.worker == worker]
        for kind in _in_order(one.kind for one in own):
            sums.append(_sum(kind, [one for one in own if one.kind == kind]))
        sums.append(_sum("all", own))
    return f"{_aligned(rows)}\n\n{_aligned(sums)}"


def _sum(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    return (
        name,
        results[0].worker,
        f"{sum(one.has_passed for one in results)} of {len(results)}",
        f"{sum(one.seconds for one in results):.1f}",
        f"{sum(one.tokens for one in results):,}",
        _cost(results),
        "",
    )


def _cost(results: Sequence[Result]) -> str:
    if any(one.microdollars is None for one in results):
        return "unknown"
    return f"${sum(one.microdollars or 0 for one in results) / 1e6:.4f}"


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
