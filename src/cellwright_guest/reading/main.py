"""The program in the cage: one file to read on descriptor 3, its text back, then it is gone.

`python -I -S main.py PACKAGES…`; the packages are our pinned ones, and no `.pth` file is read. It sees the file it is
asked about, and nothing else: what it takes down is itself.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]

import os
from pathlib import Path
from typing import Final

import msgspec

from cellwright_guest.reading.page_budget import PageBudget
from cellwright_guest.reading.records import (
    MAX_NOTICES,
    MAX_TITLE,
    MAX_WORDS,
    DocumentKind,
    ReadAnswer,
    ReadDocument,
    ReadRequest,
    UnreadableDocument,
)

_DESCRIPTOR: Final = 3
_CHUNK_BYTES: Final = 1 << 16
_HEAD_BYTES: Final = 1_024
_NO_TEXT: Final = {"pdf": "its pages are images without a text layer: it cannot be read without OCR"}


def main() -> None:
    """Answer, and end."""
    data = bytearray()
    while chunk := os.read(_DESCRIPTOR, _CHUNK_BYTES):
        data += chunk
    left = memoryview(msgspec.json.encode(answer(msgspec.json.decode(data, type=ReadRequest))))
    while left:
        left = left[os.write(_DESCRIPTOR, left) :]
    # A library that crashes while it is taken down would make an answer look lost.
    os._exit(0)


def answer(request: ReadRequest) -> ReadAnswer:
    """What the file says, or why it cannot be told."""
    path = Path(request.path)
    try:
        kind = _kind_of(path, request.kind)
        budget = PageBudget(most_pages=request.most_pages, most_characters=request.most_characters)
        title = _read(path, kind, budget)
    except UnreadableDocument as failed:
        return failed.answer
    except MemoryError:
        return UnreadableDocument("too-large", "reading it needs more memory than there is").answer
    except OSError as problem:
        return UnreadableDocument("broken", f"it cannot be opened: {problem.strerror}").answer
    pages = budget.pages()
    if not any(page.text.strip() for page in pages):
        return UnreadableDocument("no-text", _NO_TEXT.get(kind, "there is no text in it")).answer
    return ReadDocument(
        document_kind=kind,
        title=" ".join(title.split())[:MAX_TITLE],
        pages=pages,
        notices=tuple(" ".join(notice.split())[:MAX_WORDS] for notice in budget.notices[:MAX_NOTICES]),
    )


def _kind_of(path: Path, said: DocumentKind) -> DocumentKind:
    """What it is called, unless it begins as a PDF does."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise UnreadableDocument("no-text", "it is empty")
    return "pdf" if b"%PDF-" in head and said != "email" else said


def _read(path: Path, kind: DocumentKind, budget: PageBudget) -> str:
    """Its title; its pages are in the budget. A library is loaded where it is needed."""
    match kind:
        case "pdf":
            from cellwright_guest.reading.pdf import read_pdf

            return read_pdf(path, budget)
        case "docx":
            from cellwright_guest.reading.docx import read_docx

            return read_docx(path, budget)
        case "email":
            from cellwright_guest.reading.email_message import read_email

            return read_email(path, budget)
        case "html":
            from cellwright_guest.reading.plain_text import read_html

            return read_html(path, budget)
        case "markdown" | "text" | "csv":
            from cellwright_guest.reading.plain_text import read_plain

            return read_plain(path, kind, budget)


if __name__ == "__main__":
    main()
