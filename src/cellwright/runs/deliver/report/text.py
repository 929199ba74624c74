"""The report of a run in words for a terminal: what its first screen says, or, without a headline, all there is."""

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


_MOST_LINES: Final = 12
_LONGEST_LINE: Final = 400
_LONG_ANSWER: Final = 4_000
_BAR_WIDTH: Final = 24
_LABEL_WIDTH: Final = 24
_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"


def report_text(delivery: Delivery) -> str:
    """The first screen of the report for a terminal: headline, findings, trust, and the files.

    In at most 12 lines, unless an answer in words says more than that: it is there whole, as it was given. Where no
    headline was told, all there is: `long_text`.
    """
    if not delivery.headline:
        return long_text(delivery)
    because = f": {one_line(delivery.why)}" if delivery.why else ""
    ended = [] if delivery.status == "done" else [f"{SAYS[delivery.status].capitalize()}{because}"]
    spent = " · ".join(f"{name} {value}" for name, value in account(delivery))
    below = [one_line(delivery.trust), *(f"{name}: {value}" for name, value in _file_lines(delivery)), spent]
    below = [line for line in below if line]
    room = _MOST_LINES - 1 - len(ended) - len(delivery.findings) - len(below)
    head, rest = one_line(delivery.headline), _rest(delivery)
    is_summary = bool(delivery.text) and not delivery.findings
    if rest and not is_summary and (len(rest) > room or max(map(len, rest)) > _LONGEST_LINE):
        if whole := _whole_answer(delivery):
            # Its first sentence may be the headline.
            first = [] if whole[0].startswith(head) else [head, ""]
            return "\n".join([*first, *ended, *whole, "", *below]) + "\n"
        rest = []
    lines, drawn = [head, *ended], False
    room -= len(rest)
    for finding in delivery.findings:
        lines.append(f"- {one_line(finding.says)}")
        if finding.bars and not drawn:
            chart = bar_lines(finding.bars, room)
            lines += [f"    {line}" for line in chart]
            room, drawn = room - len(chart), True
    # A summary of a text that is there whole is what was asked for.
    apart = [""] if is_summary and rest else []
    gap = [""] if room > 0 else []
    return "\n".join([*lines, *apart, *rest, *gap, *below]) + "\n"


def _rest(delivery: Delivery) -> list[str]:
    """What else the answer says than headline and findings, in lines."""
    # Loads what reads markdown, which other commands need not wait for.
    from cellwright.runs.deliver.first_screen import rest_of_answer

    return plain(rest_of_answer(delivery)).splitlines()


def _whole_answer(delivery: Delivery) -> list[str]:
    """An answer in words as it was given; empty: there is more to its findings than its words, or it is very long."""
    is_drawn = any(finding.bars or finding.cell or finding.statistics for finding in delivery.findings)
    is_long = len(delivery.answer) > _LONG_ANSWER
    return [] if is_drawn or delivery.text or is_long else plain(delivery.answer).splitlines()


def bar_lines(bars: Sequence[tuple[str, float]], most: int) -> list[str]:
    """Labelled numbers drawn with blocks: a line for each, or all in one line where there is room for no more."""
    numbers = [number for _, number in bars]
    if len(bars) > most:
        return [_sparkline(bars)] if most > 0 and len(bars) > 1 else []
    labels = [_cut(one_line(label)) for label, _ in bars]
    width, widest = max(map(len, labels)), max(map(abs, numbers)) or 1.0
    return [
        f"{label:<{width}}  {_bar(abs(number) / widest):<{_BAR_WIDTH}}  {_number(number)}"
        for label, number in zip(labels, numbers, strict=True)
    ]


def _bar(share: float) -> str:
    eighths = round(share * _BAR_WIDTH * 8)
    return ("█" * (eighths // 8) + _BLOCKS[eighths % 8]).rstrip()


def _sparkline(bars: Sequence[tuple[str, float]]) -> str:
    numbers = [number for _, number in bars]
    least, span = min(numbers), (max(numbers) - min(numbers)) or 1.0
    signs = "".join(_HEIGHTS[round((number - least) / span * (len(_HEIGHTS) - 1))] for number in numbers)
    (first, begin), (last, end) = bars[0], bars[-1]
    return f"{_cut(one_line(first))} {_number(begin)} {signs} {_cut(one_line(last))} {_number(end)}"


def _number(number: float) -> str:
    whole = abs(number) >= 100 or number == int(number)
    return f"{number:,.0f}" if whole and abs(number) < 1e15 else f"{number:,.3g}"


def _cut(label: str) -> str:
    return label if len(label) <= _LABEL_WIDTH else f"{label[: _LABEL_WIDTH - 1]}…"


def long_text(delivery: Delivery) -> str:
    """Everything in words, as markdown: the answer first, and where the files are."""
    parts = [plain(delivery.answer)] if delivery.answer.strip() else []
    if delivery.status != "done":
        because = f": {plain(delivery.why)}" if delivery.why else ""
        parts.append(f"{SAYS[delivery.status].capitalize()}{because}")
    if delivery.summary.strip() and delivery.summary.strip() != delivery.answer.strip():
        parts.append(plain(delivery.summary))
    parts += [
        _bullets("Assumptions", delivery.assumptions),
        _bullets("Caveats", delivery.caveats),
        _bullets("Problems nobody repaired", delivery.problems),
        *(_bullets(f"Compared for {compared.task!r}", comparison_lines(compared)) for compared in delivery.comparisons),
        _bullets("Checks", [check_line(check.has_passed, check.says, check.detail) for check in delivery.checks]),
        _bullets(
            "Tasks that are not done",
            [f"{task.title}: {task.status}" for task in delivery.tasks if task.status not in {"done", "dropped"}],
        ),
        "\n".join(f"{name}: {value}" for name, value in (*account(delivery), *_file_lines(delivery))),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def check_line(has_passed: bool, says: str, detail: str) -> str:
    """A check and whether it held."""
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
    return "\n".join([f"{title}:", *(f"- {one_line(text)}" for text in texts)]) if texts else ""


def _file_lines(delivery: Delivery) -> list[tuple[str, str]]:
    named = (
        ("notebook", delivery.notebook),
        ("text", delivery.text),
        ("report", delivery.report),
        ("proof", delivery.proof),
    )
    return [(name, one_line(path)) for name, path in named if path]


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


def plain(text: str) -> str:
    """Text for a terminal: nothing in it moves the cursor or changes colours."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "�" for sign in text.strip())


def one_line(text: str) -> str:
    """The same on one line."""
    return " ".join(plain(text).split())
