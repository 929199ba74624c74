"""What a file is: its format by what stands in it first, and how the bytes of a text become characters.

The name decides only where the content says nothing. An encoding is told by marks, proven by UTF-8's own rules, else
guessed and said.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, Literal, Self, cast

from cellwright_guest.profiling.raw import NotReadable, SourceFile

_MARKS: Final = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_WESTERN: Final = {
    "cp1252": "äöüßÄÖÜéèêëàáâãåçñóòôõíìîïúùûøæœÉÀÇÑÓÁÍÚ€£°’‘“”–—…´«»·²³½±§©®µ×¿¡™•\xa0",
    "mac_roman": "äöüßÄÖÜéèêëàáâãåçñóòôõíìîïúùûøæœÉÀÇÑÓ€£°’‘“”–—…",
    "cp850": "äöüßÄÖÜéèêëàáâåçñóòôíìîïúùûøæÉÇÑ£",
}
"""The characters that people write with them."""
_OLD: Final = (
    *_WESTERN, "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp866", "cp932", "euc_jp",
    "gb18030", "big5", "cp949", "iso8859_2",
)  # fmt: skip
"""Encodings from before UTF-8 that tables are still found in, the commonest first."""
_SCAN_ALL_BELOW: Final = 128 << 20
_SCAN_BLOCK: Final = 1 << 20
_BLOCKS_OF_LARGE: Final = 48
_MOST_EVIDENCE: Final = 200_000
_LEAST_LETTERS: Final = 3
"""Different bytes beyond ASCII below which no other than a Western encoding is guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How to decode a file, and how sure that is."""

    name: str
    is_guessed: bool = False
    """Neither a mark nor UTF-8's rules prove it."""
    bad_bytes: int = 0
    """That mean nothing in it, of those looked at; each becomes U+FFFD."""


class OpenedBytes:
    """A file's bytes, unpacked while they are read; a context manager."""

    def __init__(self, path: Path, compression: str) -> None:
        self._raw = path.open("rb")
        self.stream: IO[bytes] = cast(IO[bytes], gzip.GzipFile(fileobj=self._raw)) if compression else self._raw

    @property
    def consumed(self) -> int:
        """How many bytes of the file itself were read."""
        return self._raw.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()


