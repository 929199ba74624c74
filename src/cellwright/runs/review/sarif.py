"""A review as SARIF 2.1.0, which code hosts and CI show beside the file."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import Any, Final

from cellwright.runs.deliver.delivery import Delivery

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES: Final = {
    "shown-wrong": "Code that asserts what ought to hold fails in the notebook.",
    "does-not-run": "The notebook does not run from scratch with the same results.",
    "hollow-test": "A test passes whatever is changed in what it reads.",
    "open-question": "The data raises a question that the notebook does not settle.",
}


def review_sarif(delivery: Delivery, uri: str) -> dict[str, Any]:
    """Everything that speaks against the notebook at this address, as a SARIF log."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "cellwright", "version": importlib.metadata.version("cellwright"), "rules": rules}
    place = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}
    results = [
        {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [place]}
        for rule, level, text in _results(delivery)
    ]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _results(delivery: Delivery) -> Iterator[tuple[str, str, str]]:
    shown = [each for each in delivery.reviewed if each.standing == "shown"]
    for each in shown:
        yield "shown-wrong", "error", f"{each.fails}\n\n{each.finding.shows.strip()}"
    told = {each.fails for each in shown}
    for problem in delivery.problems:
        if problem not in told:
            yield "does-not-run", "error", problem
    for check in delivery.checks:
        if check.is_hollow:
            yield "hollow-test", "warning", f"{check.name} {check.detail}"
    for question in delivery.questions:
        if not question.settled:
            yield "open-question", "warning", question.says
