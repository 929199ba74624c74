"""HTTP heads, read strictly: what two parsers could understand differently is refused, not guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from cellwright.connection import Proxy
from cellwright.sandbox.egress.targets import BadTarget, Target, parse_authority

Headers = tuple[tuple[str, str], ...]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([\x21-\x7e]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(r"HTTP/1\.[01] ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
_HEADER = re.compile(rf"({_TOKEN}):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_LENGTH = re.compile(r"[0-9]{1,15}")
_ABSOLUTE = re.compile(r"(?i:http)://([^/?#]*)([^#]*)")
_MOST_HEADERS = 100
_HOP_BY_HOP = {
    "connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "trailer",
    "transfer-encoding", "upgrade", "expect", "host", "content-length",
}  # fmt: skip
"""Meant for the next hop, or written anew by us."""


@dataclass(frozen=True, slots=True)
class Body:
    """How a message's body ends: there is none, after `length` bytes, with its last chunk, or with the connection."""

    ends: Literal["none", "length", "chunked", "close"]
    length: int = 0


NO_BODY = Body("none")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadHead:
    """A head that is refused, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectHead:
    """A client asks for an encrypted connection."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """A client asks for one plain HTTP exchange."""

    method: str
    target: Target
    path: str
    headers: Headers
    body: Body
    is_old: bool
    """HTTP/1.0: knows no chunks."""
    keeps_alive: bool
    expects_continue: bool

    def forwarded(self, through: Proxy | None = None) -> bytes:
        """The head for the server, or for the proxy on the way to it: one exchange, nothing of the hop to us."""
        authority = self.target.authority(default_port=80)
        headers: Headers = (("Host", authority), *_end_to_end(self.headers))
        if through is not None and through.authorization:
            headers = (*headers, ("Proxy-Authorization", through.authorization))
        address = self.path if through is None else f"http://{authority}{self.path}"
        return _head(f"{self.method} {address} HTTP/1.1", headers, self.body, close=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHead:
    """A server's answer."""

    status: int
    reason: str
    headers: Headers
    body: Body

    def forwarded(self, *, body: Body, close: bool, announced: int | None = None) -> bytes:
        """The head for the client; `announced` is the length that an answer without its body speaks of."""
        extra = () if announced is None else (("Content-Length", str(announced)),)
        line = f"HTTP/1.1 {self.status} {self.reason}"
        return _head(line, (*_end_to_end(self.headers), *extra), body, close=close)

    @property
    def announced_length(self) -> int | None:
        """The Content-Length it names, body or not."""
        told = [value for name, value in self.headers if name.lower() == "content-length"]
        return int(told[0]) if told else None


def parse_request(head: bytes) -> ConnectHead | RequestHead | BadHead:
    """A request head without its final empty line."""
    split = _split(head)
    if isinstance(split, BadHead):
        return split
    first, headers = split
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        return BadHead(why="the request line is malformed")
    method, text, is_old = line[1], line[2], line[3] == "0"
    body = _request_body(headers, is_old=is_old)
    if isinstance(body, BadHead):
        return body
    if method == "CONNECT":
        return _connect(text, headers, body)
    absolute = _ABSOLUTE.fullmatch(text)
    if absolute is None:
        return BadHead(why="only http:// addresses and CONNECT are understood here")
    target = parse_authority(absolute[1], default_port=80)
    if isinstance(target, BadTarget):
        return BadHead(why=target.why)
    if (mismatch := _host_mismatch(headers, target, default_port=80, is_needed=not is_old)) is not None:
        return mismatch
    path = absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"
    connection = _words(headers, "connection") | _words(headers, "proxy-connection")
    return RequestHead(
        method=method,
        target=target,
        path=path,
        headers=headers,
        body=body,
        is_old=is_old,
        keeps_alive="keep-alive" in connection if is_old else "close" not in connection,
        expects_continue="100-continue" in _words(headers, "expect"),
    )


