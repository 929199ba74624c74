"""HTTP messages of one exchange with a client or a server, read and written by h11.

Refused is what two parsers could understand differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import anyio.lowlevel
import h11

from cellwright.http_heads import HeaderList as Headers
from cellwright.http_heads import end_to_end, in_short, read_message_head
from cellwright.network import Proxy
from cellwright.sandbox.egress.buffered_socket import BufferedSocket, HttpViolation
from cellwright.sandbox.egress.completed_requests import OWN_PORT, AnswerHead, key_id_of
from cellwright.sandbox.egress.destinations import BadInput, Target, parse_authority

_ABSOLUTE: Final = re.compile(r"(?i:http)://([^/?#]*)([^#]*)")
_NO_ADDRESS: Final = "only http:// addresses and CONNECT are understood here"
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectHead:
    """A client asks for an encrypted connection."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """A client asks for one HTTP exchange."""

    target: Target
    path: str
    request: h11.Request
    """As it was understood."""
    scheme: Literal["http", "https"] = "http"
    """https: it was said inside of a TLS connection that ends here."""
    key_id: str = ""
    """Its access key, where it asks the proxy itself for an object."""

    @property
    def announced_bytes(self) -> int:
        """How long it says its body is; 0 where it says nothing."""
        return int(dict(self.request.headers).get(b"content-length", b"0"))

    def forwarded(self, through: Proxy | None = None, more: Sequence[tuple[str, str]] = ()) -> h11.Request:
        """The head for the server, or for the proxy on the way to it: one exchange, nothing of the hop to us.

        It has `more` headers besides its own.
        """
        authority = self.target.authority(default_port=_PORTS[self.scheme])
        address = self.path if through is None else f"http://{authority}{self.path}"
        headers = [(b"Host", authority.encode()), *_end_to_end(self.request)]
        headers += [(name.encode("ascii"), value.encode("latin-1")) for name, value in more]
        if (b"transfer-encoding", b"chunked") in self.request.headers:
            headers.append((b"Transfer-Encoding", b"chunked"))
        headers += [*credentials(through), (b"Connection", b"close")]
        return h11.Request(method=self.request.method, target=address, headers=headers)


def read_head(http: h11.Connection, raw: bytes) -> h11.Request | h11.Response | h11.InformationalResponse | BadInput:
    """What h11 makes of a head, given without its final empty line."""
    head = read_message_head(http, raw)
    return BadInput(why=head) if isinstance(head, str) else head


def parse_request(
    http: h11.Connection, raw: bytes, inside: Target | None = None
) -> ConnectHead | RequestHead | BadInput:
    """A client's head without its final empty line; `http` goes on with its body.

    `inside` is the host whose TLS connection it was said in, where that ends here: it must be meant, and no other.
    """
    request = read_head(http, raw)
    if isinstance(request, BadInput):
        return request
    assert isinstance(request, h11.Request)
    text = request.target.decode("ascii")
    if request.http_version == b"1.0" and b"transfer-encoding" in dict(request.headers):
        return BadInput(why="HTTP/1.0 knows no chunks")
    if text.startswith("/"):
        return _parse_own(text, request, inside)
    if inside is not None:
        return BadInput(why="only paths of the host are understood inside of its TLS connection")
    if request.method == b"CONNECT":
        return _connect(text, request)
    absolute = _ABSOLUTE.fullmatch(text)
    if absolute is None:
        return BadInput(why=_NO_ADDRESS)
    target = parse_authority(absolute[1], default_port=80)
    if isinstance(target, BadInput):
        return target
    path = absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"
    mismatch = _host_mismatch(request, target, default_port=80)
    key_id = key_id_of(request) if target == OWN_PORT else ""
    return mismatch or RequestHead(target=target, path=path, request=request, key_id=key_id)


def _parse_own(text: str, request: h11.Request, inside: Target | None) -> RequestHead | BadInput:
    """A request that names only a path: said to the host of a connection that ends here, or to the proxy itself."""
    key_id = "" if inside is not None else key_id_of(request)
    target = inside or OWN_PORT
    if b"host" not in dict(request.headers) or "#" in text or (inside is None and not key_id):
        return BadInput(why=_NO_ADDRESS)
    mismatch = _host_mismatch(request, target, default_port=_PORTS["https"])
    return mismatch or RequestHead(
        target=target, path=text, request=request, scheme="http" if inside is None else "https", key_id=key_id
    )


def for_client(response: h11.Response) -> h11.Response:
    """A server's answer without what was meant for us; h11 says to the client how its body ends."""
    return h11.Response(status_code=response.status_code, headers=_end_to_end(response), reason=response.reason)


