"""How a judged request goes on: as a plain HTTP exchange, as a TLS tunnel, or through the person's own proxy.

A plain exchange is written anew in both directions; a tunnel is passed through unopened once its ClientHello names
the host that was approved.
"""

from __future__ import annotations

from typing import Final

import anyio
import h11

from cellwright.network import Proxy
from cellwright.policy.hosts import Address
from cellwright.sandbox.egress import client_hello
from cellwright.sandbox.egress.buffered_socket import BufferedSocket, HttpViolation
from cellwright.sandbox.egress.destinations import BadInput, EgressCaps, Target, normal_host
from cellwright.sandbox.egress.http_messages import HttpSide, RequestHead, credentials, for_client
from cellwright.sandbox.egress.proxied_request import ProxiedRequest, RequestRejected, run_both

_MOST_INTERIM = 10


async def exchange(
    proxied: ProxiedRequest,
    request: RequestHead,
    client: HttpSide,
    server_line: BufferedSocket,
    caps: EgressCaps,
    through: Proxy | None = None,
) -> bool:
    """One request and its answer; whether the client's connection can be used for another."""
    if request.announced_bytes > proxied.totals.room_out(proxied.host):
        raise RequestRejected(403, f"host {proxied.host!r}: the upload is larger than this notebook may send")
    server = HttpSide(server_line, "server", most=caps.header_bytes, count=proxied.received)

    async def upload() -> None:
        try:
            await proxied.send(server_line, server.written(request.forwarded(through)))
            if client.awaits_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                await proxied.client.send(client.written(go_on))
            while data := await client.body():
                await proxied.send(server_line, server.written(h11.Data(data=data)))
            await proxied.send(server_line, server.written(h11.EndOfMessage()))
        except ConnectionError:
            # A server may answer and hang up before it has read everything.
            return
        except HttpViolation as error:
            raise RequestRejected(400, f"the request is malformed: {error}") from error

    async def download() -> None:
        try:
            await proxied.answer(client.written(for_client(await _final(server))))
            while data := await server.body():
                await proxied.answer(client.written(h11.Data(data=data)))
            await proxied.answer(client.written(h11.EndOfMessage()))
        except HttpViolation as error:
            raise RequestRejected(502, f"host {proxied.host!r} gave no proper answer: {error}") from error

    async with proxied.within_idle_time():
        await run_both(upload, download)
    return client.hand_over()


async def _final(server: HttpSide) -> h11.Response:
    for _ in range(_MOST_INTERIM):
        head = await server.response()
        if isinstance(head, h11.Response):
            return head
    raise HttpViolation("it never came to an answer")


_OK: Final = 200
_ASKS_WHO: Final = 407


async def connect_through(proxy: Proxy, addresses: list[Address]) -> BufferedSocket:
    """A connection to the proxy. Raises `RequestRejected`."""
    if proxy.scheme != "http":
        raise RequestRejected(
            502, f"the proxy of this machine is set as {proxy.scheme}://, and notebooks need one at http://"
        )
    why = "it was not found"
    for address in addresses:
        try:
            return await BufferedSocket.connect(address, proxy.port)
        except OSError as error:
            why = error.strerror or str(error)
    raise RequestRejected(502, f"the proxy of this machine, {proxy.host}:{proxy.port}, cannot be reached: {why}")


async def open_tunnel(proxy: Proxy, target: Target, line: BufferedSocket, *, most: int) -> None:
    """Have the proxy connect to the target by its name. Raises `RequestRejected`."""
    # A CONNECT always names its port, so no default is left out.
    authority = target.authority(default_port=0)
    request = h11.Request(
        method="CONNECT", target=authority, headers=[(b"Host", authority.encode()), *credentials(proxy)]
    )
    side = HttpSide(line, "server", most=most)
    await line.send(side.written(request))
    try:
        answer = await side.response()
    except HttpViolation as error:
        raise RequestRejected(502, f"the proxy of this machine gave no proper answer: {error}") from error
    if answer.status_code == _ASKS_WHO:
        raise RequestRejected(502, "the proxy of this machine wants another user or password")
    if answer.status_code != _OK:
        raise RequestRejected(
            502, f"the proxy of this machine does not lead to host {target.host!r}: it says {answer.status_code}"
        )


async def tunnel(proxied: ProxiedRequest, server: BufferedSocket, caps: EgressCaps) -> None:
    """Pass an encrypted connection through, once its greeting names the host that was approved."""
    await proxied.answer(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await proxied.send(server, await _greeting(proxied, caps))

    async def outwards() -> None:
        while data := await proxied.client.receive():
            await proxied.send(server, data)
        server.end_sending()

    async def inwards() -> None:
        while data := await server.receive():
            proxied.received(len(data))
            await proxied.answer(data)
        proxied.client.end_sending()

    async with proxied.within_idle_time():
        await run_both(outwards, inwards)


async def _greeting(proxied: ProxiedRequest, caps: EgressCaps) -> bytes:
    data = b""
    try:
        with anyio.fail_after(caps.head_seconds):
            while (found := client_hello.parse_client_hello(data)) is None:
                piece = await proxied.client.receive(client_hello.MOST_BYTES)
                if not piece:
                    raise RequestRejected(403, "the connection ended before its TLS greeting")
                data += piece
    except TimeoutError:
        raise RequestRejected(403, "there was no TLS greeting in time") from None
    why = _why_not_for(found, proxied.host)
    if why is not None:
        await proxied.client.send(client_hello.DENIED_ALERT)
        raise RequestRejected(403, why)
    return data


def _why_not_for(found: client_hello.ClientHello | BadInput, host: str) -> str | None:
    if isinstance(found, BadInput):
        return f"{found.why}, and only TLS may go through to host {host!r}"
    if found.server_name is not None and normal_host(found.server_name) != host:
        return f"the TLS greeting names {found.server_name[:80]!r}, but host {host!r} was asked for"
    return None
