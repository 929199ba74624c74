"""A catalogue in a prompt: what the question needs, within its tokens, with nothing that could be taken for more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from bench.shop_catalogue import QUESTIONS, large_catalogue, shop_catalogue
from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable, ForeignKey
from cellwright.data.catalogue_text import catalogue_text
from cellwright.data.masked_columns import mark_masked
from cellwright.data.table_choice import TableIndex
from cellwright.notebook.prompt_summary import estimate_tokens

SMALL = Catalogue(
    server="PostgreSQL 18.4",
    default_schema="public",
    tables=(
        CatalogueTable(
            schema="public",
            name="orders",
            columns=(
                CatalogueColumn(name="id", type="bigint", is_key=True),
                CatalogueColumn(name="customer_id", type="bigint", comment="who bought"),
                CatalogueColumn(name="status", type="text", samples=("paid", "shipped", "lost", "void")),
            ),
            foreign_keys=(ForeignKey(columns=("customer_id",), table="crm.customers", target=("id",)),),
            rows=41_000,
            comment="One row per order",
        ),
        CatalogueTable(
            schema="crm",
            name="customers",
            kind="view",
            columns=(
                CatalogueColumn(name="id", type="bigint"),
                CatalogueColumn(name="E Mail", type="text", samples=("a@b.c",)),
            ),
            rows=None,
        ),
    ),
)


def test_the_best_tables_are_told_in_full() -> None:
    masked = mark_masked(SMALL, ("customers.e mail",))
    assert catalogue_text(masked, "How many orders were 'shipped'?", connection="shop") == snapshot("""\
Connection shop, PostgreSQL 18.4: 2 tables, likeliest first.
In SQL write names in full, as in FROM public.orders: marimo takes a bare name for a Python variable.
Named in the question: public.orders.status has 'shipped'.
public.orders: about 41,000 rows; One row per order
  id bigint key, customer_id bigint [who bought], status text ('paid', 'shipped', 'lost', …)
  joins: orders.customer_id → crm.customers.id
crm.customers: view, rows not counted
  id bigint, "E Mail" text (masked: its values cannot be seen)\
""")


@pytest.mark.parametrize("catalogue", [shop_catalogue(), large_catalogue()], ids=["60 tables", "900 tables"])
def test_eight_tables_are_told_in_full_and_about_forty_in_all(catalogue: Catalogue) -> None:
    with TableIndex(catalogue) as index:
        texts = [catalogue_text(catalogue, question, connection="shop", index=index) for question, _ in QUESTIONS]
    for text in texts:
        assert estimate_tokens(text) <= 1600
        assert text.count(": about ") == 8
        last = text.splitlines()[-1]
        assert last.endswith(" more tables in shop: the tool `schema` finds them by other words.")
        assert 36 <= len(catalogue.tables) - int(last.split()[1]) <= 40


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [0, 30, 100, 300, 800, 5_000])
def test_it_is_never_longer_than_allowed(tokens: int) -> None:
    assert estimate_tokens(catalogue_text(large_catalogue(), "orders", connection="shop", most_tokens=tokens)) <= tokens


def test_a_table_of_a_thousand_columns_leaves_room_for_others() -> None:
    wide = CatalogueTable(
        schema="s", name="wide", columns=tuple(CatalogueColumn(name=f"c{n}", type="int") for n in range(1_000))
    )
    text = catalogue_text(replace(SMALL, tables=(wide, *SMALL.tables)), "wide orders", connection="shop")
    assert "c39 int, and 960 more" in text
    assert "public.orders: about 41,000 rows" in text


@given(st.text(min_size=1, max_size=300), st.text(max_size=300))
def test_no_name_comment_or_sample_ends_a_line_or_a_fence(name: str, words: str) -> None:
    column = CatalogueColumn(name=name, type=words, comment=words, samples=(words,))
    key = ForeignKey(columns=(name,), table=f"{name}.{name}", target=(name,))
    table = CatalogueTable(schema=name, name=name, columns=(column,), comment=words, foreign_keys=(key,))
    hostile = Catalogue(tables=(table,), server=words)
    text = catalogue_text(hostile, "Which?", connection="shop", most_tokens=5_000)
    assert len(text.splitlines()) == 5
    assert not {"`", "<", ">"} & set(text)


def test_joins_by_equal_names_are_told_with_how_many_rows_stand_for_one_and_tables_of_one_shape_in_one_line() -> None:
    def table(name: str, rows: int, *columns: str) -> CatalogueTable:
        made = [CatalogueColumn(name=each, type="int", is_key=at == 0) for at, each in enumerate(columns)]
        return CatalogueTable(schema="s", name=name, rows=rows, columns=tuple(made))

    tables = [table("orders", 1000, "order_id"), table("shipments", 3000, "shipment_id", "order_id")]
    tables += [table(f"filler{at}", 0, f"filler{at}_id", "note") for at in range(20)]
    text = catalogue_text(Catalogue(tables=tuple(tables)), "orders and their shipments", connection="shop")
    assert "joins: shipments.order_id → orders.order_id (about 3 rows for one)" in text
    assert "each with its key, note: s.filler" in text
    assert len(text.splitlines()) < 25
