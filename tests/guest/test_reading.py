"""What the reading program makes of files of every kind; here without its cage."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellwright_guest.reading.main import answer
from cellwright_guest.reading.records import DocumentKind, ReadDocument, ReadFailure, ReadPage, ReadRequest
from tests.documents.documents import EMAIL, HTML, bomb_docx, docx_of
from tests.documents.pdfs import encrypted_pdf, pdf_of

GERMAN = "Preis für Äpfel: 5 €, größer als früher, natürlich"


def read(folder: Path, kind: DocumentKind, content: bytes, **most: int) -> ReadDocument | ReadFailure:
    path = folder / f"document.{kind}"
    path.write_bytes(content)
    return answer(ReadRequest(path=str(path), kind=kind, **most))


def test_a_pdf_is_read_page_by_page_and_pages_without_text_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, "pdf", pdf_of([["Invoice 7", "Total (net): 1.234,50 €"], [], ["the end"]], title="Bill"))
    assert found == ReadDocument(
        document_kind="pdf",
        title="Bill",
        pages=(
            ReadPage(number=1, text="Invoice 7\nTotal (net): 1.234,50 €"),
            ReadPage(number=3, text="the end"),
        ),
        notices=("page 2: no text layer: they cannot be read without OCR",),
    )


def test_a_docx_is_its_shown_text_with_headings_and_tables(tmp_path: Path) -> None:
    found = read(tmp_path, "docx", docx_of())
    assert found == ReadDocument(
        document_kind="docx",
        title="A contract",
        pages=(ReadPage(number=1, text="## Contract\nBetween Ada & Co\n\nItem  | Price\nHen  | 12"),),
    )


def test_an_email_is_its_head_and_shown_body_and_attachments_are_told(tmp_path: Path) -> None:
    found = read(tmp_path, "email", EMAIL)
    assert found == ReadDocument(
        document_kind="email",
        title="Eggs für Bo",
        pages=(
            ReadPage(
                number=1,
                text="From: Ada <ada@farm.example>\nTo: bo@farm.example\nDate: Tue, 02 Jan 2024 10:00:00 +0000\n"
                "Subject: Eggs für Bo\n\nWe owe 40 EUR.",
            ),
        ),
        notices=("attachment 'bill.pdf' was not read",),
    )


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("html", HTML, "# Hens\n\nForty eggs & more"),
        ("markdown", b"# Farm\r\n\r\nhens", "# Farm\n\nhens"),
        ("text", "\ufeffZürich\u202e\x00".encode("utf-16"), "Zürich"),
        ("text", GERMAN.encode("cp1252"), GERMAN),
        ("csv", b"hen,eggs\nAda,4\n", "hen,eggs\nAda,4"),
        ("text", pdf_of([["a PDF by another name"]]), "a PDF by another name"),
    ],
)
def test_texts_are_read_in_their_encoding_and_without_what_nobody_sees(
    tmp_path: Path, kind: DocumentKind, content: bytes, text: str
) -> None:
    found = read(tmp_path, kind, content)
    assert isinstance(found, ReadDocument)
    assert [page.text for page in found.pages] == [text]


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("pdf", pdf_of([[], []]), "no-text"),
        ("pdf", encrypted_pdf(), "encrypted"),
        ("pdf", pdf_of([["x"]])[:200], "broken"),
        ("pdf", b"no PDF at all", "broken"),
        ("docx", docx_of()[:300], "broken"),
        ("docx", docx_of("<w:p>"), "broken"),
        ("docx", b"\xd0\xcf\x11\xe0 and more", "encrypted"),
        ("docx", bomb_docx(65), "too-large"),
        ("email", b"just words", "broken"),
        ("text", b"\x00\x01\x02\x03", "broken"),
        ("text", b"", "no-text"),
        ("html", b"<script>only()</script>", "no-text"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, kind: DocumentKind, content: bytes, reason: str) -> None:
    found = read(tmp_path, kind, content)
    assert isinstance(found, ReadFailure)
    assert found.reason == reason
    assert found.why


def test_no_more_is_read_than_there_is_room_for_and_that_is_told(tmp_path: Path) -> None:
    long = pdf_of([[f"page {number}"] for number in range(1, 9)])
    found = read(tmp_path, "pdf", long, most_pages=3)
    assert isinstance(found, ReadDocument)
    assert [page.number for page in found.pages] == [1, 2, 3]
    assert found.notices == ("read up to page 4: it is longer than can be read",)
    cut = read(tmp_path, "text", b"word " * 40_000, most_characters=50_000)
    assert isinstance(cut, ReadDocument)
    assert sum(len(page.text) for page in cut.pages) == 50_000
    assert max(len(page.text) for page in cut.pages) <= 12_000
