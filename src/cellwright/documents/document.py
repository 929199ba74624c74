"""A document as text, and why one has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DocumentKind = Literal["pdf", "docx", "html", "markdown", "text", "csv", "email"]
UnreadReason = Literal["no-text", "encrypted", "broken", "too-large", "unknown-kind", "gone", "time", "crash"]
"""no-text: scanned, it would need OCR; crash: what reads it was taken down by it; gone: it is not there, or closed."""

MAX_FILE_BYTES: Final = 100 << 20
"""Larger files are not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page; of a format without pages, a part of about that length."""

    number: int
    """From 1 on, as a reader counts; pages without text are left out."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a file says."""

    name: str
    """What a person calls it: its path, relative to the folder that was named."""
    sha256: str
    """Of the file's bytes."""
    kind: DocumentKind
    title: str
    pages: tuple[Page, ...]
    notices: tuple[str, ...] = ()
    """What was left out, and why."""

    @property
    def characters(self) -> int:
        """How long it is."""
        return sum(len(page.text) for page in self.pages)

    def page(self, number: int) -> Page | None:
        """The page of this number."""
        return next((page for page in self.pages if page.number == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadDocument:
    """A file that could not be read."""

    name: str
    sha256: str
    """Of the file's bytes; empty where they could not be had."""
    reason: UnreadReason
    why: str
    """For a person: one clause."""

    @property
    def is_lasting(self) -> bool:
        """Whether reading the same bytes again would say the same."""
        return self.reason in {"no-text", "encrypted", "broken", "unknown-kind"}
