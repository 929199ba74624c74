"""What documents say is found by its words, with its place."""

from __future__ import annotations

from cellwright.documents.document import Document, Page
from cellwright.documents.document_index import DocumentIndex, passages


def document(name: str, *pages: str) -> Document:
    numbered = tuple(Page(number=number, text=text) for number, text in enumerate(pages, 1))
    return Document(name=name, sha256=name * 8, kind="text", title="", pages=numbered)


HENS = document(
    "hens.txt", "The farm keeps hens and geese.", "Eggs were sold in Zürich for 40 francs.\n\n" + "filler " * 400
)
SHIPS = document("ships.txt", "Ships sail. " * 300 + "The captain was called Ahab.")


def test_a_passage_is_found_with_its_document_page_and_characters() -> None:
    with DocumentIndex() as index:
        index.add([HENS, SHIPS])
        (first, *_) = index.find("Who sold EGGS in zurich?")
        captain = index.find("captain", k=1)[0]
    assert (first.name, first.page, first.start) == ("hens.txt", 2, 0)
    assert HENS.pages[1].text[first.start : first.end] == first.text
    assert SHIPS.pages[0].text[captain.start : captain.end] == captain.text
    assert "Ahab" in captain.text


def test_no_query_breaks_the_index_and_k_is_the_most() -> None:
    with DocumentIndex() as index:
        index.add([HENS, SHIPS])
        assert index.find('" OR (((NEAR/ text: * ^ -') == ()
        assert index.find("") == ()
        assert len(index.find("sail filler", k=2)) == 2


def test_passages_are_the_whole_document() -> None:
    for one in (HENS, SHIPS):
        parts = list(passages(one))
        assert ["".join(p.text for p in parts if p.page == page.number) for page in one.pages] == [
            page.text for page in one.pages
        ]
