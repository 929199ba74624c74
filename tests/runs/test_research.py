"""A research reads documents, keeps quotes as cards, and writes nothing that its cards do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cellwright.notebook.files import read
from cellwright.runs.goal.goal import Goal
from cellwright.runs.views.research_view import ResearchView, read_research
from tests.models.testbed import ModelTestbed
from tests.runs import research_script as script
from tests.runs.factory import Factory, Kernels, open_factory


def goal(factory: Factory, documents: Path, **more: Any) -> Goal:
    given: dict[str, Any] = {"wants": "research", "sources": (str(documents),), "approve": "never"}
    return factory.goal(script.QUESTION, notebook="norwell.py", **(given | more))


async def research(factory: Factory, run: str = "r") -> ResearchView:
    return await read_research(factory.runs.records.log.read_all, run)


async def test_a_research_cites_tells_contradictions_and_follows_no_document(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        script.script_research(testbed.provider)
        delivery = await factory.deliver(goal(factory, script.write_documents(tmp_path / "documents", 3)))
        assert (delivery.why, delivery.status) == ("", "done")
        assert "41.2 million euros [1] or 57.9 million euros [2]" in delivery.answer
        found = await research(factory)
        assert {card.id for card in found.cards} == {script.TRUE_CARD, script.FALSE_CARD, script.STAFF_CARD}
        assert found.report is not None
        assert [set(each.cards) for each in found.report.contradictions] == [{script.TRUE_CARD, script.FALSE_CARD}]
        assert "bankrupt" not in (text := Path(delivery.text).read_text())
        assert "Where the sources contradict each other" in text
        assert script.REVENUE in text
        names = {cell.name for cell in read(project / "norwell.py").document.cells}
        assert {"research_title", "research_section_1", "research_contradictions", "research_bibliography"} <= names
        # Planners and writers see cards; a document is read by readers alone.
        assert [prompt for prompt in factory.prompts() if "It rose by 3 percent" in prompt] == []
