"""What is asked of the program and what it answers. The host trusts nothing of it but its shape."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

DocumentKind = Literal["pdf", "docx", "html", "markdown", "text", "csv", "email"]
UnreadReason = Literal["no-text", "encrypted", "broken", "too-large", "unknown-kind"]
"""no-text: scanned, it would need OCR; broken: this is no document of its kind, or damaged."""

MAX_PAGES: Final = 5_000
MAX_CHARACTERS: Final = 4_000_000
"""Of one document."""
MAX_TITLE: Final = 300
MAX_NOTICES: Final = 20
MAX_WORDS: Final = 300
"""Characters of one notice or reason."""


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One file to be read."""

    path: str
    kind: DocumentKind
    most_pages: int = MAX_PAGES
    most_characters: int = MAX_CHARACTERS


class ReadPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, or where a format has none, a part of about that length."""

    number: int
    text: str


class ReadDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="document"):
    """What the file says."""

    document_kind: DocumentKind
    title: str = ""
    pages: tuple[ReadPage, ...] = ()
    notices: tuple[str, ...] = ()


class ReadFailure(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="failed"):
    """It could not be read."""

    reason: UnreadReason
    why: str


ReadAnswer = ReadDocument | ReadFailure


class UnreadableDocument(Exception):
    """Raised inside the program: it becomes a `ReadFailure`."""

    def __init__(self, reason: UnreadReason, why: str) -> None:
        super().__init__(why)
        self.answer = ReadFailure(reason=reason, why=" ".join(why.split())[:MAX_WORDS])
