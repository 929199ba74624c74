"""Readings and parts of one document become one row; what they disagree about is marked."""

from __future__ import annotations

from cellwright.documents.document import Document, Page
from cellwright.runs.extract.outcomes import ExtractedDocument, counted_words
from cellwright.runs.extract.rows import ExtractedRow, SaidValue, checked_row, compared, joined_parts
from cellwright.runs.goal.extraction_order import ExtractedField

FIELDS = (ExtractedField(name="party"), ExtractedField(name="amount", type="number"))
PAGES = (Page(number=1, text="Party: Ada\nTotal 5 EUR"), Page(number=2, text="Party: Bo\nTotal 7 EUR"))
DOCUMENT = Document(name="a.pdf", sha256="0" * 64, kind="pdf", title="", pages=PAGES)


def row(party: str | None, amount: str | None, page: int = 1) -> ExtractedRow:
    said = {
        "party": None if party is None else SaidValue(value=party, quote=f"Party: {party}", page=page),
        "amount": None if amount is None else SaidValue(value=amount, quote=f"Total {amount} EUR", page=page),
    }
    return checked_row(said, FIELDS, DOCUMENT)


def told(*rows: ExtractedRow) -> list[list[tuple[object, str, str]]]:
    return [[(each.value, each.mark, each.other) for each in one.values] for one in rows]


def test_readings_that_agree_are_one_and_what_they_differ_in_is_empty() -> None:
    agreed = compared([row("Ada", "5")], [row("Ada", "5")])
    differing = compared([row("Ada", "5")], [row("Ada", "7", 2)])
    half = compared([row("Ada", None)], [row("Ada", "5")])
    assert told(*agreed) == [[("Ada", "ok", ""), (5.0, "ok", "")]]
    assert told(*differing) == [[("Ada", "ok", ""), (None, "differs", "7")]]
    assert told(*half) == [[("Ada", "ok", ""), (None, "differs", "nothing")]]
    assert half[0].marks == "amount: two readings differ"


def test_rows_are_paired_by_what_they_share_and_one_that_only_one_reading_has_is_marked() -> None:
    found = compared([row("Ada", "5"), row("Bo", "7", 2)], [row("Bo", "7", 2)])
    assert told(*found) == [
        [(None, "differs", "no such row"), (None, "differs", "no such row")],
        [("Bo", "ok", ""), (7.0, "ok", "")],
    ]


def test_a_long_document_is_one_row_of_what_its_parts_say() -> None:
    one = joined_parts([row(None, None), row("Ada", None), row(None, "7", 2)])
    twice = joined_parts([row("Ada", "5"), row("Bo", "5")])
    assert one is not None
    assert twice is not None
    assert told(one) == [[("Ada", "ok", ""), (7.0, "ok", "")]]
    assert told(twice) == [[(None, "differs", "Bo"), (5.0, "ok", "")]]


def test_a_value_has_the_place_of_its_quote() -> None:
    amount = row("Bo", "7", 2).values[1]
    assert (amount.page, PAGES[1].text[amount.start : amount.end]) == (2, "Total 7 EUR")


def test_what_came_of_an_extraction_is_told_in_a_sentence() -> None:
    rows = (row("Ada", "5"), row("Ada", None), row("Cy", "5"))
    done = ExtractedDocument(name="a.pdf", rows=rows)
    lost = ExtractedDocument(name="b.pdf", skipped="no-text", why="scanned")
    assert counted_words([done, lost], 2) == (
        "3 rows from 1 document: 4 of 6 values stand in their documents word for word, 1 is not in its document, "
        "1 was refused. "
        "1 document could not be read: 1 without a text layer (scanned: they need OCR)."
    )


def test_one_of_several_is_kept_and_marked_and_a_choice_is_one_of_those_there_are() -> None:
    several = SaidValue(value="5", quote="Total 5 EUR", page=1, several=True)
    one = checked_row({"party": None, "amount": several}, FIELDS, DOCUMENT)
    assert (one.values[1].value, one.borne_out) == (5.0, 1)
    assert one.marks == "party: not found; amount: one of several that the document says"
    [both] = compared([row(None, "5")], [one])
    assert both.values[1].mark == "several"
    kind = (ExtractedField(name="currency", choices=("Euro", "Dollar")),)
    said = [SaidValue(value=value, quote="Total 5 EUR", page=1) for value in ("euro", "Franc")]
    made = [checked_row({"currency": each}, kind, DOCUMENT).values[0] for each in said]
    assert [(each.value, each.mark) for each in made] == [("Euro", "ok"), (None, "no-choice")]
