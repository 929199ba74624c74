"""Requests as a cell's library wrote them, and as they are sent. Refused is what two servers could read in two ways."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import unquote, unquote_to_bytes

Headers = tuple[tuple[str, str], ...]
MAX_TARGET: Final = 8192
_TARGET: Final = re.compile(r"(/[^?#]*)(?:\?([^#]*))?")
_CHARACTERS: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?|\[\]\"{}^`<>-]|%[0-9A-Fa-f]{2})*")
"""What clients write into a target; `|` and the like are no part of the standard, but of what libraries send."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_DECODINGS: Final = 3
"""So often a path is decoded to see whether somebody on the way could read `..` in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRequest:
    """The head of a request as it came; hop-by-hop headers are gone."""

    method: str
    target: str
    headers: Headers = ()
    """Names in small letters."""
    has_body: bool = False

    def header(self, name: str) -> str | None:
        """The value of a header; that of the last, if it is there twice."""
        return dict(self.headers).get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """What is sent to the server, with whatever makes it the connection's own."""

    method: str
    target: str
    headers: Headers = field(repr=False)
    shown: str
    """For the audit: method and target as the cell may know them."""
    is_aws_chunked: bool = False
    """The body comes in chunks of Amazon's own kind, and goes out without them."""

    @property
    def access(self) -> Literal["read", "write"]:
        """Whether it may change something."""
        return "read" if self.method in {"GET", "HEAD", "OPTIONS"} else "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest:
    """It was not sent, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """A target that can be read in one way only."""

    path: str
    """As it was written."""
    query: tuple[tuple[str, str], ...]
    """Names and values, decoded."""
    raw_query: str | None
    """As it was written; None: there is no `?`."""


def read_target(target: str) -> RequestTarget | RefusedRequest:
    """Path and query of an origin-form target."""
    found = _TARGET.fullmatch(target)
    if found is None or len(target) > MAX_TARGET or not _CHARACTERS.fullmatch(target):
        return RefusedRequest(why="the path is no plain one, or longer than 8,192 characters")
    path, raw_query = found[1], found[2]
    if is_slippery(path):
        return RefusedRequest(why="the path has . or .. or control characters in it, perhaps encoded")
    pairs = [part.partition("=")[::2] for part in (raw_query or "").split("&") if part]
    query = tuple((_decoded(name), _decoded(value)) for name, value in pairs)
    if any(name is None or value is None for name, value in query):
        return RefusedRequest(why="the query is no UTF-8, or has control characters in it")
    return RequestTarget(
        path=path, query=tuple((name or "", value or "") for name, value in query), raw_query=raw_query
    )


def is_slippery(path: str) -> bool:
    """Whether a server that decodes it, even more than once, could be led to another folder."""
    for _ in range(_DECODINGS):
        # Some servers take what is after a semicolon for a parameter, and some a backslash for a slash.
        parts = (part.partition(";")[0].strip() for part in re.split(r"[/\\]", path))
        if _CONTROL.search(path) or "�" in path or any(part in {".", ".."} for part in parts):
            return True
        path = unquote(path)
    return False


def _decoded(text: str) -> str | None:
    try:
        plain = unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(plain) else plain
