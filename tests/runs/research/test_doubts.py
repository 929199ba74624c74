"""Doubtful sentences bear a mark where they stand, and the mark's reason stands among the caveats."""

from __future__ import annotations

from typing import Any

from inline_snapshot import snapshot

from cellwright.runs.research.citations import CheckedSentence, SentenceStanding
from cellwright.runs.research.doubts import MOST_DOUBTS, doubts_of, marked, with_marks
from cellwright.runs.research.handed_in import SectionText
from cellwright.runs.research.report import ResearchReport, markdown_of
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.library import EvidenceSource

CARD = EvidenceCard(
    id="c1111111", source="s" * 64, name="a.txt", page=3, start=0, end=9, quote="It fell.", says="So.", path="/d/a.txt"
)


def sentence(text: str, standing: SentenceStanding, **more: Any) -> CheckedSentence:
    return CheckedSentence(section="One", text=text, standing=standing, **more)


def test_each_doubtful_sentence_is_marked_in_its_place_and_named_with_its_reason() -> None:
    text = "It fell [c1111111]. It may\nrise, too [c1111111].\nNobody knows why.\nIt fell by 9 % [c1111111], then more."
    sentences = (
        sentence("It fell.", "judged", cards=("c1111111",)),
        sentence("It may rise, too.", "unsupported", cards=("c1111111",), why="not said"),
        sentence("Nobody knows why.", "uncited"),
        sentence("It fell by 9 %, then more.", "uncited figure", cards=("c1111111",), missing=("9",)),
    )
    caveats = tuple(each.says for each in sentences if each.says)
    report = ResearchReport(
        question="Why?", title="Why", summary="It fell [c1111111].", caveats=(*caveats, "Not read: b.pdf"),
        sections=(SectionText(title="One", text=text, cards=("c1111111",)),), sentences=sentences, trust="Of 3 …",
    )  # fmt: skip
    sources = (EvidenceSource(id="d1", sha256="s" * 64, name="a.txt", kind="text"),)
    written = markdown_of(report, {CARD.id: CARD}, sources, "/d/work").replace("</sup> ", "</sup>\n")
    assert written == snapshot("""\
# Why

It fell [[1]](#evidence-1).

## One

It fell [[1]](#evidence-1). It may
rise, too [[1]](#evidence-1).<sup>[?1](#doubt-1)</sup>
Nobody knows why.<sup>[?2](#doubt-2)</sup>
It fell by 9 % [[1]](#evidence-1), then more.<sup>[?3](#doubt-3)</sup>

## Caveats

- Not read: b.pdf
- Of 3 …
- <a id="doubt-1"></a>?1 A judge found its quotes not to show it (not said). “It may rise, too.”
- <a id="doubt-2"></a>?2 It cites nothing. “Nobody knows why.”
- <a id="doubt-3"></a>?3 9 stands in no quote that is cited. “It fell by 9 %, then more.”

## Sources

**a.txt** (text, SHA-256 ssssssssssssssss…)

- <a id="evidence-1"></a>[1] [p. 3](../a.txt): “It fell.” (card c1111111)
""")


def test_sentences_that_only_code_has_seen_are_named_where_a_judge_saw_others() -> None:
    unjudged = sentence("It rose.", "unjudged", cards=("c1111111",))
    assert doubts_of([unjudged]) == ()
    [doubt] = doubts_of([unjudged, sentence("It fell.", "judged", cards=("c1111111",))])
    assert doubt.why == "Only its figures and names were checked against its quotes; no judge confirmed it."


def test_marks_are_bounded_and_a_text_cannot_forge_one() -> None:
    many = [sentence(f"Claim {number}.", "uncited") for number in range(MOST_DOUBTS + 5)]
    assert len(doubts_of(many)) == MOST_DOUBTS
    assert with_marks(marked("So \ue0007\ue001 it is.", ())) == "So 7 it is."
