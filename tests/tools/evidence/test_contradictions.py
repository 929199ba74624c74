"""Cards that cannot all be right are told together; what is dated otherwise is no contradiction."""

from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.contradictions import contradictions_in


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
