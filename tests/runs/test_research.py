"""A research reads documents, keeps quotes as cards, and writes nothing that its cards do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
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
        text = await anyio.Path(delivery.text).read_text()
        assert "bankrupt" not in text
        assert "Where the sources contradict each other" in text
        assert script.REVENUE in text
        names = {cell.name for cell in read(project / "norwell.py").document.cells}
        assert {"research_title", "research_section_1", "research_contradictions", "research_bibliography"} <= names
        # Planners and writers see cards; a document is read by readers alone.
        assert [prompt for prompt in factory.prompts() if "It rose by 3 percent" in prompt] == []


@pytest.mark.slow
async def test_a_rejected_card_is_left_out_and_only_what_used_it_is_written_again(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        script.script_research(testbed.provider)
        await factory.deliver(goal(factory, script.write_documents(tmp_path / "documents")))
        asked = len(testbed.provider.requests)
        text = f"The annual report gives revenue of 41.2 million euros for 2023 [{script.TRUE_CARD}]."
        testbed.provider.when(script.WRITER, script.finish(text=text))
        testbed.provider.when(script.EDITOR, script.finish(title="Norwell Mills", summary=text))
        again = await factory.runs.reject_card("r", script.FALSE_CARD, person="ada")
        assert again != "r"
        delivery = await factory.delivery(again)
        assert (delivery.why, delivery.status) == ("", "done")
        # One section and the editor: nothing was read or planned again.
        asked_for = [str(request.body["messages"])[:90] for request in testbed.provider.requests[asked:]]
        assert len(asked_for) == 2, asked_for
        assert "the section as it was" in str(testbed.provider.requests[asked].body["messages"])
        found = await research(factory, again)
        assert found.rejected == (script.FALSE_CARD,)
        assert found.report is not None
        assert [each.text for each in found.report.sections] == [text, script.SECTIONS[1]]
        assert (script.WRONG in factory.notebook("norwell.py"), found.report.contradictions) == (False, ())


@pytest.mark.slow
async def test_a_figure_that_no_quote_has_is_told_to_its_writer_and_then_to_the_reader(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        wrong = f"It employed 321 people at the end of 2023 [{script.STAFF_CARD}]."
        script.script_research(testbed.provider, sections=(script.SECTIONS[0], wrong), is_judged=True)
        documents = script.write_documents(tmp_path / "documents")
        delivery = await factory.deliver(goal(factory, documents, effort="normal"))
        assert delivery.status == "done"
        assert "321 stands in no quote that is cited: “It employed 321 people at the end of 2023.”" in delivery.caveats
        told = [prompt for prompt in factory.prompts() if "321 stands in no quote" in prompt]
        assert len(told) == 1
        # Planned once more, and judged.
        assert sum("You plan what readers look for" in prompt for prompt in factory.prompts()) == 2
        assert sum("You judge whether sentences" in prompt for prompt in factory.prompts()) == 1


@pytest.mark.slow
async def test_forty_documents_with_traps_are_read_and_cited(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        script.script_research(testbed.provider)
        documents = script.write_documents(tmp_path / "documents", 37)
        (documents / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
        delivery = await factory.deliver(goal(factory, documents))
        assert (delivery.why, delivery.status) == ("", "done")
        found = await research(factory)
        assert len(found.contents.sources) == 40
        assert [each.split(":")[0] for each in found.contents.skipped] == ["broken.pdf"]
        assert any(each.startswith("Not read: broken.pdf") for each in delivery.caveats)
        assert found.report is not None
        assert found.report.contradictions
        assert "bankrupt" not in factory.notebook("norwell.py")
