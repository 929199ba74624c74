"""DOCX by its own XML: paragraphs, headings, tables, notes. No more than this is unpacked."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final
from xml.etree import ElementTree

from cellwright_guest.reading.page_budget import PageBudget
from cellwright_guest.reading.records import UnreadableDocument

_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_MOST_BYTES: Final = 64 << 20
"""Of one unpacked part: a zip bomb ends here."""
_PARTS: Final = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
_NOT_SHOWN: Final = frozenset({"del", "moveFrom", "instrText", "delText", "Fallback", "rPr"})
_CFB: Final = b"\xd0\xcf\x11\xe0"
"""How an encrypted DOCX begins, and a DOC."""


class _BoundedPart:
    """A part of the archive that ends with an error once it is too long."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, _MOST_BYTES

    def read(self, size: int = 65_536) -> bytes:
        data = self._file.read(min(size, 65_536) if size > 0 else 65_536)
        self._left -= len(data)
        if self._left < 0:
            raise UnreadableDocument("too-large", f"unpacked it is larger than {_MOST_BYTES >> 20} MB")
        return data


def read_docx(path: Path, budget: PageBudget) -> str:
    """Its title. Raises `UnreadableDocument`."""
    with path.open("rb") as file:
        if file.read(4) == _CFB:
            raise UnreadableDocument("encrypted", "it is encrypted, or a DOC of old: save it as a plain DOCX")
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if _PARTS[0] not in names:
                raise UnreadableDocument("broken", "it is no DOCX: no document is in it")
            text = "\n\n".join(_part_text(archive, name) for name in _PARTS if name in names)
            title = _title(archive) if "docProps/core.xml" in names else ""
    except (
        zipfile.BadZipFile,
        zlib.error,
        ElementTree.ParseError,
        EOFError,
        RuntimeError,
    ) as problem:
        raise UnreadableDocument("broken", f"it is no whole DOCX: {problem}") from None
    budget.add_parts(text)
    return title


def _part_text(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as file:
        return "".join(_texts(_BoundedPart(file)))


def _texts(part: _BoundedPart) -> Iterator[str]:
    """The words in order; the tree is taken down while it is read."""
    hidden = cell = row = 0
    run = list[str]()
    is_vanished = False
    for event, element in ElementTree.iterparse(part, events=("start", "end")):
        name = element.tag.rpartition("}")[2]
        is_start = event == "start"
        if name in _NOT_SHOWN:
            hidden += 1 if is_start else -1
        if is_start:
            cell, row = (0, row) if name == "tr" else (cell + (name == "tc"), row)
            if name == "tc" and cell > 1:
                yield " | "
            is_vanished = is_vanished and name != "r"
            continue
        if name == "vanish":
            is_vanished = _value(element) not in {"0", "false"}
        elif name == "pStyle" and (style := _value(element)).startswith("Heading"):
            yield "#" * min(6, int(style[7:]) if style[7:].isdecimal() else 1) + " "
        elif name == "t" and not hidden:
            run.append(element.text or "")
        elif name in {"tab", "br", "cr"} and not hidden:
            run.append("\t" if name == "tab" else "\n")
        elif name == "noBreakHyphen":
            run.append("-")
        elif name == "r":
            yield "" if is_vanished else "".join(run)
            run.clear()
            is_vanished = False
        elif name in {"p", "tr"}:
            # A paragraph in a cell is followed by the next cell, not by a line.
            yield "\n" if name == "tr" or not cell else " "
            cell = 0 if name == "tr" else cell
        elif name == "tbl":
            yield "\n"
        element.clear()


def _value(element: ElementTree.Element) -> str:
    """An attribute `val`, of the format's strict form too."""
    return next((value for name, value in element.items() if name.rpartition("}")[2] == "val"), "")


def _title(archive: zipfile.ZipFile) -> str:
    with archive.open("docProps/core.xml") as file:
        for _, element in ElementTree.iterparse(_BoundedPart(file)):
            if element.tag == _TITLE:
                return element.text or ""
    return ""
