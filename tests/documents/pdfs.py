"""PDFs written by hand: pages of lines, pages that are pictures, and what a stranger may send."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

LINES_A_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Some words at a place on a page, in points from its lower left corner."""

    x: int
    y: int
    text: str
    size: int = 11


def pdf_of(pages: Sequence[Sequence[str] | Sequence[Line]], *, title: str = "") -> bytes:
    """A PDF of pages of lines; a page without lines is a picture, as a scanner makes it."""
    contents = [_picture() if not page else _text(page) for page in pages]
    return assemble(contents, title=title)


def assemble(contents: Sequence[bytes], *, title: str = "", count: int | None = None, packed: bool = True) -> bytes:
    """A PDF of pages with these contents. `count` is how many pages it claims to have."""
    kids = " ".join(f"{6 + 2 * index} 0 R" for index in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents) if count is None else count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"
        b"\nstream\n\x80\nendstream",
        b"<< /Title (" + _escaped(title) + b") >>",
    ]
    for index, content in enumerate(contents):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> "
            b"/XObject << /Im1 4 0 R >> >> /Contents " + str(7 + 2 * index).encode() + b" 0 R >>"
        )
        body = zlib.compress(content) if packed else content
        head = b"<< /Length " + str(len(body)).encode() + (b" /Filter /FlateDecode" if packed else b"") + b" >>"
        objects.append(head + b"\nstream\n" + body + b"\nendstream")
    return _file(objects)


def encrypted_pdf() -> bytes:
    """A PDF that claims to be encrypted with a password that nobody has."""
    whole = pdf_of([["secret"]])
    key = (
        b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <"
        + b"41" * 32
        + b"> /U <"
        + b"42" * 32
        + b"> >>"
    )
    return whole.replace(b"/Root 1 0 R", b"/Root 1 0 R " + key + b" /ID [<" + b"43" * 16 + b"> <" + b"43" * 16 + b">]")


def endless_pdf() -> bytes:
    """A small file whose only page says more than any memory holds."""
    packer, piece = zlib.compressobj(9), b"(endless) Tj " * 100_000
    body = packer.compress(b"BT /F1 1 Tf 9 9 Td ")
    for _ in range(100):
        body += packer.compress(piece)
    body += packer.flush()
    whole = assemble([b"PLACE"], packed=False)
    head, tail = whole.split(b"<< /Length 5 >>\nstream\nPLACE")
    return head + b"<< /Length " + str(len(body)).encode() + b" /Filter /FlateDecode >>\nstream\n" + body + tail


def _file(objects: Sequence[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += str(number).encode() + b" 0 obj\n" + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _text(page: Sequence[str] | Sequence[Line]) -> bytes:
    lines = [
        line if isinstance(line, Line) else Line(x=60, y=790 - 15 * number, text=line)
        for number, line in enumerate(page)
    ]
    shown = [b"BT /F1 %d Tf %d %d Td (%s) Tj ET" % (line.size, line.x, line.y, _escaped(line.text)) for line in lines]
    return b"\n".join(shown)


def _picture() -> bytes:
    return b"q 595 0 0 842 0 0 cm /Im1 Do Q"


def _escaped(text: str) -> bytes:
    raw = text.encode("cp1252")
    return raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
