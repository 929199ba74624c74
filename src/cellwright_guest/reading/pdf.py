"""PDF by pypdfium2: the text of each page, as far as it has a text layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from cellwright_guest.reading.page_budget import PageBudget
from cellwright_guest.reading.records import UnreadableDocument


def read_pdf(path: Path, budget: PageBudget) -> str:
    """Its title. Raises `UnreadableDocument`."""
    try:
        document = pypdfium2.PdfDocument(path)
        count = len(document)
    except pypdfium2.PdfiumError as problem:
        if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD or "assword" in str(problem):
            raise UnreadableDocument("encrypted", "it is encrypted: it cannot be read without its password") from None
        raise UnreadableDocument("broken", f"it is no whole PDF: {problem}") from None
    silent = list[int]()
    broken = list[int]()
    for index in range(count):
        try:
            text = _page_text(document, index)
        except pypdfium2.PdfiumError:
            broken.append(index + 1)
            continue
        if not text.strip():
            silent.append(index + 1)
        elif not budget.add(index + 1, text):
            break
    if not budget.pages() and broken and not silent:
        raise UnreadableDocument("broken", f"none of its {count} pages can be read")
    _tell(budget, silent, "no text layer: they cannot be read without OCR")
    _tell(budget, broken, "damage: they were left out")
    return str(document.get_metadata_value("Title"))


def _page_text(document: pypdfium2.PdfDocument, index: int) -> str:
    page = document[index]
    textpage = page.get_textpage()
    try:
        # A hyphen at a line's end comes as U+FFFE and without the break: put back as it is printed.
        return str(textpage.get_text_bounded()).replace("\ufffe", "-\n")
    finally:
        # Closed at once: of endless pages only one is in memory.
        textpage.close()
        page.close()


def _tell(budget: PageBudget, pages: Sequence[int], what: str) -> None:
    if pages:
        shown = ", ".join(map(str, pages[:12])) + (f" and {len(pages) - 12} more" if len(pages) > 12 else "")
        budget.notices.append(f"page {shown}: {what}" if len(pages) == 1 else f"pages {shown}: {what}")
