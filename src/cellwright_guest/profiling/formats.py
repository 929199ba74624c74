"""Which format a file has: by what stands in it first, by its name only where that says nothing."""

from __future__ import annotations

import re
from typing import Final, Literal

from cellwright_guest.profiling.sources import NotReadable, Source

Reader = Literal["text", "json", "jsonl", "parquet", "feather", "excel", "sqlite", "duckdb"]

HEAD_BYTES: Final = 1 << 20

_SIGNATURES: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"\x89PNG", "it is a picture (PNG)"),
    (0, b"\xff\xd8\xff", "it is a picture (JPEG)"),
    (0, b"GIF8", "it is a picture (GIF)"),
    (0, b"II*\x00", "it is a picture (TIFF)"),
    (0, b"MM\x00*", "it is a picture (TIFF)"),
    (0, b"%PDF", "it is a PDF; save its tables as CSV first"),
    (0, b"7z\xbc\xaf\x27\x1c", "it is an archive (7z); unpack it first"),
    (0, b"Rar!", "it is an archive (RAR); unpack it first"),
    (0, b"BZh", "it is compressed (bzip2); unpack it first"),
    (0, b"\xfd7zXZ\x00", "it is compressed (xz); unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "it is compressed (zstd); unpack it first"),
    (257, b"ustar", "it is an archive (tar); unpack it first"),
    (0, b"\x7fELF", "it is a program"),
    (0, b"MZ\x90", "it is a program"),
    (0, b"\x89HDF", "it is an HDF5 file, which is not supported; save it as Parquet or CSV"),
    (0, b"CDF\x01", "it is a NetCDF file, which is not supported; save it as Parquet or CSV"),
    (0, b"CDF\x02", "it is a NetCDF file, which is not supported; save it as Parquet or CSV"),
    (0, b"\x93NUMPY", "it is a numpy array, which is not supported; save it as Parquet or CSV"),
    (0, b"\x80\x04\x95", "it is a pickle, which is never opened: it could run any program"),
    (0, b"\x80\x05\x95", "it is a pickle, which is never opened: it could run any program"),
    (0, b"$FL2", "it is an SPSS file, which is not supported; save it as CSV"),
    (0, b"<stata_dta>", "it is a Stata file, which is not supported; save it as CSV"),
    (0, b"Obj\x01", "it is an Avro file, which is not supported; save it as Parquet"),
    (0, b"ORC", "it is an ORC file, which is not supported; save it as Parquet"),
    (0, b"FEA1", "it is a Feather file of the first version; save it as Parquet"),
    (0, b"ID3", "it is a sound file (MP3)"),
    (0, b"RIFF", "it is a sound, film or picture file (RIFF)"),
    (0, b"fLaC", "it is a sound file (FLAC)"),
    (0, b"OggS", "it is a sound file (Ogg)"),
    (4, b"ftyp", "it is a film (MP4)"),
    (0, b"PAR1\x00", "it is a broken Parquet file"),
    (0, b"PARE", "it is encrypted"),
    (0, b"Salted__", "it is encrypted"),
    (0, b"-----BEGIN PGP", "it is encrypted"),
    (0, b"version https://git-lfs", "it is a pointer of Git LFS: the data itself was not fetched"),
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


def ending(source: Source) -> str:
    """The last ending of the file's name, in small letters, `.gz` taken off."""
    name = source.path.name.lower().removesuffix(".gz")
    return name.rpartition(".")[2] if "." in name.lstrip(".") else ""


def recognise(source: Source, head: bytes) -> Reader:
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


def is_surely_a_table(source: Source) -> bool:
    """The name says that it is a table of text: then one column is a table too."""
    return ending(source) in _TABLE_ENDINGS


def _by_signature(source: Source, head: bytes) -> Reader | None:
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
    for offset, signature, why in _SIGNATURES:
        if head[offset : offset + len(signature)] == signature:
            raise NotReadable(why)
    return None


def _kind_of_zip(source: Source) -> Reader:
    match ending(source):
        case "xlsx" | "xlsm" | "xltx" | "xltm":
            return "excel"
        case "docx" | "pptx" | "odt" | "odp" | "pages" | "epub":
            raise NotReadable("it is a document, no table")
        case "ods" | "xlsb" | "numbers":
            raise NotReadable("it is a workbook of another program; save it as .xlsx")
        case _:
            raise NotReadable("it is an archive (zip); unpack it first")


def _why_no_legacy_workbook(source: Source, head: bytes) -> str:
    if "EncryptedPackage".encode("utf-16-le") in head:
        return "it is encrypted: take its password off first"
    if ending(source) in ("xlsx", "xlsm"):
        return "it is encrypted, or a workbook of an old Excel: save it as .xlsx without a password"
    return "it is a workbook of an old Excel (.xls) or another old Office file; save it as .xlsx"


def _is_text(head: bytes) -> bool:
    sample = head[: 1 << 16]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or _has_wide_characters(sample):
        return True
    controls = sum(sample.count(code) for code in range(32) if code not in (9, 10, 12, 13, 26, 27))
    return controls <= max(2, len(sample) * _FAIR_SHARE_OF_CONTROLS)


def _has_wide_characters(sample: bytes) -> bool:
    """UTF-16 or UTF-32 without a mark: nearly every second byte is zero, on one side only."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    return max(even, odd) >= 0.4 * half and (min(even, odd) <= 0.05 * half or even + odd >= 1.4 * half)


def _kind_of_text(source: Source, head: bytes) -> Reader:
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
