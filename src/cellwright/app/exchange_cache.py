"""Answers of object stores and APIs, kept while a notebook is open: a rerun, or a branch, of the same cell asks nobody.

The second equal request of a run of cells gets what the second got in an earlier run, and one more than there were is
sent: whoever asks until something changes sees it change. What was asked under other settings is another request. Kept
are the bytes as the cell got them, in this process's memory and nowhere else. Emptied by a write. Never used for a
proof.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

from cellwright.data.connection_options import READ_METHODS
from cellwright.sandbox.egress import AnswerHead, AnswerListener, KeptAnswer, WantedExchange

_STATUSES: Final = frozenset({200, 203, 206})
_NOT_MODIFIED: Final = 304
_OF_CONNECTION: Final = frozenset(
    {"host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "cache-control", "pragma"}
)
_OTHER_EACH_TIME: Final = frozenset(
    {"date", "traceparent", "tracestate", "baggage", "b3", "sentry-trace", "x-request-id", "request-id",
     "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context", "idempotency-key", "uber-trace-id"}
)  # fmt: skip
_OTHER_EACH_SIGNATURE: Final = frozenset(
    {"authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "user-agent", "x-amz-user-agent"}
)
"""Of requests for objects, whose signature is worth nothing."""
_FAMILIES: Final = ("x-b3-", "x-datadog-", "amz-sdk-")
_MOST_REQUESTS: Final = 100_000
"""Different ones of one run; what is beyond is not kept."""
_HEAD_BYTES: Final = 2_048
"""What an answer takes besides its body, about."""


class _RequestKey(NamedTuple):
    connection: str
    digest: bytes


class _AnswerKey(NamedTuple):
    request: _RequestKey
    turn: int
    """How often the same had been asked before in the same run."""


@dataclass(slots=True, kw_only=True)
class ExchangeCache:
    """Of one open notebook."""

    most_bytes: int = 1 << 30
    most_answers: int = 20_000
    most_answer_bytes: int = 64 << 20
    most_passing_bytes: int = 256 << 20
    """Of answers that come in now; beyond, some of them are not kept."""
    _kept: OrderedDict[_AnswerKey, KeptAnswer] = field(default_factory=OrderedDict[_AnswerKey, KeptAnswer])
    _bytes: int = 0
    _passing: int = 0
    _run: int = 0
    _asked: Counter[_RequestKey] = field(default_factory=Counter[_RequestKey])
    """How often in this run."""
    _writes: Counter[str] = field(default_factory=Counter[str])
    """How often each connection was emptied: what was asked before that is not kept after it."""

    def ask(self, connection: str, settings: Hashable, wanted: WantedExchange) -> KeptAnswer | AnswerRecording | None:
        """An answer of before; or who is to hear the one that comes; None: it is not kept."""
        words = _words(",".join(value for name, value in wanted.headers if name in {"cache-control", "pragma"}))
        if not wanted.run or wanted.method not in READ_METHODS or _has_body(wanted) or "no-store" in words:
            return None
        if wanted.run != self._run:
            self._run = wanted.run
            self._asked.clear()
        request = _key(connection, settings, wanted)
        if request not in self._asked and len(self._asked) >= _MOST_REQUESTS:
            return None
        key = _AnswerKey(request, self._asked[request])
        self._asked[request] += 1
        is_anew = bool(words & {"no-cache", "max-age=0"})
        known = self._find(key) or (self._find(key._replace(turn=key.turn - 1)) if is_anew else None)
        if known is not None and not is_anew:
            return known
        is_conditional = any(name.startswith("if-") for name, _ in wanted.headers)
        return AnswerRecording(
            cache=self, key=key, known=None if is_conditional else known, writes=self._writes[connection]
        )

    def forget(self, connection: str) -> None:
        """Whatever is known of it may be another by now."""
        self._writes[connection] += 1
        for key in [key for key in self._kept if key.request.connection == connection]:
            self._drop(key)

    def clear(self) -> None:
        """Forget all."""
        for connection in {key.request.connection for key in self._kept}:
            self.forget(connection)

    def keep(self, recording: AnswerRecording, answer: KeptAnswer) -> None:
        """Keep an answer, unless its connection was emptied since it was asked for."""
        key = recording.key
        if self._writes[key.request.connection] != recording.writes:
            return
        self._drop(key)
        self._kept[key] = answer
        self._bytes += _size(answer)
        while self._bytes > self.most_bytes or len(self._kept) > self.most_answers:
            self._drop(next(iter(self._kept)))

    def take_room(self, count: int) -> bool:
        """Whether there is room for so many bytes more that are passing; they are given back as a negative count."""
        if count > 0 and self._passing + count > self.most_passing_bytes:
            return False
        self._passing += count
        return True

    def _find(self, key: _AnswerKey) -> KeptAnswer | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def _drop(self, key: _AnswerKey) -> None:
        if (answer := self._kept.pop(key, None)) is not None:
            self._bytes -= _size(answer)


@dataclass(slots=True, kw_only=True)
class AnswerRecording(AnswerListener):
    """Keeps an answer while it passes, if it is one to be kept and comes whole."""

    cache: ExchangeCache
    key: _AnswerKey
    known: KeptAnswer | None
    """What is given again if the server says that nothing changed."""
    writes: int
    _head: AnswerHead | None = None
    """None: it is not kept."""
    _parts: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """By which the server is asked whether anything changed."""
        tag = "" if self.known is None else self.known.head.header("etag")
        return (("If-None-Match", tag),) if tag else ()

    def begin(self, head: AnswerHead) -> KeptAnswer | None:
        """Its head; what comes back is given in its place."""
        if self.known is not None and head.status == _NOT_MODIFIED:
            self.cache.keep(self, self.known)
            return self.known
        self._head = head if _may_be_kept(head) else None
        return None

    def take(self, data: bytes) -> None:
        """The next piece of its body."""
        if self._head is None:
            return
        if self._size + len(data) > self.cache.most_answer_bytes or not self.cache.take_room(len(data)):
            self._head = None
            return
        self._size += len(data)
        self._parts.append(bytes(data))

    def end(self, *, is_whole: bool) -> None:
        """It has passed, or was broken off."""
        if is_whole and self._head is not None:
            self.cache.keep(self, KeptAnswer(head=self._head, body=b"".join(self._parts)))
        self.cache.take_room(-self._size)
        self._parts, self._size, self._head = [], 0, None


def _key(connection: str, settings: Hashable, wanted: WantedExchange) -> _RequestKey:
    left_out = _OF_CONNECTION | _OTHER_EACH_TIME | (_OTHER_EACH_SIGNATURE if wanted.key_id else frozenset())
    headers = sorted(each for each in wanted.headers if each[0] not in left_out and not each[0].startswith(_FAMILIES))
    text = repr((connection, settings, wanted.method, wanted.path, headers))
    return _RequestKey(connection, sha256(text.encode("utf-8", "surrogatepass")).digest())


def _words(value: str) -> set[str]:
    return {word.strip().lower() for word in value.split(",")}


def _has_body(wanted: WantedExchange) -> bool:
    headers = dict(wanted.headers)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _may_be_kept(head: AnswerHead) -> bool:
    words = _words(head.header("cache-control"))
    return head.status in _STATUSES and "no-store" not in words and "*" not in _words(head.header("vary"))


def _size(answer: KeptAnswer) -> int:
    return len(answer.body) + _HEAD_BYTES