def parse_response(head: bytes, *, method: str) -> ResponseHead | BadHead:
    """A server's head without its final empty line."""
    split = _split(head)
    if isinstance(split, BadHead):
        return split
    first, headers = split
    line = _STATUS_LINE.fullmatch(first)
    if line is None:
        return BadHead(why="the status line is malformed")
    body = _framing(headers)
    if isinstance(body, BadHead):
        return body
    status = int(line[1])
    if method == "HEAD" or status < 200 or status in {204, 304}:
        body = NO_BODY
    return ResponseHead(
        status=status, reason=line[2] or "", headers=headers, body=Body("close") if body is None else body
    )


def _split(head: bytes) -> tuple[str, Headers] | BadHead:
    first, *lines = head.decode("latin-1").split("\r\n")
    if len(lines) > _MOST_HEADERS:
        return BadHead(why="there are too many headers")
    headers: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith((" ", "\t")):
            return BadHead(why="a header is folded over several lines")
        match = _HEADER.fullmatch(line)
        if match is None:
            return BadHead(why="a header is malformed")
        headers.append((match[1], match[2]))
    return first, tuple(headers)


def _connect(text: str, headers: Headers, body: Body) -> ConnectHead | BadHead:
    target = parse_authority(text, default_port=None)
    if isinstance(target, BadTarget):
        return BadHead(why=target.why)
    if body not in {NO_BODY, Body("length", 0)}:
        return BadHead(why="CONNECT has no body")
    mismatch = _host_mismatch(headers, target, default_port=target.port, is_needed=False)
    return mismatch or ConnectHead(target=target)


def _host_mismatch(headers: Headers, target: Target, *, default_port: int, is_needed: bool) -> BadHead | None:
    hosts = [value for name, value in headers if name.lower() == "host"]
    if len(hosts) > 1 or (is_needed and not hosts):
        return BadHead(why="there must be one Host header")
    if hosts and parse_authority(hosts[0], default_port=default_port) != target:
        return BadHead(why="the Host header names another host than the request")
    return None


def _framing(headers: Headers) -> Body | BadHead | None:
    """How the body ends as the headers say, None where they say nothing."""
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    codings = [value for name, value in headers if name.lower() == "transfer-encoding"]
    if lengths and codings:
        return BadHead(why="Content-Length and Transfer-Encoding exclude each other")
    if len(lengths) > 1 or len(codings) > 1:
        return BadHead(why="the length of the body is given twice")
    if codings:
        is_known = codings[0].lower() == "chunked"
        return Body("chunked") if is_known else BadHead(why="the transfer coding is unknown")
    if lengths:
        is_number = _LENGTH.fullmatch(lengths[0]) is not None
        return Body("length", int(lengths[0])) if is_number else BadHead(why="the Content-Length is no number")
    return None


def _request_body(headers: Headers, *, is_old: bool) -> Body | BadHead:
    body = _framing(headers)
    if is_old and isinstance(body, Body) and body.ends == "chunked":
        return BadHead(why="HTTP/1.0 knows no chunks")
    return NO_BODY if body is None else body


def _words(headers: Headers, name: str) -> set[str]:
    values = [value for header, value in headers if header.lower() == name]
    return {word.strip().lower() for value in values for word in value.split(",")}


def _end_to_end(headers: Headers) -> Headers:
    dropped = _HOP_BY_HOP | _words(headers, "connection")
    return tuple((name, value) for name, value in headers if name.lower() not in dropped)


def _head(line: str, headers: Headers, body: Body, *, close: bool) -> bytes:
    framing = {
        "none": (),
        "length": (("Content-Length", str(body.length)),),
        "chunked": (("Transfer-Encoding", "chunked"),),
        "close": (),
    }[body.ends]
    connection = ("Connection", "close" if close else "keep-alive")
    lines = [line, *(f"{name}: {value}" for name, value in (*headers, *framing, connection))]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
