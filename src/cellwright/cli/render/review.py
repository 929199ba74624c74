"""A review in the terminal: what is shown to be wrong first, with the code that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from cellwright.policy.display_text import shown
from cellwright.runs.deliver.delivery import Delivery, still_failing

_CODE_INDENT = "      "


def review_text(delivery: Delivery) -> str:
    """All of it, as lines."""
    return "\n".join(map(shown_line, _lines(delivery)))


def shown_line(text: str) -> str:
    """Notebooks and models wrote it: nothing hidden in it."""
    return "\n".join(shown(line) for line in text.split("\n"))


def _lines(delivery: Delivery) -> Iterator[str]:
    wrong = [each for each in delivery.reviewed if each.standing == "shown"]
    known = still_failing(delivery)
    problems = [each for each in delivery.problems if each not in known]
    yield _headline(len(wrong), len(problems))
    for each in wrong:
        yield f"✗ {each.fails}"
        yield indent(each.finding.shows.strip(), _CODE_INDENT)
    yield from (f"✗ {problem}" for problem in problems)
    yield from (f"! hollow: {check.name} {check.detail}" for check in delivery.checks if check.is_hollow)
    for question in delivery.questions:
        yield f"✓ {question.says} ({question.settled})" if question.settled else f"? {question.says}"
    passed = [check for check in delivery.checks if check.has_passed and not check.is_hollow]
    yield from (f"✓ {check.says or check.name}" for check in passed)
    open_questions = {question.unsettled for question in delivery.questions}
    yield from (f"- {caveat}" for caveat in delivery.caveats if caveat not in open_questions)
    if delivery.second_opinion.startswith("Computed twice"):
        yield delivery.second_opinion


def _headline(wrong: int, problems: int) -> str:
    if wrong:
        return f"Shown to be wrong: {wrong} finding{'' if wrong == 1 else 's'}."
    return "It does not stand up from scratch." if problems else "Nothing is shown to be wrong."
