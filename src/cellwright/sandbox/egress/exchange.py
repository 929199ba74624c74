"""One plain HTTP request and its answer, both written anew: the server sees only what we understood."""

from __future__ import annotations

import h11

from cellwright.connection import Proxy
from cellwright.sandbox.egress.heads import RequestHead, for_client
from cellwright.sandbox.egress.lines import Line, Spoilt
from cellwright.sandbox.egress.messages import HttpSide
from cellwright.sandbox.egress.passages import Passage, Turned, both
from cellwright.sandbox.egress.verdicts import EgressCaps

_MOST_INTERIM = 10


async def exchange(
    passage: Passage,
    request: RequestHead,
    client: HttpSide,
    server_line: Line,
    caps: EgressCaps,
    through: Proxy | None = None,
) -> bool:
    """One request and its answer; whether the client's connection can be used for another."""
    if request.announced_bytes > passage.ledger.room_out(passage.host):
        raise Turned(403, f"host {passage.host!r}: the upload is larger than this notebook may send")
    server = HttpSide(server_line, "server", most=caps.header_bytes, count=passage.received)

    async def upload() -> None:
        try:
            await passage.send(server_line, server.written(request.forwarded(through)))
            if client.awaits_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                await passage.client.send(client.written(go_on))
            while data := await client.body():
                await passage.send(server_line, server.written(h11.Data(data=data)))
            await passage.send(server_line, server.written(h11.EndOfMessage()))
        except ConnectionError:
            # A server may answer and hang up before it has read everything.
            return
        except Spoilt as error:
            raise Turned(400, f"the request is malformed: {error}") from error

    async def download() -> None:
        try:
            await passage.answer(client.written(for_client(await _final(server))))
            while data := await server.body():
                await passage.answer(client.written(h11.Data(data=data)))
            await passage.answer(client.written(h11.EndOfMessage()))
        except Spoilt as error:
            raise Turned(502, f"host {passage.host!r} gave no proper answer: {error}") from error

    async with passage.within_idle_time():
        await both(upload, download)
    return client.hand_over()


async def _final(server: HttpSide) -> h11.Response:
    for _ in range(_MOST_INTERIM):
        head = await server.response()
        if isinstance(head, h11.Response):
            return head
    raise Spoilt("it never came to an answer")
