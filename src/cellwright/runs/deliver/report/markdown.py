"""The report of a run as one markdown document: what the page says, in the same order, without its pictures.

It may be sent to others: files are named without their folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cellwright.runs.deliver.delivery import DeliveredFinding, Delivery
from cellwright.runs.deliver.first_screen import rest_of_answer
from cellwright.runs.deliver.report.text import SAYS, account, check_line, comparison_lines, one_line, plain


def report_markdown(delivery: Delivery, text: str = "") -> str:
    """Headline, findings with their statistics, the rest of the answer, how it was read, caveats, checks, proof.

    `text`: the whole in the words of whoever wrote it, where there is such a text; it stands for all that it says.
    """
    parts = [text.strip(), *_end(delivery)] if text else _parts(delivery)
    return "\n\n".join(part for part in parts if part) + "\n"


def _parts(delivery: Delivery) -> Iterator[str]:
    yield f"# {one_line(delivery.headline or delivery.title or delivery.goal) or 'Report'}"
    if one_line(delivery.goal) not in {one_line(delivery.headline), one_line(delivery.title)}:
        yield f"> {one_line(delivery.goal)}"
    yield _ending(delivery)
    yield one_line(delivery.trust)
    yield _section("Findings", [_finding_lines(finding) for finding in delivery.findings])
    yield plain(rest_of_answer(delivery))
    yield _section("How the question was read", list(dict.fromkeys((*delivery.readings, *delivery.assumptions))))
    yield _section("Data quality and caveats", delivery.caveats)
    yield _section("Problems nobody repaired", [each for each in delivery.problems if each not in delivery.why])
    if delivery.summary.strip() and delivery.summary.strip() != delivery.answer.strip():
        yield f"## Method\n\n{plain(delivery.summary)}"
    yield _checks(delivery)
    for compared in delivery.comparisons:
        yield _section(f"Compared for {one_line(compared.task)}", comparison_lines(compared))
    yield _section("What was done", [f"{task.title}: {task.status}" for task in delivery.tasks])
    yield _files(delivery)


def _end(delivery: Delivery) -> Iterator[str]:
    """What follows a text that says the rest."""
    yield _ending(delivery)
    yield _section("Problems nobody repaired", [each for each in delivery.problems if each not in delivery.why])
    yield _checks(delivery)
    yield _files(delivery)


def _ending(delivery: Delivery) -> str:
    because = f": {plain(delivery.why)}" if delivery.why else ""
    return "" if delivery.status == "done" else f"**{SAYS[delivery.status].capitalize()}**{because}"


def _checks(delivery: Delivery) -> str:
    return _section("Checks", [check_line(check.has_passed, check.says, check.detail) for check in delivery.checks])


def _files(delivery: Delivery) -> str:
    files = (
        ("notebook", delivery.notebook),
        ("text", delivery.text),
        ("report", delivery.report),
        ("proof", delivery.proof),
    )
    named = [f"{name}: {Path(path).name}" for name, path in files if path]
    return _section("Proof and files", [*named, *(f"{name}: {value}" for name, value in account(delivery))])


def _finding_lines(finding: DeliveredFinding) -> str:
    return f"{finding.says} ({finding.statistics})" if finding.statistics else finding.says


def _section(title: str, texts: Sequence[str]) -> str:
    lines = "\n".join(f"- {one_line(text)}" for text in texts)
    return f"## {title}\n\n{lines}" if lines else ""
