"""A research over HTTP: its documents, evidence and text; a card that is not there, and a goal that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright.agents.events import EvidenceNoted
from cellwright.data.connections import DataConnection, store_connection
from cellwright.journal.names import stream_of
from cellwright.runs.events import CardRejected, ResearchRead, ResearchWritten
from cellwright.runs.research.handed_in import SectionText
from cellwright.runs.research.report import ResearchReport
from cellwright.server.http.routes.runs import goal_of_request
from cellwright.server.http.schemas.runs import NewRun, ResearchBody
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.library import EvidenceSource, LibraryContents
from tests.server.http.a_served_folder import serve, tiny_runs
from tests.server.http.test_runs_api import begin

CARD = EvidenceCard(
    id="c1234567", source="s", name="eggs.md", page=2, start=4, end=16, quote="Twelve eggs.", says="There are 12."
)
REPORT = ResearchReport(
    question="How many?", title="Eggs", summary="12 [c1234567].", sections=(SectionText(title="a", text="b", cards=()),)
)


async def test_evidence_and_text_are_read_as_far_as_they_are_told(tmp_path: Path, template: Path) -> None:
    async with tiny_runs(tmp_path, template) as tiny, serve(tmp_path / "folder", *tiny) as served:
        await begin(served, "r", "How many eggs?")
        contents = LibraryContents(sources=(EvidenceSource(id="d1", sha256="s", name="eggs.md", kind="markdown"),))
        told = (ResearchRead(contents=contents), EvidenceNoted(card=CARD), ResearchWritten(report=REPORT))
        await served.testbed.live.records.log.append(stream_of("r"), *told, CardRejected(card=CARD.id, by="ann"))
        found = await served.get("/runs/r/research")
        assert [each["name"] for each in found["sources"]] == ["eggs.md"]
        assert [(each["id"], each["quote"], each["page"]) for each in found["cards"]] == [
            ("c1234567", "Twelve eggs.", 2)
        ]
        assert (found["rejected"], found["report"]["title"]) == (["c1234567"], "Eggs")


@pytest.mark.parametrize(("uses_web", "sources"), [(False, 1), (True, 0)])
def test_a_goal_that_asks_for_a_research_is_one(tmp_path: Path, uses_web: bool, sources: int) -> None:
    (tmp_path / "eggs.md").write_text("Twelve eggs.")
    asked = NewRun(goal="How many eggs?", research=ResearchBody(uses_web=uses_web, form="brief"))
    goal = goal_of_request(asked, tmp_path, "ann", (), {})
    assert (goal.wants, goal.form, goal.uses_web, len(goal.sources)) == ("research", "brief", uses_web, sources)


async def test_an_engine_behind_a_connection_is_found_without_naming_the_connection_twice(
    tmp_path: Path, template: Path
) -> None:
    async with tiny_runs(tmp_path, template) as tiny, serve(tmp_path / "folder", *tiny) as served:
        settings, _ = tiny
        options = {"url": "https://api.search.example"}
        store_connection(settings.home, DataConnection(name="engine", kind="api", options=options))
        asked = {"goal": "How many eggs?", "research": {"uses_web": True, "search": "tavily:engine"}}
        begun = await served.post("/runs", asked, status=201)
        assert (await served.testbed.live.records.status(begun["run"])).run == begun["run"]
        refused = await served.post("/runs", asked | {"research": {"search": "tavily:other"}}, status=400)
        assert "No connection is called 'other'" in str(refused)
