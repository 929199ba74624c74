"""Whether a quote stands in a text: word for word, where blanks and the breaking of lines do not count."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cellwright.documents.document import Document

MAX_QUOTE: Final = 2_000
"""Characters of a quote that is looked for."""
_BROKEN: Final = "\x01"
"""In place of a hyphen at the end of a line: it may belong to the word or not."""
_SAME: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "\u00ad": "",
        _BROKEN: "",
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
    }
)
"""Ways to set the same letter."""
_UNBROKEN_SCRIPTS: Final = 0x2E80
"""From here on words are written without blanks between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotePlace:
    """Where a quote stands."""

    page: int
    start: int
    """Characters from the page's beginning."""
    end: int


def is_quoted(text: str, quote: str) -> tuple[int, int] | None:
    """Where the quote stands in the text, in characters from its beginning; None if it does not.

    It has to stand there as whole words and whole numbers: `5.000` is no quote of `15.000`, nor `200` of `-200`.
    """
    wanted, _ = _levelled(quote[: MAX_QUOTE + 1])
    wanted = wanted.strip().replace(_BROKEN, "-")
    if len(quote) > MAX_QUOTE or not any(character.isalnum() for character in wanted):
        return None
    level, places = _levelled(text)
    pattern, at = re.compile(_pattern(wanted)), 0
    # From one character on: where it stands inside of words it may overlap where it stands as words.
    while (found := pattern.search(level, at)) is not None:
        start, end = found.span()
        if _is_apart(level, start, end):
            return places[start], places[end - 1] + 1
        at = start + 1
    return None


def find_quote(document: Document, quote: str, page: int | None = None) -> QuotePlace | None:
    """Where the quote stands in a document: on the page that was said if it is there, else on the first that has it."""
    pages = sorted(document.pages, key=lambda candidate: candidate.number != page)
    for candidate in pages:
        if (place := is_quoted(candidate.text, quote)) is not None:
            return QuotePlace(page=candidate.number, start=place[0], end=place[1])
    return None


def _pattern(wanted: str) -> str:
    """A hyphen at a line's end may stand between any two letters; one in a word may be lost with its line."""
    letters = list[str]()
    for at, letter in enumerate(wanted):
        is_in_word = letter == "-" and wanted[at - 1 : at].isalpha() and wanted[at + 1 : at + 2].isalpha()
        letters.append(f"(?:-|{_BROKEN})" + "?" * is_in_word if letter == "-" else re.escape(letter))
    return f"{_BROKEN}?".join(letters)


# Of a page many quotes are looked for, one after another.
@lru_cache(maxsize=64)
def _levelled(text: str) -> tuple[str, Sequence[int]]:
    """The text with blanks, hyphens and quotation marks of one kind, and where each of its characters was."""
    parts, places = list[str](), array("I")
    at, size = 0, len(text)
    while at < size:
        letter = text[at]
        if letter.isspace():
            if parts and parts[-1] not in {" ", _BROKEN}:
                parts.append(" ")
                places.append(at)
            at += 1
            continue
        for one in letter.translate(_SAME):
            parts.append(one)
            places.append(at)
        if _is_line_break_hyphen(text, at):
            parts[-1] = _BROKEN
            at += 1
            while at < size and text[at].isspace():
                at += 1
            continue
        at += 1
    return "".join(parts), places


def _is_line_break_hyphen(text: str, at: int) -> bool:
    if text[at] not in "-‐\u00ad" or at == 0 or not text[at - 1].isalnum():
        return False
    rest = text[at + 1 : at + 40]
    after = rest.lstrip()
    return bool(after) and after[0].isalnum() and "\n" in rest[: len(rest) - len(after)]


def _is_apart(level: str, start: int, end: int) -> bool:
    """Whether no word or number goes on before or after."""
    before, first, last, after = level[max(0, start - 2) : start], level[start], level[end - 1], level[end : end + 2]
    if before and _is_one_word(before[-1], first):
        return False
    if after and _is_one_word(last, after[0]):
        return False
    if first.isdigit() and before:
        is_fraction = len(before) == 2 and before[1] in ".,'" and before[0].isdigit()
        is_negative = before[-1] == "-" and (len(before) == 1 or not before[0].isalnum())
        if is_fraction or is_negative:
            return False
    is_cut = last.isdigit() and len(after) == 2 and after[0] in ".,'" and after[1].isdigit()
    return not is_cut


def _is_one_word(left: str, right: str) -> bool:
    is_joined = _BROKEN in (left, right)
    return is_joined or (left.isalnum() and right.isalnum() and ord(left) < _UNBROKEN_SCRIPTS)
