"""One request and its answer with one side of the proxy: h11 reads and writes them, over a line."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

import anyio.lowlevel
import h11

from cellwright.sandbox.egress.heads import BadHead, ConnectHead, RequestHead, in_short, parse_request, read_head
from cellwright.sandbox.egress.lines import Line, Spoilt

_END_OF_HEAD: Final = b"\r\n\r\n"


class HttpSide:
    """One exchange with a client or a server; another one needs another, after `hand_over`."""

    def __init__(
        self, line: Line, they: Literal["client", "server"], *, most: int, count: Callable[[int], None] | None = None
    ) -> None:
        """`most` bytes are read of one head or line; `count` is told of what arrives."""
        self.line = line
        self._most = most
        self._count = count
        self._http = h11.Connection(h11.SERVER if they == "client" else h11.CLIENT, max_incomplete_event_size=most)

    async def request(self) -> ConnectHead | RequestHead | BadHead:
        """What the client asks for."""
        return parse_request(self._http, await self.line.read_until(_END_OF_HEAD, most=self._most))

    async def response(self) -> h11.Response | h11.InformationalResponse:
        """A head of the server's. `Spoilt` if it is none."""
        raw = await self.line.read_until(_END_OF_HEAD, most=self._most)
        if not raw:
            raise Spoilt("it hung up")
        self._arrived(len(raw) + len(_END_OF_HEAD))
        head = read_head(self._http, raw)
        if isinstance(head, BadHead):
            raise Spoilt(head.why)
        assert not isinstance(head, h11.Request)
        return head

    async def body(self) -> bytes:
        """The next piece of the body; empty at the end. `Spoilt` when it does not end as announced."""
        while True:
            # One piece may hold thousands of chunks: others must have their turn, and deadlines must pass.
            await anyio.lowlevel.checkpoint()
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise Spoilt(in_short(error)) from error
            if isinstance(event, h11.Data):
                return event.data
            if event is not h11.NEED_DATA:
                return b""
            data = await self.line.receive()
            self._arrived(len(data))
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

    def _arrived(self, count: int) -> None:
        if self._count is not None:
            self._count(count)