def find_encoding(path: Path, compression: str, head: bytes) -> Encoding:
    """How the text in `path` is encoded; `head` is its beginning."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Encoding(name=name, bad_bytes=_bad_bytes(path, compression) if name == "utf-8-sig" else 0)
    if wide := _wide_without_mark(head):
        return Encoding(name=wide, is_guessed=True)
    bad, evidence, characters = 0, bytearray(), 0
    for block in _blocks(path, compression):
        if block.isascii():
            continue
        text = block.decode("utf-8", "surrogateescape")
        broken = sum(1 for character in text if "\udc80" <= character <= "\udcff") if _is_broken(text) else 0
        bad += broken
        characters += sum(1 for character in text if character > "\x7f") - broken
        if len(evidence) < _MOST_EVIDENCE:
            evidence += block[:_MOST_EVIDENCE]
    if not bad:
        return Encoding(name="utf-8")
    if characters > 4 * bad:
        return Encoding(name="utf-8", bad_bytes=bad)
    return _guess(_telling_lines(bytes(evidence)))


def _bad_bytes(path: Path, compression: str) -> int:
    return sum(
        block.decode("utf-8", "replace").count("\ufffd") for block in _blocks(path, compression) if not block.isascii()
    )


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _blocks(path: Path, compression: str) -> Iterator[bytes]:
    """The file in blocks that do not cut a character of UTF-8; of a large file, blocks spread evenly over it."""
    with OpenedBytes(path, compression) as opened:
        stream, last = opened.stream, path.stat().st_size - _SCAN_BLOCK
        is_large = not compression and last + _SCAN_BLOCK > _SCAN_ALL_BELOW
        rest = b""
        for number in range(_BLOCKS_OF_LARGE if is_large else _SCAN_ALL_BELOW // _SCAN_BLOCK):
            if is_large:
                stream.seek(number * last // (_BLOCKS_OF_LARGE - 1))
            read = stream.read(_SCAN_BLOCK)
            block = read.lstrip(bytes(range(0x80, 0xC0))) if is_large else rest + read
            end = codecs.utf_8_decode(block, "surrogateescape", not read)[1]
            yield block[:end]
            rest = block[end:]
            if not read:
                return


def _wide_without_mark(head: bytes) -> str:
    """UTF-16 or UTF-32 by its zeros, which stand on one side only; empty: neither."""
    sample = head[: 1 << 16]
    quarter = max(1, len(sample) // 4)
    zeros = [sample[offset::4].count(0) / quarter for offset in range(4)]
    if min(zeros[1:]) > 0.8 and zeros[0] < 0.1:
        return "utf-32-le"
    if min(zeros[:3]) > 0.8 and zeros[3] < 0.1:
        return "utf-32-be"
    odd, even = (zeros[1] + zeros[3]) / 2, (zeros[0] + zeros[2]) / 2
    if odd > 0.4 and even < 0.05:
        return "utf-16-le"
    if even > 0.4 and odd < 0.05:
        return "utf-16-be"
    return ""


def _telling_lines(evidence: bytes) -> bytes:
    """The lines that are not UTF-8, without halves at either end, which may begin or end inside a character."""
    lines = evidence.splitlines(keepends=True)
    whole = lines[1:-1] if len(evidence) >= _MOST_EVIDENCE and len(lines) > 2 else lines
    return b"".join(line for line in whole if _is_broken(line.decode("utf-8", "surrogateescape"))) or evidence


def _guess(evidence: bytes) -> Encoding:
    """The likeliest of the old encodings; between the Western ones, by how many of their characters people write."""
    # One or two letters say nothing of a language: two cells of "é" would pass for Russian.
    is_telling = len({byte for byte in evidence if byte >= 0x80}) >= _LEAST_LETTERS
    best = _least_messy(evidence) if is_telling else "cp1252"
    if best in _WESTERN:
        best = max(_WESTERN, key=lambda name: _score(evidence, name))
    if best == "cp1252" and _undecodable(evidence, "cp1252"):
        best = "latin-1"
    return Encoding(name=best, is_guessed=True, bad_bytes=_undecodable(evidence, best))


def _least_messy(evidence: bytes) -> str:
    # Loaded only for a file that is not UTF-8: it takes a tenth of a second.
    from charset_normalizer import from_bytes

    # The library's own order among equals goes by language, which a table has too little text for.
    ranks = [
        (round(match.chaos, 3), min(_OLD.index(name) for name in match.could_be_from_charset if name in _OLD))
        for match in from_bytes(evidence, cp_isolation=list(_OLD), enable_fallback=False)
    ]
    return _OLD[min(ranks)[1]] if ranks else "cp1252"


def _score(evidence: bytes, name: str) -> float:
    text = evidence.decode(name, "replace")
    odd = [character for character in text if character > "\x7f"]
    wanted = set(_WESTERN[name])
    fit = sum(1 for character in odd if character in wanted) / max(1, len(odd))
    # A capital in the middle of a word of small letters is how a wrong guess between these looks.
    strange = sum(1 for before, at in pairwise(text) if at > "\x7f" and before.islower() and at.isupper())
    likelihood = {"cp1252": 0.05, "mac_roman": 0.02}.get(name, 0.0)
    return fit - strange / max(1, len(odd)) + likelihood


def _undecodable(evidence: bytes, name: str) -> int:
    return evidence.decode(name, "replace").count("\ufffd")


Reader = Literal["text", "json", "jsonl", "parquet", "feather", "excel", "sqlite", "duckdb"]

HEAD_BYTES: Final = 1 << 20

_SIGNATURES: Final[dict[str, tuple[bytes, ...]]] = {
    "it is a picture (PNG)": (b"\x89PNG",),
    "it is a picture (JPEG)": (b"\xff\xd8\xff",),
    "it is a picture (GIF)": (b"GIF8",),
    "it is a picture (TIFF)": (b"II*\x00", b"MM\x00*"),
    "it is a PDF; save its tables as CSV first": (b"%PDF",),
    "it is an archive (7z); unpack it first": (b"7z\xbc\xaf\x27\x1c",),
    "it is an archive (RAR); unpack it first": (b"Rar!",),
    "it is compressed (bzip2); unpack it first": (b"BZh",),
    "it is compressed (xz); unpack it first": (b"\xfd7zXZ\x00",),
    "it is compressed (zstd); unpack it first": (b"\x28\xb5\x2f\xfd",),
    "it is a program": (b"\x7fELF", b"MZ\x90"),
    "it is an HDF5 file, which is not supported; save it as Parquet or CSV": (b"\x89HDF",),
    "it is a NetCDF file, which is not supported; save it as Parquet or CSV": (b"CDF\x01", b"CDF\x02"),
    "it is a numpy array, which is not supported; save it as Parquet or CSV": (b"\x93NUMPY",),
    "it is a pickle, which is never opened: it could run any program": (b"\x80\x04\x95", b"\x80\x05\x95"),
    "it is an SPSS file, which is not supported; save it as CSV": (b"$FL2",),
    "it is a Stata file, which is not supported; save it as CSV": (b"<stata_dta>",),
    "it is an Avro file, which is not supported; save it as Parquet": (b"Obj\x01",),
    "it is an ORC file, which is not supported; save it as Parquet": (b"ORC",),
    "it is a Feather file of the first version; save it as Parquet": (b"FEA1",),
    "it is a sound, film or picture file": (b"ID3", b"RIFF", b"fLaC", b"OggS"),
    "it is a broken Parquet file": (b"PAR1\x00",),
    "it is encrypted": (b"PARE", b"Salted__", b"-----BEGIN PGP"),
    "it is a pointer of Git LFS: the data itself was not fetched": (b"version https://git-lfs",),
}
_LATER_SIGNATURES: Final = (
    (257, b"ustar", "it is an archive (tar); unpack it first"),
    (4, b"ftyp", "it is a film (MP4)"),
)
_DOCUMENTS: Final = {
    **dict.fromkeys(("html", "htm", "xhtml"), "it is a web page (HTML)"),
    **dict.fromkeys(("xml", "svg", "kml", "gpx", "rss"), "it is XML, which is not supported; save it as CSV"),
    **dict.fromkeys(("md", "rst", "tex", "rtf", "adoc"), "it is a document, no table"),
    **dict.fromkeys(("yaml", "yml", "toml", "ini", "cfg", "conf", "lock"), "it holds settings, no table"),
    **dict.fromkeys(
        ("py", "ipynb", "r", "rmd", "js", "ts", "sh", "sql", "java", "c", "h", "cpp", "go", "rs", "css", "jl", "m"),
        "it is a program, no data",
    ),
}
_LEGACY_WORKBOOK: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TABLE_ENDINGS: Final = frozenset({"csv", "tsv", "tab", "psv", "ssv"})
_FAIR_SHARE_OF_CONTROLS: Final = 0.02
# A bracket alone is not enough: a column of a table may be called `{x}`.
_BEGINS_JSON: Final = re.compile(rb'\{\s*["}]|\[\s*\{\s*["}]|\[\s*\[\s*["\[\]\d{-]|\[[\r\n]')


def ending(source: SourceFile) -> str:
    """The last ending of the file's name, in small letters, `.gz` taken off."""
    name = source.path.name.lower().removesuffix(".gz")
    return name.rpartition(".")[2] if "." in name.lstrip(".") else ""


