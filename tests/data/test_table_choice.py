"""The tables that a question needs are among those that are chosen for it, of sixty or of nine hundred."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.shop_catalogue import QUESTIONS, large_catalogue, shop_catalogue
from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable
from cellwright.data.table_choice import TableChoice, TableIndex, choose_tables

LARGE = large_catalogue()


def names(choice: TableChoice) -> list[str]:
    return [table.name for table in choice.tables]


@pytest.mark.parametrize("catalogue", [shop_catalogue(), LARGE], ids=["60 tables", "900 tables"])
def test_of_fifty_questions_at_most_two_lack_a_table(catalogue: Catalogue) -> None:
    with TableIndex(catalogue) as index:
        lacking = [
            question for question, needed in QUESTIONS if not set(needed.split()) <= set(names(index.choose(question)))
        ]
    assert len(QUESTIONS) >= 40
    assert len(lacking) <= 2, lacking


@pytest.mark.slow
def test_the_same_question_always_gives_the_same_tables_in_the_same_order() -> None:
    first = [choose_tables(LARGE, question) for question, _ in QUESTIONS[:5]]
    assert [choose_tables(LARGE, question) for question, _ in QUESTIONS[:5]] == first


def test_a_value_that_is_quoted_or_capitalised_leads_to_its_table() -> None:
    choice = choose_tables(LARGE, "What happened to 'too small' in the Black Friday rush?", most=5)
    assert {"return_reasons", "campaigns"} <= set(names(choice))
    assert choice.values == (("public.return_reasons.label", "Too small"), ("public.campaigns.title", "Black Friday"))


def test_what_joins_the_chosen_tables_is_chosen_too() -> None:
    assert "order_items" in names(choose_tables(LARGE, "Which carriers move the tents?"))


def test_a_small_catalogue_is_chosen_whole_and_a_large_one_says_what_is_left_out() -> None:
    few = Catalogue(tables=shop_catalogue().tables[:7])
    assert set(choose_tables(few, "anything").tables) == set(few.tables)
    choice = choose_tables(LARGE, "orders", most=12)
    assert (len(choice.tables), choice.others) == (12, 888)
    assert choose_tables(Catalogue(), "orders") == TableChoice(tables=())


def test_how_many_of_them_fit_is_told_apart_from_those_that_fill_the_room() -> None:
    few = choose_tables(shop_catalogue(), "Which carriers are there?", most=60)
    assert 0 < few.fitting < len(few.tables)
    assert "carriers" in [table.name for table in few.tables[: few.fitting]]
    assert choose_tables(shop_catalogue(), "zzz", most=60).fitting == 0


@given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=40))
def test_any_question_and_any_name_are_borne(question: str, name: str, sample: str) -> None:
    table = CatalogueTable(schema="s", name=name, columns=(CatalogueColumn(name=name, type="t", samples=(sample,)),))
    assert choose_tables(Catalogue(tables=(table,)), question).tables == (table,)
