"""How the bytes of a text become characters: told by marks, proven by UTF-8's own rules, else guessed and said."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, Self, cast

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
        stream, size = opened.stream, path.stat().st_size
        if compression or size <= _SCAN_ALL_BELOW:
            left = _SCAN_ALL_BELOW
            while left > 0 and (block := stream.read(_SCAN_BLOCK)):
                block += _rest_of_character(stream, block)
                left -= len(block)
                yield block
            return
        for number in range(_BLOCKS_OF_LARGE):
            stream.seek(number * (size - _SCAN_BLOCK) // (_BLOCKS_OF_LARGE - 1))
            block = stream.read(_SCAN_BLOCK)
            yield block.lstrip(bytes(range(0x80, 0xC0)))[: -_started(block) or None]


def _rest_of_character(stream: IO[bytes], block: bytes) -> bytes:
    """What is missing of a character of several bytes that the block's end cuts."""
    started = _started(block)
    if not started:
        return b""
    first = block[-started]
    length = 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2
    return stream.read(max(0, length - started))


def _started(block: bytes) -> int:
    """How many bytes of an unfinished character stand at the block's end."""
    for back in range(1, min(4, len(block)) + 1):
        byte = block[-back]
        if byte >= 0xC0:
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2
            return back if back < length else 0
        if byte < 0x80:
            return 0
    return 0


def _wide_without_mark(head: bytes) -> str:
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
    best = _least_messy(evidence)
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
