"""Joins in a notebook's code, and what shows that one counts rows twice or loses them."""

from __future__ import annotations

import pandas as pd
import pytest

from cellwright.ids import CellId
from cellwright.notebook.document import Cell, Document
from cellwright.runs.review.merge_calls import merge_calls, merge_findings


def _document(*codes: str) -> Document:
    return Document(
        cells=tuple(Cell(id=CellId(f"c{at}"), code=code, name=f"cell{at}") for at, code in enumerate(codes))
    )


def _failing(document: Document, **names: object) -> list[str]:
    failing: list[str] = []
    for finding in merge_findings(document):
        try:
            exec(finding.shows, dict(names))
        except AssertionError:
            failing.append(finding.kind)
    return failing


@pytest.mark.parametrize(
    "code",
    [
        'joined = stock.merge(prices, on="article")',
        'joined = pd.merge(stock, prices, how="left", left_on="article", right_on="article")',
        'total = (stock.merge(prices, on=["article"])["pieces"]).sum()',
    ],
)
def test_a_join_in_which_both_sides_repeat_their_keys_is_shown(code: str) -> None:
    stock = pd.DataFrame({"article": ["a", "a", "b"], "pieces": [1, 2, 3]})
    prices = pd.DataFrame({"article": ["a", "a", "b"], "price": [4, 5, 6]})
    assert _failing(_document(code), stock=stock, prices=prices) == ["many-to-many"]
    assert _failing(_document(code), stock=stock, prices=prices.drop_duplicates("article")) == []


def test_keys_that_differ_only_in_how_they_are_written_are_shown_as_lost() -> None:
    sales = pd.DataFrame({"store": ["80", "81"], "revenue": [1, 2]})
    stores = pd.DataFrame({"store": ["0080", "0081"], "region": ["N", "S"]})
    code = 'joined = sales.merge(stores, on="store")'
    assert _failing(_document(code), sales=sales, stores=stores) == ["lost-rows"]
    numbers = {"sales": sales.astype({"store": int}), "stores": stores.astype({"store": int})}
    assert _failing(_document(code), **numbers) == []
    others = pd.DataFrame({"store": ["90"], "region": ["N"]})
    assert _failing(_document(code), sales=sales, stores=others) == []


def test_only_joins_are_looked_at_whose_sides_the_notebook_can_give_again() -> None:
    document = _document(
        "def join(left):\n    return left.merge(prices, on='article')",
        "_stock = pd.read_csv(path)\njoined = _stock.merge(prices, on='article')",
        "all = [one.merge(prices, on='article') for one in parts]",
        "crossed = a.merge(b, how='cross')",
        "safe = a.merge(b, on='k', validate='many_to_one')",
    )
    (only,) = merge_calls(document)
    assert (only.cell, only.left, only.right, only.is_validated) == ("cell4", "a", "b", True)
    assert [finding.kind for finding in merge_findings(document)] == ["lost-rows"]
