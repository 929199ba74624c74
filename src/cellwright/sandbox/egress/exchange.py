"""One plain HTTP request and its answer, both written anew: the server sees only what we understood."""

from __future__ import annotations

from cellwright.connection import Proxy
from cellwright.sandbox.egress.heads import BadHead, Body, RequestHead, ResponseHead, parse_response
from cellwright.sandbox.egress.lines import BodyReader, Line, Spoilt, as_chunk
from cellwright.sandbox.egress.passages import Passage, Turned, both
from cellwright.sandbox.egress.verdicts import EgressCaps

_MOST_INTERIM = 10


async def exchange(
    passage: Passage, request: RequestHead, server: Line, caps: EgressCaps, through: Proxy | None = None
) -> bool:
    """One request and its answer; whether the client's connection can be used for another."""
    if request.body.ends == "length" and request.body.length > passage.ledger.room_out(passage.host):
        raise Turned(403, f"host {passage.host!r}: the upload is larger than this notebook may send")
    uploading = BodyReader(passage.client, request.body)
    is_reusable = False

    async def upload() -> None:
        try:
            await passage.send(server, request.forwarded(through))
            if request.expects_continue and not uploading.is_over:
                await passage.client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await _upload(passage, uploading, server, request.body)
        except ConnectionError:
            # A server may answer and hang up before it has read everything.
            return

    async def download() -> None:
        nonlocal is_reusable
        is_reusable = await _download(passage, request, server, caps)

    async with passage.within_idle_time():
        await both(upload, download)
    return is_reusable and uploading.is_over


async def _upload(passage: Passage, reader: BodyReader, server: Line, body: Body) -> None:
    is_chunked = body.ends == "chunked"
    try:
        while data := await reader.next():
            await passage.send(server, as_chunk(data) if is_chunked else data)
    except Spoilt as error:
        raise Turned(400, f"the request is malformed: {error}") from error
    if is_chunked:
        await passage.send(server, as_chunk(b""))


async def _download(passage: Passage, request: RequestHead, server: Line, caps: EgressCaps) -> bool:
    try:
        response = await _response(passage, request, server, caps)
        body, close = _for_client(response.body, request)
        announced = response.announced_length if request.method == "HEAD" else None
        await passage.answer(response.forwarded(body=body, close=close, announced=announced))
        reader = BodyReader(server, response.body)
        while data := await reader.next():
            passage.received(len(data))
            await passage.answer(as_chunk(data) if body.ends == "chunked" else data)
        if body.ends == "chunked":
            await passage.answer(as_chunk(b""))
    except Spoilt as error:
        raise Turned(502, f"host {passage.host!r} gave no proper answer: {error}") from error
    return not close


def _for_client(body: Body, request: RequestHead) -> tuple[Body, bool]:
    """The same body in a form the client knows, and whether the connection must end with it."""
    if body.ends == "close" or (body.ends == "chunked" and request.is_old):
        return Body("close"), True
    return body, not request.keeps_alive


async def _response(passage: Passage, request: RequestHead, server: Line, caps: EgressCaps) -> ResponseHead:
    for _ in range(_MOST_INTERIM):
        head = await server.read_until(b"\r\n\r\n", most=caps.header_bytes)
        passage.received(len(head) + 4)
        response = parse_response(head, method=request.method)
        if isinstance(response, BadHead):
            raise Spoilt(response.why if head else "it hung up")
        if response.status >= 200:
            return response
        if response.status == 101:
            raise Spoilt("it changed the protocol")
    raise Spoilt("it never came to an answer")
