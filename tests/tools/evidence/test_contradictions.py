"""Cards that cannot all be right are told together; what is dated otherwise is no contradiction."""

from dataclasses import replace

import pytest

from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.contradictions import DismissedContradiction, contradictions_in, without


def card(id: str, says: str, about: str = "", source: str = "") -> EvidenceCard:
    return EvidenceCard(
        id=id, source=source or id, name=f"{id}.md", page=1, start=0, end=1, quote=says, says=says, about=about
    )


def test_two_sources_with_other_figures_for_one_thing_contradict_each_other() -> None:
    cards = [
        card("c1", "Revenue in 2023 was 41.2 million.", "revenue of Norwell 2023"),
        card("c2", "In 2023 it took in 57.9 million.", "revenue of Norwell 2023"),
        card("c3", "Turnover 41.2 million in 2023.", "revenue of Norwell 2023"),
        card("c4", "It employed 312 people.", "staff of Norwell 2023"),
    ]
    [found] = contradictions_in(cards)
    assert (set(found.cards), found.about) == ({"c1", "c2", "c3"}, "revenue of Norwell 2023")


def test_the_same_figure_another_year_or_one_source_is_no_contradiction() -> None:
    cards = [
        card("c1", "Revenue in 2023 was 41.2 million.", "revenue of Norwell 2023"),
        card("c2", "Revenue in 2022 was 40.0 million.", "revenue of Norwell 2022"),
        card("c3", "In 2023 revenue was 41,200,000.", "revenue of Norwell 2023"),
        card("c4", "Revenue of the group in 2023 was 90 million.", "revenue of Norwell 2023", source="c1"),
    ]
    assert [set(each.cards) for each in contradictions_in(cards)] == [{"c3", "c4"}]


def test_where_a_year_is_all_that_is_told_years_contradict() -> None:
    cards = [card("c1", "Norwell was founded in 1911."), card("c2", "Norwell was founded in 1912.")]
    assert len(contradictions_in(cards)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("It begins nine weeks before.", "start of the election"),
            ("Polling is three weeks.", "polling period of the election"),
        ),
        (("It rose by 3 percent.", "revenue of Norwell"), ("It was 41 million euros.", "revenue of Norwell")),
        (("They override it with a 2:1 majority.", "majority"), ("Version 1.9 needs a 2:1 majority.", "majority")),
        (("Section 4 says it.", "revenue"), ("Section 5 says it.", "revenue")),
    ],
)
def test_another_thing_another_kind_of_figure_or_a_label_is_no_contradiction(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert contradictions_in([card("c1", *one), card("c2", *other)]) == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("law.1.3.txt", "law.txt"), 0),
        (("annual-2022.pdf", "annual-2023.pdf"), 0),
        (("rules v1.md", "rules v2.md"), 0),
        (("scan001.pdf", "scan002.pdf"), 1),
        (("annual.md", "press.md"), 1),
    ],
)
def test_versions_of_one_document_are_other_times(names: tuple[str, str], expected: int) -> None:
    cards = [
        replace(card("c1", "It takes nine weeks.", "length of the election"), name=names[0]),
        replace(card("c2", "It takes six weeks.", "length of the election"), name=names[1]),
    ]
    assert len(contradictions_in(cards)) == expected


def test_a_contradiction_that_somebody_dismissed_is_none_until_a_card_more_is_part_of_it() -> None:
    cards = [card(f"c{number}", f"It employed {number}00 people.", "staff of Norwell") for number in range(1, 4)]
    none = DismissedContradiction(cards=("c1", "c2"), by="editor", why="Other plants.")
    assert without(contradictions_in(cards[:2]), [none]) == ()
    assert len(without(contradictions_in(cards), [none])) == 1
