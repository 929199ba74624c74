"""`cellwright runs cards|reject-card`: cards by id and number, of runs that continue each other the newest."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio.to_thread
import pytest

from cellwright.agents.events import EvidenceNoted
from cellwright.journal.journal import Journal
from cellwright.journal.names import stream_of
from cellwright.runs.events import CardRejected, ResearchWritten
from cellwright.runs.goal.goal import goal_json
from cellwright.runs.research.handed_in import SectionText
from cellwright.runs.research.report import ResearchReport
from cellwright.runs.views.research_view import newest_research
from cellwright.tools.evidence.card import EvidenceCard
from tests.cli.in_process import Said, run_here
from tests.cli.told_runs import a_goal, has_ended, open_told, started

CARDS = [
    EvidenceCard(id=f"c111111{number}", source="s", name="a.md", page=1, start=0, end=9, quote="It fell.", says=says)
    for number, says in enumerate(["It rose.", "It fell."])
]
REPORT = ResearchReport(
    question="Why?", title="Why", summary="It fell [c1111111].", sections=(SectionText(title="a", text="b", cards=()),)
)


async def a_research(journal: Journal, run: str, continues: str = "", *events: CardRejected) -> None:
    goal = a_goal("Why?", wants="research", continues=continues)
    await journal.run("run", goal_json(goal), run=run)
    await has_ended(journal, run)
    noted = [EvidenceNoted(card=card) for card in CARDS]
    await journal.log.append(stream_of(run), *noted, ResearchWritten(report=REPORT), *events)


@pytest.fixture
async def told(tmp_path: Path) -> AsyncGenerator[Journal]:
    """A research, one that goes on from it without a card, and a run that is none."""
    async with open_told(tmp_path) as journal:
        await a_research(journal, "first")
        await a_research(journal, "again", "first", CardRejected(card="c1111111", by="ada"))
        await started(journal, "other")
        await has_ended(journal, "other")
        yield journal


async def runs(home: Path, *words: str, code: int = 0) -> Said:
    return await anyio.to_thread.run_sync(lambda: run_here(home, "runs", *words, code=code))


async def test_cards_are_listed_with_the_number_under_which_they_are_cited(told: Journal, tmp_path: Path) -> None:
    said = (await runs(tmp_path, "cards", "again")).stdout
    assert said.splitlines()[::2] == ["c1111110  It rose.", "c1111111 [1] (rejected)  It fell."]
    assert json.loads((await runs(tmp_path, "cards", "first", "--json")).stdout)["numbers"] == {"c1111111": 1}


async def test_the_newest_of_runs_that_continue_each_other_is_asked_and_a_number_names_a_card(
    told: Journal, tmp_path: Path
) -> None:
    assert await newest_research(told.records, "first") == "again"
    assert await newest_research(told.records, "again") == "again"
    said = (await runs(tmp_path, "reject-card", "first", "[1]")).stderr
    assert "The card c1111111 (“It fell.”) is left out already: nothing is done." in said
    assert "again, which goes on from first, is the newest." in said


async def test_a_wrong_card_and_a_run_that_is_no_research_are_said(told: Journal, tmp_path: Path) -> None:
    said = (await runs(tmp_path, "reject-card", "first", "27", code=2)).stderr
    assert "No card '27' in this run." in said
    assert "`cellwright runs cards first` lists them." in said
    for command in (["cards", "other"], ["reject-card", "other", "c1111111"]):
        assert "The run 'other' is no research." in (await runs(tmp_path, *command, code=2)).stderr
