"""An encrypted connection, passed through unopened once its greeting names the host that was approved."""

from __future__ import annotations

import anyio

from cellwright.sandbox.egress import hello
from cellwright.sandbox.egress.lines import Line
from cellwright.sandbox.egress.passages import Passage, Turned, both
from cellwright.sandbox.egress.targets import normal_host
from cellwright.sandbox.egress.verdicts import EgressCaps


async def tunnel(passage: Passage, server: Line, caps: EgressCaps) -> None:
    """Pass an encrypted connection through, once its greeting names the host that was approved."""
    await passage.answer(b"HTTP/1.1 200 Connection established\r\n\r\n")
    greeting = await _greeting(passage, caps)
    await passage.send(server, greeting)

    async def outwards() -> None:
        while data := await passage.client.receive():
            await passage.send(server, data)
        server.end_sending()

    async def inwards() -> None:
        while data := await server.receive():
            passage.received(len(data))
            await passage.answer(data)
        passage.client.end_sending()

    async with passage.within_idle_time():
        await both(outwards, inwards)


async def _greeting(passage: Passage, caps: EgressCaps) -> bytes:
    data = b""
    try:
        with anyio.fail_after(caps.head_seconds):
            while (found := hello.parse_hello(data)) is None:
                piece = await passage.client.receive(hello.MOST_BYTES)
                if not piece:
                    raise Turned(403, "the connection ended before its TLS greeting")
                data += piece
    except TimeoutError:
        raise Turned(403, "there was no TLS greeting in time") from None
    why = _why_not_for(found, passage.host)
    if why is not None:
        await passage.client.send(hello.DENIED_ALERT)
        raise Turned(403, why)
    return data


def _why_not_for(found: hello.Hello | hello.BadHello, host: str) -> str | None:
    if isinstance(found, hello.BadHello):
        return f"{found.why}, and only TLS may go through to host {host!r}"
    if found.server_name is not None and normal_host(found.server_name) != host:
        return f"the TLS greeting names {found.server_name[:80]!r}, but host {host!r} was asked for"
    return None