def recognise(source: SourceFile, head: bytes) -> Reader:
    """Who can read a file that begins with `head` (unpacked already); raises `NotReadable`."""
    if not head.strip(b"\x00\t\n\r \xef\xbb\xbf"):
        raise NotReadable("it is empty" if not head.strip(b"\x00") else "it holds nothing but blanks")
    if reader := _by_signature(source, head):
        return reader
    if why := _DOCUMENTS.get(ending(source)):
        raise NotReadable(why)
    if not _is_text(head):
        raise NotReadable("it is binary data of a kind that is not known")
    return _kind_of_text(source, head)


def is_surely_a_table(source: SourceFile) -> bool:
    """The name says that it is a table of text: then one column is a table too."""
    return ending(source) in _TABLE_ENDINGS


def _by_signature(source: SourceFile, head: bytes) -> Reader | None:
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return _kind_of_zip(source)
    if head.startswith(_LEGACY_WORKBOOK):
        raise NotReadable(_why_no_legacy_workbook(source, head))
    if head.startswith(b"PAR1") and not head.startswith(b"PAR1\x00"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "feather"
    if head.startswith(b"SQLite format 3\x00"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    later = (why for offset, signature, why in _LATER_SIGNATURES if head.startswith(signature, offset))
    if why := next((why for why, first in _SIGNATURES.items() if head.startswith(first)), next(later, "")):
        raise NotReadable(why)
    return None


def _kind_of_zip(source: SourceFile) -> Reader:
    match ending(source):
        case "xlsx" | "xlsm" | "xltx" | "xltm":
            return "excel"
        case "docx" | "pptx" | "odt" | "odp" | "pages" | "epub":
            raise NotReadable("it is a document, no table")
        case "ods" | "xlsb" | "numbers":
            raise NotReadable("it is a workbook of another program; save it as .xlsx")
        case _:
            raise NotReadable("it is an archive (zip); unpack it first")


def _why_no_legacy_workbook(source: SourceFile, head: bytes) -> str:
    if "EncryptedPackage".encode("utf-16-le") in head:
        return "it is encrypted: take its password off first"
    if ending(source) in ("xlsx", "xlsm"):
        return "it is encrypted, or a workbook of an old Excel: save it as .xlsx without a password"
    return "it is a workbook of an old Excel (.xls) or another old Office file; save it as .xlsx"


def _is_text(head: bytes) -> bool:
    sample = head[: 1 << 16]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or _wide_without_mark(sample):
        return True
    controls = sum(sample.count(code) for code in range(32) if code not in (9, 10, 12, 13, 26, 27))
    return controls <= max(2, len(sample) * _FAIR_SHARE_OF_CONTROLS)


def _kind_of_text(source: SourceFile, head: bytes) -> Reader:
    start = head.lstrip(b"\xef\xbb\xbf\t\n\r ")[:64]
    if ending(source) in ("jsonl", "ndjson"):
        return "jsonl"
    if ending(source) in ("json", "geojson") or _BEGINS_JSON.match(start):
        return "jsonl" if _is_one_object_a_line(head) else "json"
    if start[:1] == b"<" and start[1:5].lower() in (b"!doc", b"html", b"?xml", b"svg ", b"rss "):
        raise NotReadable("it is a web page or XML, no table")
    return "text"


def _is_one_object_a_line(head: bytes) -> bool:
    lines = [line.strip() for line in head.split(b"\n", 3)[:3]]
    lines = [line for line in lines if line]
    return len(lines) >= 2 and all(line.startswith(b"{") and line.endswith((b"}", b"},")) for line in lines[:2])
