"""How a judged request goes on: as an HTTP exchange, as a TLS tunnel, or through the person's own proxy.

An exchange is written anew in both directions; a tunnel is passed through unopened once its ClientHello names the host
that was approved. TLS is opened for hosts whose requests are completed by somebody else, and for no others.
"""

from __future__ import annotations

import ssl
from typing import Final

import anyio
import h11

from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.network import Proxy
from cellwright.policy.hosts import Address
from cellwright.sandbox.egress import client_hello
from cellwright.sandbox.egress.buffered_socket import BufferedSocket, HttpViolation
from cellwright.sandbox.egress.completed_requests import Completed, ExchangeLine, KeptAnswer, WantedExchange
from cellwright.sandbox.egress.destinations import BadInput, EgressCaps, Target, normal_host
from cellwright.sandbox.egress.http_messages import (
    HttpSide,
    RequestHead,
    answer_head,
    credentials,
    for_client,
    response_of,
)
from cellwright.sandbox.egress.opened_tls import OpenedTls
from cellwright.sandbox.egress.proxied_request import ProxiedRequest, RequestRejected, run_both

_MOST_INTERIM = 10
_PIECE = 64 << 10


async def exchange(
    proxied: ProxiedRequest,
    request: RequestHead,
    client: HttpSide,
    server_line: BufferedSocket,
    caps: EgressCaps,
    through: Proxy | None = None,
    *,
    completed: ExchangeLine | None = None,
) -> bool:
    """One request and its answer; whether the client's connection can be used for another.

    One that is `completed` by somebody ends when the client hangs up, though no more is to be said to it.
    """
    more, listener = (completed.headers, completed.listener) if completed is not None else ((), None)
    if request.announced_bytes > proxied.totals.room_out(proxied.host):
        raise RequestRejected(403, f"host {proxied.host!r}: the upload is larger than this notebook may send")
    server = HttpSide(server_line, "server", most=caps.header_bytes, count=proxied.received)

    async def upload() -> None:
        try:
            await proxied.send(server_line, server.written(request.forwarded(through, more)))
            if client.awaits_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                await proxied.client.send(client.written(go_on))
            while data := await client.body():
                await proxied.send(server_line, server.written(h11.Data(data=data)))
            await proxied.send(server_line, server.written(h11.EndOfMessage()))
            if completed is not None:
                await client.line.wait_until_gone()
                raise RequestRejected(408, "the notebook hung up")
        except ConnectionError:
            # A server may answer and hang up before it has read everything.
            return
        except HttpViolation as error:
            raise RequestRejected(400, f"the request is malformed: {error}") from error

    async def download() -> None:
        try:
            head = for_client(await _final(server))
            if listener is not None and (kept := listener.begin(answer_head(head))) is not None:
                await answer_again(proxied, client, kept)
                return
            await proxied.answer(client.written(head))
            while data := await server.body():
                if listener is not None:
                    listener.take(data)
                await proxied.answer(client.written(h11.Data(data=data)))
            await proxied.answer(client.written(h11.EndOfMessage()))
        except HttpViolation as error:
            raise RequestRejected(502, f"host {proxied.host!r} gave no proper answer: {error}") from error

    async with proxied.within_idle_time():
        await run_both(upload, download)
    return client.hand_over()


async def answer_again(proxied: ProxiedRequest, client: HttpSide, kept: KeptAnswer) -> None:
    """Say an answer of before to a client that has said all."""
    await proxied.answer(client.written(response_of(kept.head)))
    for start in range(0, len(kept.body), _PIECE):
        await proxied.answer(client.written(h11.Data(data=kept.body[start : start + _PIECE])))
    await proxied.answer(client.written(h11.EndOfMessage()))


async def _final(server: HttpSide) -> h11.Response:
    for _ in range(_MOST_INTERIM):
        head = await server.response()
        if isinstance(head, h11.Response):
            return head
    raise HttpViolation("it never came to an answer")


_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
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
    await proxied.answer(_ESTABLISHED)
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


async def open_tls(proxied: ProxiedRequest, context: ssl.SSLContext, caps: EgressCaps) -> OpenedTls:
    """The inside of an encrypted connection, answered in the host's place. Raises `RequestRejected`."""
    await proxied.answer(_ESTABLISHED)
    proxied.client.give_back(await _greeting(proxied, caps, is_named=Target(host=proxied.host, port=0).address is None))
    try:
        with anyio.fail_after(caps.head_seconds):
            return await OpenedTls.accept(proxied.client, context)
    except TimeoutError:
        raise RequestRejected(403, "the TLS greeting did not come to its end in time") from None
    except ssl.SSLError as error:
        raise RequestRejected(
            403, f"the TLS greeting for host {proxied.host!r} failed: {error.reason or 'unknown'}"
        ) from error


async def open_exchange_line(
    verdict: Completed, request: RequestHead, *, run: int, seconds: float
) -> ExchangeLine | KeptAnswer:
    """A socket to whoever completes this request, or an answer of before. Raises `RequestRejected`."""
    wanted = WantedExchange(
        target=request.target,
        method=request.request.method.decode("ascii"),
        path=request.path,
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.request.headers),
        key_id=request.key_id,
        run=run,
    )
    try:
        with anyio.fail_after(seconds):
            return await verdict.open(wanted)
    except TimeoutError:
        raise RequestRejected(502, f"the secret for host {request.target.host!r} was not to be had in time") from None
    except (UserError, RefusedByPolicy) as error:
        raise RequestRejected(403, error.message) from error
    except CellwrightError as error:
        raise RequestRejected(502, error.message) from error


async def _greeting(proxied: ProxiedRequest, caps: EgressCaps, *, is_named: bool = False) -> bytes:
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
    why = _why_not_for(found, proxied.host, is_named=is_named)
    if why is not None:
        await proxied.client.send(client_hello.DENIED_ALERT)
        raise RequestRejected(403, why)
    return data


def _why_not_for(found: client_hello.ClientHello | BadInput, host: str, *, is_named: bool) -> str | None:
    if isinstance(found, BadInput):
        return f"{found.why}, and only TLS may go through to host {host!r}"
    if is_named and found.server_name is None:
        return f"the TLS greeting names no host, and host {host!r} was asked for"
    if found.server_name is not None and normal_host(found.server_name) != host:
        return f"the TLS greeting names {found.server_name[:80]!r}, but host {host!r} was asked for"
    return None
