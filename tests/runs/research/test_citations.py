"""A figure that stands in no cited quote is named; what code cannot tell is a judge's to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cellwright.runs.research.citations import (
    caveats_of,
    check_sentences,
    check_title,
    complaint,
    judge_text,
    share_that_holds,
    to_judge,
    with_verdicts,
    with_verdicts_before,
)
from cellwright.runs.research.handed_in import CitationVerdict, SectionText
from cellwright.runs.research.report import ResearchReport, check_report
from cellwright.tools.evidence.card import EvidenceCard

QUOTE = "Revenue of Norwell Mills in 2023 was 41.2 million euros."
CARDS = {
    "c1111111": EvidenceCard(
        id="c1111111",
        source="s",
        name="annual.1.2.md",
        page=3,
        start=0,
        end=9,
        quote=QUOTE,
        says="Revenue was 41.2 million.",
    )
}


@pytest.mark.parametrize(
    ("text", "standing", "missing"),
    [
        ("Revenue fell to 39.8 million in 2023 [c1111111].", "uncited figure", ("39.8",)),
        ("Revenue was 41.2 million euros in 2023.", "uncited figure", ("41.2", "2023")),
        ("Revenue fell [c2222222].", "unknown card", ("c2222222",)),
        (f"{QUOTE[:-1]} [c1111111].", "holds", ()),
        ("In 2023 Norwell took in 41.2 million [c1111111].", "unjudged", ()),
        ("In 2023 Acme of Norwell took in 41.2 million [c1111111].", "unjudged", ("Acme",)),
        ("It went well.", "uncited", ()),
        ("As annual.1.2 has it, Norwell took in 41.2 million [c1111111].", "unjudged", ()),
        ("By version 1.2 Norwell took in 41.2 million [c1111111].", "unjudged", ()),
        ("By version 1.0 Norwell took in 41.2 million [c1111111].", "unjudged", ("1.0",)),
        ("What changed between 1.0 and 1.2 is not shown.", "uncited figure", ("1.0",)),
    ],
)
def test_each_sentence_stands_as_its_quotes_have_it(text: str, standing: str, missing: tuple[str, ...]) -> None:
    [found] = check_sentences("Revenue", text, CARDS)
    assert (found.standing, found.missing) == (standing, missing)


def test_a_figure_without_a_quote_is_a_caveat_and_its_writer_is_told() -> None:
    text = "Revenue fell to 39.8 million in 2023 [c1111111]."
    told = "39.8 stands in no quote that is cited: “Revenue fell to 39.8 million in 2023.”"
    assert caveats_of(check_sentences("Revenue", text, CARDS)) == (told,)
    assert told in complaint(text, CARDS, "")
    assert complaint("In 2023 Norwell took in 41.2 million [c1111111].", CARDS, "") == ""


def test_a_judge_sees_sentence_and_quotes_alone_and_its_no_is_a_caveat() -> None:
    text = "In 2023 Norwell took in 41.2 million [c1111111]. In 2023 Norwell grew to 41.2 million [c1111111]."
    sentences = check_sentences("Revenue", text, CARDS)
    assert judge_text(sentences, to_judge(sentences), CARDS).splitlines() == [
        "Quotes:",
        f"c1111111: annual.1.2.md: “{QUOTE}”",
        "",
        "Sentences:",
        "1. In 2023 Norwell took in 41.2 million. (c1111111)",
        "   before it: In 2023 Norwell took in 41.2 million.",
        "2. In 2023 Norwell grew to 41.2 million. (c1111111)",
    ]
    verdicts = [
        CitationVerdict(number=1, verdict="supported"),
        CitationVerdict(number=2, verdict="unsupported", why="Nothing says that it grew."),
    ]
    judged = with_verdicts(sentences, verdicts)
    assert caveats_of(judged) == (
        "A judge found its quotes not to show it (Nothing says that it grew): “In 2023 Norwell grew to 41.2 million.”",
    )
    assert share_that_holds(judged) == "Of 2 cited sentences 0 are a quote's own words, 1 were confirmed by a judge."


def test_a_figure_that_an_editor_invents_in_a_title_is_told_and_is_no_source_for_sentences() -> None:
    section = SectionText(title="2. Staff of 777", text="It employed 999 people [c1111111].", cards=("c1111111",))
    report = ResearchReport(
        question="How did the 41 mills do in 2022?",
        title="Norwell Mills lost 999 million in 2022 and took in 41.2 million",
        summary="Norwell lost 999 million [c1111111].",
        sections=(section,),
    )
    found = [(each.section, each.standing, each.missing) for each in check_report(report, CARDS)]
    assert found == [
        ("title", "uncited figure", ("999",)),
        ("summary", "uncited figure", ("999",)),
        ("2. Staff of 777", "uncited figure", ("777",)),
        ("2. Staff of 777", "uncited figure", ("999",)),
    ]
    told = caveats_of(check_report(report, CARDS))
    assert "777 stands in no quote that is cited: “Staff of 777”" in told


def test_a_title_has_figures_of_what_stands_under_it_alone_and_its_editor_is_told() -> None:
    assert check_title("title", "41.2 million in 2023", QUOTE, CARDS) != ()
    assert check_title("title", "41.2 million in 2023", f"{QUOTE[:-1]} [c1111111].", CARDS) == ()
    assert check_title("title", "How the mills of 1999 did", "", CARDS, given="What of 1999?") == ()
    titles = check_title("title", "A loss of 999 million", "", CARDS)
    assert "999 stands in no quote that is cited: “A loss of 999 million”" in complaint(QUOTE, CARDS, QUOTE, titles)


def test_a_writer_is_not_told_of_names_that_titles_or_other_cards_have() -> None:
    other = replace(CARDS["c1111111"], id="c3333333", quote="The Board agreed.", title="Acme Manual")
    cards = {**CARDS, other.id: other}
    assert complaint("In 2023 the Board took in 41.2 million, says the Manual [c1111111].", cards, "") == ""
    [found] = check_sentences("", "In 2023 the Board took in 41.2 million [c1111111].", cards)
    assert found.missing == ("Board",)
    many = "".join(f"They sold {number} of them [c1111111].\n" for number in range(50, 70))
    assert complaint(many, cards, "").endswith("… and 8 more.")


def test_a_sentence_that_stands_as_it_stood_keeps_its_verdict_and_what_is_new_is_judged() -> None:
    old = check_sentences("One", "Norwell took in 41.2 million [c1111111]. By then it grew [c1111111].", CARDS)
    verdicts = [CitationVerdict(number=1, verdict="supported"), CitationVerdict(number=2, verdict="unsupported")]
    judged = with_verdicts(old, verdicts)
    same = check_sentences("One", "Norwell took in 41.2 million [c1111111]. By then it grew [c1111111].", CARDS)
    assert [each.standing for each in with_verdicts_before(same, judged)] == ["judged", "unsupported"]
    # What stands before it says what it means.
    new = check_sentences("One", "It is old [c1111111]. By then it grew [c1111111].", CARDS)
    assert [each.standing for each in with_verdicts_before(new, judged)] == ["unjudged", "unjudged"]
