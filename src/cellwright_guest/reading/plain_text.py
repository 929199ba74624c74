"""Files that are text already: plain, Markdown, CSV, HTML."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Final

from cellwright_guest.page_text import readable
from cellwright_guest.reading.page_budget import PageBudget
from cellwright_guest.reading.records import DocumentKind, UnreadableDocument

_CHARSET: Final = re.compile(rb"charset=[\"']?([\w-]{1,40})", re.I)
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEAD_BYTES: Final = 2_048
_GUESS_BYTES: Final = 1 << 16
_MAX_HTML_BYTES: Final = 20 << 20
_BYTES_A_CHARACTER: Final = 4


def read_plain(path: Path, kind: DocumentKind, budget: PageBudget) -> str:
    """Its title, where it has one. Raises `UnreadableDocument`."""
    with path.open("rb") as file:
        text = decode_text(file.read(budget.most_characters * _BYTES_A_CHARACTER + 1))
    budget.add_parts(text)
    first = text.lstrip()[:400].partition("\n")[0]
    return first.lstrip("# ") if kind == "markdown" and first.startswith("#") else ""


def read_html(path: Path, budget: PageBudget) -> str:
    """The page's title. Raises `UnreadableDocument`."""
    with path.open("rb") as file:
        data = file.read(_MAX_HTML_BYTES + 1)
    if len(data) > _MAX_HTML_BYTES:
        raise UnreadableDocument("too-large", f"it is a page of more than {_MAX_HTML_BYTES >> 20} MB")
    said = _CHARSET.search(data[:_HEAD_BYTES])
    title, text = readable(decode_text(data, said[1].decode("ascii") if said else ""), "")
    budget.add_parts(text)
    return title


def decode_text(data: bytes, charset: str = "") -> str:
    """Text of bytes: by its mark, by what it says of itself, as UTF-8, or as what it looks like."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if b"\0" in data[:_GUESS_BYTES]:
        raise UnreadableDocument("broken", "it is no text")
    for name in filter(None, (charset, "utf-8")):
        try:
            return data.decode(name)
        except (LookupError, UnicodeDecodeError):
            continue
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_GUESS_BYTES]).best()
    return data.decode(best.encoding if best is not None else "cp1252", "replace")
