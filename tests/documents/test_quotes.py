"""A quote stands in a text word for word, or it does not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cellwright.documents.document import Document, Page
from cellwright.documents.quotes import QuotePlace, find_quote, is_quoted

TEXT = "The well-\nknown  exam\u00adple of 15.000 EUR,\n-200 “kg” and\na ﬁne co-\noperation of 3–5 in AB-12."


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("The well-known example", "The well-\nknown  exam\u00adple"),
        ("wellknown example", "well-\nknown  exam\u00adple"),
        ("15.000 EUR, -200", "15.000 EUR,\n-200"),
        ('-200 "kg"', "-200 “kg”"),
        ("a fine cooperation of 3-5", "a ﬁne co-\noperation of 3–5"),
        ("  AB-12.  ", "AB-12."),
    ],
)
def test_blanks_hyphens_of_lines_and_kinds_of_marks_do_not_count(quote: str, stands: str) -> None:
    place = is_quoted(TEXT, quote)
    assert place is not None
    assert TEXT[slice(*place)] == stands


@pytest.mark.parametrize(
    "quote",
    [
        "the well-known example",  # another letter
        "known example of 15.000 USD",
        "5.000 EUR",  # the end of a larger number
        "000 EUR",
        "15",  # the beginning of one
        "200",  # without its sign
        "exam",  # half a word
        "The well",
        "The … example",
        "AB12",
        "",
        "“”",
        "x" * 5_000,
    ],
)
def test_what_does_not_stand_there_as_whole_words_is_no_quote(quote: str) -> None:
    assert is_quoted(TEXT, quote) is None


@given(st.text(max_size=200), st.text(max_size=40))
def test_a_place_is_always_within_the_text(text: str, quote: str) -> None:
    place = is_quoted(text, quote)
    assert place is None or 0 <= place[0] < place[1] <= len(text)


@given(st.lists(st.text("abcdef", min_size=1, max_size=9), min_size=3, max_size=30), st.sampled_from([" ", "\n", "  "]))
@example(words=["ba", "ba", "b", "a"], blank=" ")
def test_words_of_a_text_are_found_however_it_is_set(words: list[str], blank: str) -> None:
    assert is_quoted(blank.join(words), " ".join(words[1:-1])) is not None


def test_a_quote_is_looked_for_on_its_page_first() -> None:
    pages = (Page(number=1, text="Total 5 EUR"), Page(number=3, text="again: Total 5 EUR"))
    document = Document(name="a.pdf", sha256="0" * 64, kind="pdf", title="", pages=pages)
    assert find_quote(document, "Total 5 EUR") == QuotePlace(page=1, start=0, end=11)
    assert find_quote(document, "Total 5 EUR", page=3) == QuotePlace(page=3, start=7, end=18)
    assert find_quote(document, "Total 5 EUR", page=9) == QuotePlace(page=1, start=0, end=11)
    assert find_quote(document, "Total 6 EUR") is None
