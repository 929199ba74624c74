"""The pages of a document while it is read: no more than the host takes, and text that any reader can bear."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from cellwright_guest.reading.records import ReadPage

_PART_CHARACTERS: Final = 12_000
"""A part of a text without pages."""
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Control and direction characters: nobody sees them, and they make a text look other than it is."""
_BLANK_ENDS: Final = re.compile(r"[ \t\xa0]+(?=\n|$)")
_MANY_BREAKS: Final = re.compile(r"\n{3,}")


@dataclass(slots=True, kw_only=True)
class PageBudget:
    """What has been read so far."""

    most_pages: int
    most_characters: int
    notices: list[str] = field(default_factory=list[str])
    _pages: list[ReadPage] = field(default_factory=list[ReadPage])
    _characters: int = 0

    def add(self, number: int, text: str) -> bool:
        """Take a page; whether there is room for more."""
        left = self.most_characters - self._characters
        clean = clean_text(text)[: left + 1]
        if len(clean) > left or len(self._pages) >= self.most_pages:
            self._tell_cut(number)
            clean = clean[:left] if len(self._pages) < self.most_pages else ""
        if clean:
            self._pages.append(ReadPage(number=number, text=clean))
            self._characters += len(clean)
        return not self.is_cut

    def add_parts(self, text: str) -> None:
        """Take a text without pages, in parts that end where a paragraph does."""
        text, start, number = clean_text(text), 0, 0
        while start < len(text):
            number, end = number + 1, _end_of_part(text, start)
            if not self.add(number, text[start:end]):
                return
            start = end

    @property
    def is_cut(self) -> bool:
        """Whether something was left out."""
        return any(notice.startswith("read up to") for notice in self.notices)

    def pages(self) -> tuple[ReadPage, ...]:
        """All that were taken."""
        return tuple(self._pages)

    def _tell_cut(self, number: int) -> None:
        if not self.is_cut:
            self.notices.insert(0, f"read up to page {number}: it is longer than can be read")


def clean_text(text: str) -> str:
    """Without what nobody sees, and with one kind of line break."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n").replace("\u2028", "\n")
    return _MANY_BREAKS.sub("\n\n", _BLANK_ENDS.sub("", _CONTROLS.sub("", text))).strip("\n")


def _end_of_part(text: str, start: int) -> int:
    most = start + _PART_CHARACTERS
    if most >= len(text):
        return len(text)
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, start + _PART_CHARACTERS // 2, most)
        if found > 0:
            return found + len(mark)
    return most