def answer_head(response: h11.Response) -> AnswerHead:
    """An answer's head as a plain value."""
    return AnswerHead(
        status=response.status_code,
        reason=response.reason.decode("latin-1"),
        headers=tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in response.headers.raw_items()),
    )


def response_of(head: AnswerHead) -> h11.Response:
    """And the other way round."""
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in head.headers]
    return h11.Response(status_code=head.status, headers=headers, reason=head.reason.encode("latin-1"))


def credentials(proxy: Proxy | None) -> Headers:
    """What the person's proxy wants to know of whoever asks."""
    if proxy is None or not proxy.authorization:
        return []
    return [(b"Proxy-Authorization", proxy.authorization.encode("latin-1"))]


def _connect(text: str, request: h11.Request) -> ConnectHead | BadInput:
    target = parse_authority(text, default_port=None)
    if isinstance(target, BadInput):
        return target
    headers = dict(request.headers)
    if b"transfer-encoding" in headers or int(headers.get(b"content-length", b"0")):
        return BadInput(why="CONNECT has no body")
    return _host_mismatch(request, target, default_port=target.port) or ConnectHead(target=target)


def _host_mismatch(request: h11.Request, target: Target, *, default_port: int) -> BadInput | None:
    host = dict(request.headers).get(b"host")
    if host is None or parse_authority(host.decode("latin-1"), default_port=default_port) == target:
        return None
    return BadInput(why="the Host header names another host than the request")


def _end_to_end(message: h11.Request | h11.Response) -> Headers:
    return end_to_end(message.headers.raw_items())


_END_OF_HEAD: Final = b"\r\n\r\n"


class HttpSide:
    """One exchange with a client or a server; another one needs another, after `hand_over`."""

    def __init__(
        self,
        line: BufferedSocket,
        they: Literal["client", "server"],
        *,
        most: int,
        count: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`most` bytes are read of one head or line; `count` is told of what arrives."""
        self.line = line
        self._most = most
        self._count = count
        self._http = h11.Connection(h11.SERVER if they == "client" else h11.CLIENT, max_incomplete_event_size=most)

    async def request(self, inside: Target | None = None) -> ConnectHead | RequestHead | BadInput:
        """What the client asks for; `inside`: of the host whose TLS connection this is."""
        return parse_request(self._http, await self.line.read_until(_END_OF_HEAD, most=self._most), inside)

    async def response(self) -> h11.Response | h11.InformationalResponse:
        """A head of the server's. `HttpViolation` if it is none."""
        raw = await self.line.read_until(_END_OF_HEAD, most=self._most)
        if not raw:
            raise HttpViolation("it hung up")
        self._count(len(raw) + len(_END_OF_HEAD))
        head = read_head(self._http, raw)
        if isinstance(head, BadInput):
            raise HttpViolation(head.why)
        assert not isinstance(head, h11.Request)
        return head

    async def body(self) -> bytes:
        """The next piece of the body; empty at the end. `HttpViolation` when it does not end as announced."""
        while True:
            # One piece may hold thousands of chunks: others must have their turn, and deadlines must pass.
            await anyio.lowlevel.checkpoint()
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise HttpViolation(in_short(error)) from error
            if isinstance(event, h11.Data):
                return event.data
            if event is not h11.NEED_DATA:
                return b""
            data = await self.line.receive()
            self._count(len(data))
            self._http.receive_data(data)

    def written(self, event: h11.Event) -> bytes:
        """The bytes that say this to the other side."""
        return self._http.send(event) or b""

    @property
    def awaits_continue(self) -> bool:
        """Whether the client holds its body back until it is asked for it."""
        return self._http.they_are_waiting_for_100_continue

    def hand_over(self) -> bool:
        """Whether both have said all; then the line goes on where this exchange ended."""
        with suppress(h11.RemoteProtocolError):
            # The end of a body is an event of its own, which a fast answer may have come before.
            if self._http.their_state is h11.SEND_BODY:
                self._http.next_event()
        is_over = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if is_over:
            self.line.give_back(self._http.trailing_data[0])
        return is_over
