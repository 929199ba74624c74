"""The way to a server that was approved: its name resolved once, each address looked at, or the person's own proxy."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from cellwright.errors import UserError
from cellwright.network import NetworkSettings, Proxy
from cellwright.policy.hosts import Address
from cellwright.sandbox.egress.buffered_socket import BufferedSocket
from cellwright.sandbox.egress.destinations import Allowed, EgressCaps, Target, address_in, why_not_public
from cellwright.sandbox.egress.forwarders import connect_through, open_tunnel
from cellwright.sandbox.egress.http_messages import ConnectHead, RequestHead
from cellwright.sandbox.egress.proxied_request import ProxiedRequest, RequestRejected

Resolve = Callable[[str], Awaitable[list[Address]]]

_MOST_ADDRESSES = 8


async def resolve_here(host: str) -> list[Address]:
    """The addresses of a name, as this machine knows them."""
    found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = [address_in(str(entry[4][0]).partition("%")[0]) for entry in found]
    return list(dict.fromkeys(address for address in addresses if address is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConnector:
    """Connects to servers that were approved."""

    resolve: Resolve
    connection: NetworkSettings
    caps: EgressCaps

    def proxy_for(self, request: ConnectHead | RequestHead) -> Proxy | None:
        """The person's proxy on the way there, if there is one. Raises `RequestRejected`."""
        scheme = "http" if isinstance(request, RequestHead) else "https"
        try:
            return self.connection.proxy_for(scheme, request.target.host, request.target.port)
        except UserError as error:
            raise RequestRejected(502, error.message) from error

    async def connect(
        self, proxied: ProxiedRequest, request: ConnectHead | RequestHead, verdict: Allowed, through: Proxy | None
    ) -> BufferedSocket:
        """A connection to an address that was looked at, resolved once and never again; or to the person's proxy."""
        target = request.target
        try:
            with anyio.fail_after(self.caps.connect_seconds):
                if through is not None:
                    return await self._reach_through(through, proxied, request, verdict)
                return await _connect(proxied, target, await self._addresses(target, verdict), verdict)
        except TimeoutError:
            raise RequestRejected(502, f"host {target.host!r} did not answer in time") from None

    async def _reach_through(
        self, proxy: Proxy, proxied: ProxiedRequest, request: ConnectHead | RequestHead, verdict: Allowed
    ) -> BufferedSocket:
        """The proxy looks the name up by itself, so what we can see of it is judged before, as without a proxy."""
        target = request.target
        if not verdict.has_private_addresses:
            try:
                await self._addresses(target, verdict)
            except RequestRejected as error:
                if error.status != 502:
                    raise
                why = (
                    "so nobody can see whether it leads into the private network; CELLWRIGHT_PRIVATE_HOSTS allows that"
                )
                raise RequestRejected(
                    403, f"host {target.host!r} cannot be looked up on this machine, {why}"
                ) from error
        try:
            found = await self.resolve(proxy.host)
        except OSError:
            found = []
        line = await connect_through(proxy, found)
        try:
            if isinstance(request, ConnectHead):
                await open_tunnel(proxy, target, line, most=self.caps.header_bytes)
        except BaseException:
            line.close()
            raise
        proxied.address = f"the proxy {proxy.host}:{proxy.port}"
        return line

    async def _addresses(self, target: Target, verdict: Allowed) -> list[Address]:
        given = target.address
        try:
            addresses = [given] if given is not None else await self.resolve(target.host)
        except OSError as error:
            raise RequestRejected(502, f"host {target.host!r} was not found: {error.strerror or error}") from error
        if not addresses:
            raise RequestRejected(502, f"host {target.host!r} was not found")
        for address in addresses:
            kind = why_not_public(address)
            if kind is not None and not verdict.has_private_addresses:
                raise RequestRejected(403, f"host {target.host!r} leads to {address}, {kind}, which was not approved")
        return addresses[:_MOST_ADDRESSES]


async def _connect(
    proxied: ProxiedRequest, target: Target, addresses: list[Address], verdict: Allowed
) -> BufferedSocket:
    why = ""
    for address in addresses:
        try:
            server = await BufferedSocket.connect(address, target.port)
        except OSError as error:
            why = error.strerror or str(error)
            continue
        if server.leads_to_itself and not verdict.has_private_addresses:
            with server:
                raise RequestRejected(
                    403, f"host {target.host!r} leads to {address}, this machine, which was not approved"
                )
        proxied.address = str(address)
        return server
    raise RequestRejected(502, f"host {target.host!r} cannot be reached at port {target.port}: {why}")
