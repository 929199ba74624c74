"""Sections of a research: edits that fit, and what its agents may hand in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import marimo as mo
from markdown_it import MarkdownIt

from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell
from cellwright.runs.research.handed_in import SectionText, TextEdit
from cellwright.runs.research.notebook import research_edits
from cellwright.runs.research.report import ResearchReport, markdown_of, numbered
from cellwright.runs.research.steps import edited_sections, editor_tool, parse_edited, parse_outline, section_tool
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.contradictions import DismissedContradiction
from cellwright.tools.evidence.library import EvidenceSource
from cellwright.tools.tool import CallContext, Done, ToolCall, ToolError, ToolResult

HOSTILE = '<script>alert(1)</script> ![x](http://evil.example/x.png) $5 """ \\'
FORGED = "\\[a\\] \\\\(b\\) [x]\\(http://x.example) [1]\n\n[1]: http://x.example"
CARD = EvidenceCard(
    id="c1111111", source="s" * 64, name="a b.pdf", page=3, start=0, end=9, quote=HOSTILE, says="So.", path="/d/a b.pdf"
)
CARDS = {CARD.id: CARD}
SOURCES = (EvidenceSource(id="d1", sha256="s" * 64, name="a b.pdf", kind="pdf"),)
SECTIONS = (
    SectionText(title="One", text="It fell [c1111111].", cards=("c1111111",)),
    SectionText(title="Two", text=f"Nothing <b>else</b> {HOSTILE} {FORGED}", cards=()),
)
REPORT = ResearchReport(question="Why?", title="Why", summary="It fell [c1111111].", sections=SECTIONS)


async def hand_in(text: str, cards: tuple[str, ...], *, complains: str = "", times: int = 1) -> ToolResult:
    made, result = section_tool(cards, lambda _, __: complains), None
    nowhere: Any = None
    for _ in range(times):
        call = ToolCall(id="s1c1", name="finish", arguments={})
        result = await made.run(made.parse({"text": text}), CallContext(call=call, flow=nowhere))
    assert result is not None
    return result


async def test_a_section_cites_its_own_cards_alone() -> None:
    refused = await hand_in("It fell [c2222222].", ("c1111111",))
    assert isinstance(refused, ToolError)
    assert refused.message == "There is no card c2222222."
    assert isinstance(await hand_in("It fell [c1111111].", ("c1111111",)), Done)


async def test_what_quotes_do_not_show_is_told_once() -> None:
    told = await hand_in("It fell by 5.", (), complains="5 stands in no quote.")
    assert isinstance(told, ToolError)
    assert isinstance(await hand_in("It fell by 5.", (), complains="5 stands in no quote.", times=2), Done)


def test_an_edit_that_does_not_fit_changes_nothing() -> None:
    edits = (TextEdit(section=1, old="fell", new="rose"), TextEdit(section=2, old="not there", new=""))
    assert [each.text for each in edited_sections(SECTIONS, edits)] == ["It rose [c1111111].", SECTIONS[1].text]


def test_without_an_outline_each_sub_goal_is_a_section() -> None:
    assert [each.cards for each in parse_outline(None, "Why", [CARD]).sections] == [("c1111111",)]


def test_what_documents_and_models_say_is_text_in_the_notebook_and_links_lead_to_the_page() -> None:
    text = markdown_of(REPORT, CARDS, SOURCES, "/d/work")
    assert "<script" not in text
    assert "![x](" not in text
    assert "[p. 3](../a%20b.pdf#page=3)" in text
    edits = research_edits(Document.new(options={}), REPORT, CARDS, SOURCES, "/d/work")
    code = [each.code for each in edits if isinstance(each, CreateCell)]
    for each in code:
        compile(each, "cell", "exec")
    assert "research_texts = [research_title_text, research_section_1_text, research_section_2_text]" in code
    for reads in (mo.md, MarkdownIt("commonmark").render):
        html = str(getattr(reads(text), "text", reads(text)))
        assert '<a href="#evidence-1">[1]</a>' in html
        # marimo links a bare address to itself, and nothing else to it.
        assert ("marimo-tex" in html, "<img" in html, 'x.example">x<' in html, 'x.example">[1]' in html) == (False,) * 4
    assert numbered(REPORT, CARDS) == {"c1111111": 1}


async def test_an_editor_dismisses_what_is_no_contradiction_and_its_reason_is_kept() -> None:
    made = editor_tool(SECTIONS, {"c1111111", "c2222222"}, lambda _, __: "")
    nowhere: Any = None
    none = {"cards": ["c1111111", "c2222222"], "why": "Other years."}
    arguments = made.parse({"title": "Why", "summary": "It fell [c1111111].", "dismissed": [none]})
    done = await made.run(arguments, CallContext(call=ToolCall(id="s1c1", name="finish", arguments={}), flow=nowhere))
    assert isinstance(done, Done)
    value: Any = done.value
    [dismissed] = parse_edited(value["handed"]).dismissed
    assert dismissed == DismissedContradiction(cards=("c1111111", "c2222222"), by="editor", why="Other years.")
    assert "says the editor: Other years." in markdown_of(replace(REPORT, dismissed=(dismissed,)), CARDS, SOURCES, "/d")
