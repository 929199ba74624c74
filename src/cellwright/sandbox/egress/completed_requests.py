"""Requests that somebody else completes, who has the secret that belongs into them: plain values.

The proxy passes one on over a socket that it is given, and never learns what is put in; or it is given an answer of
before, and nothing is sent. A request for an object at the proxy's own port names its connection in the place of an
access key.
"""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import parse_qs

import h11

from cellwright.sandbox.egress.destinations import Denied, Target
from cellwright.sandbox.linux import proxy_listener
from cellwright.sandbox.spec import PROXY_PORT

OWN_PORT: Final = Target(host=proxy_listener.ADDRESS, port=PROXY_PORT)
"""Where the proxy itself is, seen from the cage."""
_MOST_FIELDS: Final = 100
_SIGNED: Final = re.compile(rb"AWS4-HMAC-SHA256\s.*?Credential=([^/,\s]{1,80})/", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedExchange:
    """One request that a notebook wants completed."""

    target: Target
    method: str
    path: str
    """With its query."""
    headers: tuple[tuple[str, str], ...] = ()
    """As they were written, names in lower case."""
    key_id: str = ""
    """The access key it names, where it asks the proxy itself for an object."""
    run: int = 0
    """In which run of cells it was asked, by its number; 0: no cells run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHead:
    """How an answer begins, for whoever gets it."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """As they were written."""

    def header(self, name: str) -> str:
        """The values of a header, with commas between; empty: it is not there."""
        return ", ".join(value for key, value in self.headers if key.lower() == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer of before, whole, that is given again."""

    head: AnswerHead
    body: bytes


class AnswerListener(Protocol):
    """Hears an answer while it passes."""

    def begin(self, head: AnswerHead) -> KeptAnswer | None:
        """Its head; what comes back is given in its place."""
        ...

    def take(self, data: bytes) -> None:
        """The next piece of its body."""

    def end(self, *, is_whole: bool) -> None:
        """It has passed, or was broken off. Told once, whatever happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedAnswer:
    """What came back for a request, when all of it did."""

    status: int
    bytes: int
    sha256: str
    """Of the body."""


@dataclass(slots=True)
class AnswerDigest:
    """What an answer was, counted while it passes."""

    on_answer: Callable[[CompletedAnswer], None]
    """Told when it has passed as a whole."""
    _status: int = 0
    _size: int = 0
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def begin(self, head: AnswerHead) -> None:
        """Its head."""
        self._status = head.status

    def take(self, data: bytes) -> None:
        """The next piece of its body."""
        self._size += len(data)
        self._digest.update(data)

    def end(self, *, is_whole: bool) -> None:
        """It has passed, or was broken off."""
        if is_whole:
            self.on_answer(CompletedAnswer(status=self._status, bytes=self._size, sha256=self._digest.hexdigest()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLine:
    """A socket on which exactly one request is completed. Whoever gets it closes it."""

    socket: socket.socket
    name: str
    """By whom, for the record."""
    headers: tuple[tuple[str, str], ...] = ()
    """That the request has besides its own."""
    listener: AnswerListener | None = None


OpenExchangeLine = Callable[[WantedExchange], Awaitable[ExchangeLine | KeptAnswer]]
"""Raises `CellwrightError` where that may not be or cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """Requests to this host are completed by somebody else, and go nowhere but there."""

    open: OpenExchangeLine


FindCompleted = Callable[[Target], Awaitable[Completed | Denied | None]]
"""Asked about every host, before the list; None: it is a host like any other."""


async def nobody_completes(target: Target) -> Completed | Denied | None:
    """Every host is like any other."""
    return None


def key_id_of(request: h11.Request) -> str:
    """The access key a request for an object is signed with; empty if it is none."""
    found = [_SIGNED.match(value) for name, value in request.headers if name == b"authorization"]
    if found and found[0] is not None:
        return found[0][1].decode("latin-1")
    query = request.target.partition(b"?")[2].decode("latin-1")
    given = parse_qs(query, max_num_fields=_MOST_FIELDS) if query.count("&") < _MOST_FIELDS else {}
    credential = given.get("X-Amz-Credential") or given.get("AWSAccessKeyId") or [""]
    return credential[0].partition("/")[0][:80]
