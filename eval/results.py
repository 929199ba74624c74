"""What was measured: a result per task and worker, and the table a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from eval.checks import has_passed, judge
from eval.task import Task
from eval.traffic import Traffic, growth
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
    requests: int | None
    """To the model, answered; of a replay all. None: nobody counted them."""
    characters: int | None
    """Of the requests' bodies. None: nobody saw them."""
    frozen: Traffic | None
    """What a recorded path took when it was frozen."""
    grown: tuple[str, ...]
    """What of it has grown too much since, and where a review took more than its share."""
    reviewed: Traffic | None
    """What asking a reviewer took; None: nobody counted it apart."""
    answer: str

    @property
    def is_good(self) -> bool:
        """It passed, and took no more than it may."""
        return self.has_passed and not self.grown

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
        requests=came.requests,
        characters=came.characters,
        frozen=came.frozen,
        grown=(*_grown(came), *came.excess),
        reviewed=came.reviewed,
        answer=came.delivered.answer,
    )


def _grown(came: Came) -> tuple[str, ...]:
    if came.frozen is None or came.requests is None or came.characters is None:
        return ()
    return growth(Traffic(requests=came.requests, characters=came.characters), came.frozen)


def problems(result: Result) -> str:
    """What is wrong with it: which checks failed, or how it ended instead, and what has grown."""
    wrong = () if result.has_passed else result.failed or (result.status,)
    return "; ".join((*wrong, *result.grown))


_MEASURED: Final = (
    "passed", "seconds", "tokens", "cost", "requests", "frozen", "characters", "frozen", "review", "characters"
)  # fmt: skip


def table(results: Sequence[Result]) -> str:
    """Every result, then sums by kind and by worker; of a recorded path what was frozen stands beside what it took."""
    rows = [("task", "worker", *_MEASURED, "what failed")]
    rows += [
        (one.task, one.worker, "yes" if one.has_passed else "no", *_figures([one]), problems(one)) for one in results
    ]
    sums: list[tuple[str, ...]] = [("kind", "worker", *_MEASURED)]
    for worker in _in_order(one.worker for one in results):
        own = [one for one in results if one.worker == worker]
        for kind in _in_order(one.kind for one in own):
            sums.append(_sum(kind, [one for one in own if one.kind == kind]))
        sums.append(_sum("all", own))
    return f"{_aligned(rows)}\n\n{_aligned(sums)}"


def _sum(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    passed = f"{sum(one.has_passed for one in results)} of {len(results)}"
    return (name, results[0].worker, passed, *_figures(results))


def _figures(results: Sequence[Result]) -> tuple[str, ...]:
    """Of one result or the sum of several, in the order of `_MEASURED`."""
    return (
        f"{sum(one.seconds for one in results):.1f}",
        f"{sum(one.tokens for one in results):,}",
        _cost(results),
        _total([one.requests for one in results]),
        _total([one.frozen.requests if one.frozen else None for one in results]),
        _total([one.characters for one in results]),
        _total([one.frozen.characters if one.frozen else None for one in results]),
        _total([one.reviewed.requests if one.reviewed else None for one in results]),
        _total([one.reviewed.characters if one.reviewed else None for one in results]),
    )


def _total(figures: Sequence[int | None]) -> str:
    """Their sum; a dash where one is not known."""
    known = [figure for figure in figures if figure is not None]
    return f"{sum(known):,}" if len(known) == len(figures) else "–"


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
