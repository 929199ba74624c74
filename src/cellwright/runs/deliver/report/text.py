"""The report of a run in words, as markdown for a terminal: the answer first, then what to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from cellwright.runs.deliver.delivery import ComparedWay, Comparison, Delivery, DeliveryStatus

MARK: Final = "cellwright-report"
"""Stands at the beginning of every report's page."""
SAYS: Final[Mapping[DeliveryStatus, str]] = {
    "done": "done, and checked",
    "partial": "partly done",
    "refused": "refused",
    "stopped": "stopped",
    "failed": "failed",
}
"""How a run ended, for people."""


def report_text(delivery: Delivery) -> str:
    """The report in words, as markdown: the answer first, and where the files are."""
    parts = [_plain(delivery.answer)] if delivery.answer.strip() else []
    if delivery.status != "done":
        because = f": {_plain(delivery.why)}" if delivery.why else ""
        parts.append(f"{SAYS[delivery.status].capitalize()}{because}")
    if delivery.summary.strip() and delivery.summary.strip() != delivery.answer.strip():
        parts.append(_plain(delivery.summary))
    parts += [
        _bullets("Assumptions", delivery.assumptions),
        _bullets("Caveats", delivery.caveats),
        _bullets("Problems nobody repaired", delivery.problems),
        *(_bullets(f"Compared for {compared.task!r}", comparison_lines(compared)) for compared in delivery.comparisons),
        _bullets("Checks", [_check_line(check.has_passed, check.says, check.detail) for check in delivery.checks]),
        _bullets(
            "Tasks that are not done",
            [f"{task.title}: {task.status}" for task in delivery.tasks if task.status not in {"done", "dropped"}],
        ),
        "\n".join(f"{name}: {value}" for name, value in (*account(delivery), *_file_lines(delivery))),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _check_line(has_passed: bool, says: str, detail: str) -> str:
    return f"{'passed' if has_passed else 'MISSED'}: {says}" + (f" ({detail})" if detail else "")


def comparison_lines(comparison: Comparison) -> list[str]:
    """Each way in one line, best first."""
    return [_alternative_line(way) for way in comparison.ways]


def _alternative_line(way: ComparedWay) -> str:
    checks = f", checks {way.checks}" if way.checks else ""
    shows = f", {way.shows}" if way.shows else ""
    took = f", {way.ms:.0f} ms" if way.way else ""
    return f"{way.name}{' (kept)' if way.is_kept else ''}: {way.status}{checks}{shows}{took}"


def _bullets(title: str, texts: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {_one_line(text)}" for text in texts)]) if texts else ""


def _file_lines(delivery: Delivery) -> list[tuple[str, str]]:
    named = (("notebook", delivery.notebook), ("report", delivery.report), ("proof", delivery.proof))
    return [(name, _one_line(path)) for name, path in named if path]


def account(delivery: Delivery) -> list[tuple[str, str]]:
    """Cost and time, as far as they are known."""
    dollars = delivery.microdollars / 1_000_000
    cost = f"${dollars:,.2f}" if dollars >= 0.1 or not dollars else f"${dollars:.4f}"
    cost = cost if delivery.is_price_known else f"unknown, at least {cost}"
    tokens = f" ({delivery.tokens:,} tokens)" if delivery.tokens else ""
    return [("cost", f"{cost}{tokens}"), ("time", duration(delivery.seconds))]


def duration(seconds: float) -> str:
    """A time as a person says it, as wide as a second later: `48 s`, `3 min 05 s`, `2 h 05 min`."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3_600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole % 60:02} s" if minutes else f"{whole} s"


def _plain(text: str) -> str:
    """Text for a terminal: nothing in it moves the cursor or changes colours."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "�" for sign in text.strip())


def _one_line(text: str) -> str:
    return " ".join(_plain(text).split())
