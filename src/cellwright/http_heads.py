"""Heads of HTTP messages, read by h11 behind refusals of ours: what two parsers could read differently is refused.

Owns:   what is no clear head, which headers are meant for one hop only.
Above:  sandbox/egress and data/web_worker, which read what comes out of cages and from servers.   Below: nothing.
Never:  opens a socket, or says who may ask for what.
"""

from __future__ import annotations

import re
from typing import Final

import h11

HeaderList = list[tuple[bytes, bytes]]
_UNCLEAR: Final = re.compile(rb"[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n|\r\n[ \t]")
_FRAMING: Final = re.compile(rb"\r\n(?:content-length|transfer-encoding):([^\r]*)", re.IGNORECASE)
_MOST_HEADERS: Final = 100
_VERSIONS: Final = {b"1.0", b"1.1"}
_HOP_BY_HOP: Final = {
    b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"trailer",
    b"transfer-encoding", b"upgrade", b"expect", b"host",
}  # fmt: skip
"""Meant for the next hop, or written anew by us."""


def read_message_head(http: h11.Connection, raw: bytes) -> h11.Request | h11.Response | h11.InformationalResponse | str:
    """What h11 makes of a head, given without its final empty line; or why it is none."""
    lengths = _FRAMING.findall(raw)
    if raw.count(b"\r\n") > _MOST_HEADERS:
        return "there are too many headers"
    if _UNCLEAR.search(raw):
        return "a header is folded, or has a stray line end or control character"
    if len(lengths) > 1 or any(b"," in length for length in lengths):
        return "the length of the body is given twice"
    http.receive_data(raw + b"\r\n\r\n")
    try:
        event = http.next_event()
    except h11.RemoteProtocolError as error:
        return in_short(error)
    assert isinstance(event, h11.Request | h11.Response | h11.InformationalResponse)
    return event if event.http_version in _VERSIONS else "only HTTP/1.0 and HTTP/1.1 are understood here"


def in_short(error: h11.ProtocolError) -> str:
    """What is wrong, without the bytes that are: they may hold a secret, and the reason is written down."""
    return str(error).partition(":")[0]


def end_to_end(headers: HeaderList) -> HeaderList:
    """Headers without those that were meant for one hop."""
    named = [value for name, value in headers if name.lower() == b"connection"]
    dropped = _HOP_BY_HOP | {word.strip().lower() for value in named for word in value.split(b",")}
    # A length that the Connection header names is a trick, and would part what belongs together.
    return [(name, value) for name, value in headers if name.lower() not in dropped - {b"content-length"}]
