"""The proxy: accepts what a kernel connects, judges every request, reaches what was approved."""

from __future__ import annotations

import logging
import socket
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import anyio

from cellwright.errors import UserError
from cellwright.network import NetworkSettings, Proxy
from cellwright.policy.hosts import Address
from cellwright.sandbox.egress.buffered_socket import BufferedSocket, HttpViolation
from cellwright.sandbox.egress.destinations import (
    Allowed,
    AllowedHost,
    BadInput,
    Decide,
    Denied,
    EgressCaps,
    EgressRecord,
    Target,
    Verdict,
    address_in,
    judge,
    why_not_public,
)
from cellwright.sandbox.egress.forwarders import connect_through, exchange, open_tunnel, tunnel
from cellwright.sandbox.egress.http_messages import ConnectHead, HttpSide, RequestHead
from cellwright.sandbox.egress.proxied_request import ProxiedRequest, RequestRejected, TrafficTotals, refusal
from cellwright.sandbox.linux import proxy_listener
from cellwright.sandbox.spec import CERTIFICATES, PROXY_PORT

_MOST_BYTES = 2 << 20


def trusted_certificates(certificates: Path) -> str:
    """The certificates in a file together with those this machine trusts anyway; `UserError` if there are none."""
    try:
        own = certificates.read_text("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=own)
    except (OSError, ValueError) as error:
        raise UserError(f"No certificates can be read from {str(certificates)!r}.", hint="Give a PEM file.") from error
    usual = ssl.create_default_context().get_ca_certs(binary_form=True)
    text = "\n".join([own, *(ssl.DER_cert_to_PEM_cert(certificate) for certificate in usual)])
    if len(text) > _MOST_BYTES:
        raise UserError(f"{str(certificates)!r} holds too many certificates.", hint="Give only those of your own.")
    return text


Resolve = Callable[[str], Awaitable[list[Address]]]

_MOST_ADDRESSES = 8
_VISITS_REMEMBERED = 1000
_LINGER_TIMEOUT_SECONDS = 2
_RETRY_INTERVAL_SECONDS = 0.1

_PROXY_NAMES: list[str] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
_TRUST_NAMES: list[str] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]

logger = logging.getLogger(__name__)


async def resolve_here(host: str) -> list[Address]:
    """The addresses of a name, as this machine knows them."""
    found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    addresses = [address_in(str(entry[4][0]).partition("%")[0]) for entry in found]
    return list(dict.fromkeys(address for address in addresses if address is not None))


def nobody_decides(host: str, port: int) -> Verdict:
    """Only what is on the list."""
    return Denied()


class Egress:
    """Which hosts a notebook may reach; pass it to `open_notebook`. Approval and revocation take effect at once."""

    def __init__(
        self,
        *,
        allowed: Iterable[AllowedHost] = (),
        decide: Decide = nobody_decides,
        resolve: Resolve = resolve_here,
        caps: EgressCaps | None = None,
        certificates: Path | None = None,
        on_visit: Callable[[EgressRecord], None] | None = None,
        connection: NetworkSettings | None = None,
    ) -> None:
        """`decide` is asked about hosts not on the list, `on_visit` told what came of each request.

        `connection` names the proxy that the person's network wants requests to take, if there is one.

        `certificates` is a PEM file whom the notebook trusts besides the usual ones, e.g. a company's own authority.
        """
        self._hosts = {host.normal(): host for host in allowed}
        self._decide = decide
        self._resolve = resolve
        self._caps = caps or EgressCaps()
        self._on_visit = on_visit
        self._connection = connection or NetworkSettings()
        self._totals = TrafficTotals(self._caps)
        self._requests = 0
        self._visits: deque[EgressRecord] = deque(maxlen=_VISITS_REMEMBERED)
        self._under_way: dict[str, set[anyio.CancelScope]] = {}
        self._slots = anyio.Semaphore(self._caps.connections)
        self.certificates = "" if certificates is None else trusted_certificates(certificates)
        """What the cage finds at its certificate path; empty if it needs nothing special."""

    def allow(self, host: AllowedHost) -> None:
        """From now on this host may be reached."""
        self._hosts[host.normal()] = host

    def revoke(self, name: str) -> None:
        """From now on it may not; what is under way there is cut off."""
        host = AllowedHost(name=name).normal()
        self._hosts.pop(host, None)
        for scope in self._under_way.get(host, ()):
            scope.cancel()

    @property
    def allowed(self) -> tuple[AllowedHost, ...]:
        """The list as it is now."""
        return tuple(self._hosts.values())

    @property
    def visits(self) -> tuple[EgressRecord, ...]:
        """The latest visits, oldest first; a thousand are remembered."""
        return tuple(self._visits)

    def environment(self) -> dict[str, str]:
        """What tells programs in the cage where the way out is, and whom to trust."""
        variables = dict.fromkeys(_PROXY_NAMES, f"http://{proxy_listener.ADDRESS}:{PROXY_PORT}")
        return variables | dict.fromkeys(_TRUST_NAMES, CERTIFICATES) if self.certificates else variables

    async def serve(self, listener: socket.socket) -> None:
        """Attend to everyone who connects until cancelled; closes `listener` and all connections at the end."""
        with listener:
            listener.setblocking(False)
            async with anyio.create_task_group() as tasks:
                while True:
                    await anyio.wait_readable(listener)
                    await self._slots.acquire()
                    client = _accept(listener)
                    if client is not None:
                        tasks.start_soon(self._attend, client)
                    else:
                        self._slots.release()
                        await anyio.sleep(_RETRY_INTERVAL_SECONDS)

    async def _attend(self, client: socket.socket) -> None:
        try:
            with client, BufferedSocket(client) as line, anyio.move_on_after(self._caps.total_seconds):
                while await self._one_request(line):
                    pass
        except OSError:
            # The notebook hung up, or the server did while nothing could be said any more.
            return
        except Exception:
            # Everything here was sent by a stranger: what we did not foresee ends this connection and nothing else.
            logger.exception("a connection of a notebook was dropped")
        finally:
            self._slots.release()

    async def _one_request(self, client: BufferedSocket) -> bool:
        """Attend to one request; whether there may be another on this connection."""
        side = HttpSide(client, "client", most=self._caps.header_bytes)
        request = await self._read_head(side)
        if request is None:
            return False
        self._requests += 1
        is_bad = isinstance(request, BadInput)
        with self._proxied(client, None if is_bad else request.target) as proxied:
            try:
                if is_bad:
                    raise RequestRejected(400, f"the request is malformed: {request.why}")
                return await self._let_through(proxied, request, side)
            except RequestRejected as error:
                rejection = error
            except OSError as error:
                rejection = RequestRejected(502, f"host {proxied.host!r}: {error.strerror or error}")
            proxied.reject(rejection)
        if not proxied.has_answered:
            await _refuse(client, rejection)
        return False

    async def _read_head(self, client: HttpSide) -> ConnectHead | RequestHead | BadInput | None:
        """The next request; None when there is none any more."""
        try:
            first = b""
            with anyio.move_on_after(self._caps.idle_seconds):
                first = await client.line.receive(1)
            if not first:
                return None
            client.line.give_back(first)
            with anyio.fail_after(self._caps.head_seconds):
                return await client.request()
        except TimeoutError:
            return BadInput(why="its head did not arrive in time")
        except HttpViolation as error:
            return BadInput(why=str(error))

    @contextmanager
    def _proxied(self, client: BufferedSocket, target: Target | None) -> Generator[ProxiedRequest]:
        proxied = ProxiedRequest(target=target, totals=self._totals, client=client)
        try:
            yield proxied
        except anyio.get_cancelled_exc_class():
            proxied.reject(RequestRejected(403, "the connection was ended before it was over"))
            raise
        finally:
            self._record(proxied.record())

    def _record(self, visit: EgressRecord) -> None:
        self._visits.append(visit)
        # One word that the cap is reached is enough: a notebook must not fill somebody's journal.
        if self._on_visit is not None and self._requests <= self._caps.requests + 1:
            self._on_visit(visit)

    async def _let_through(self, proxied: ProxiedRequest, request: ConnectHead | RequestHead, client: HttpSide) -> bool:
        if self._requests > self._caps.requests:
            raise RequestRejected(403, "this notebook has made as many requests as it may")
        verdict = judge(request.target, self._hosts.get(request.target.host), self._decide)
        if isinstance(verdict, Denied):
            raise RequestRejected(403, verdict.why)
        proxied.verdict = "allowed"
        through = self._proxy_for(request)
        reaching = self._reach(proxied, request, verdict, through)
        with self._revocable(proxied.host) as scope, await reaching as server:
            if isinstance(request, RequestHead):
                return await exchange(proxied, request, client, server, self._caps, through)
            await tunnel(proxied, server, self._caps)
        if scope.cancelled_caught:
            raise RequestRejected(403, f"host {proxied.host!r} is not approved for this notebook any more")
        return False

    @contextmanager
    def _revocable(self, host: str) -> Generator[anyio.CancelScope]:
        scopes = self._under_way.setdefault(host, set())
        with anyio.CancelScope() as scope:
            scopes.add(scope)
            try:
                yield scope
            finally:
                scopes.discard(scope)
                if not scopes:
                    self._under_way.pop(host, None)

    def _proxy_for(self, request: ConnectHead | RequestHead) -> Proxy | None:
        scheme = "http" if isinstance(request, RequestHead) else "https"
        try:
            return self._connection.proxy_for(scheme, request.target.host, request.target.port)
        except UserError as error:
            raise RequestRejected(502, error.message) from error

    async def _reach(
        self, proxied: ProxiedRequest, request: ConnectHead | RequestHead, verdict: Allowed, through: Proxy | None
    ) -> BufferedSocket:
        """A connection to an address that was looked at, resolved once and never again; or to the person's proxy."""
        target = request.target
        try:
            with anyio.fail_after(self._caps.connect_seconds):
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
            found = await self._resolve(proxy.host)
        except OSError:
            found = []
        line = await connect_through(proxy, found)
        try:
            if isinstance(request, ConnectHead):
                await open_tunnel(proxy, target, line, most=self._caps.header_bytes)
        except BaseException:
            with line:
                raise
        proxied.address = f"the proxy {proxy.host}:{proxy.port}"
        return line

    async def _addresses(self, target: Target, verdict: Allowed) -> list[Address]:
        given = target.address
        try:
            addresses = [given] if given is not None else await self._resolve(target.host)
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


def _accept(listener: socket.socket) -> socket.socket | None:
    """Whoever waits; None if they have gone meanwhile, or if there are no descriptors left for now."""
    try:
        return listener.accept()[0]
    except OSError:
        return None


async def _refuse(client: BufferedSocket, rejection: RequestRejected) -> None:
    """Say why, and read on for a moment: a client that still sends would lose the answer otherwise."""
    with anyio.move_on_after(_LINGER_TIMEOUT_SECONDS):
        await client.send(refusal(rejection.status, rejection.why))
        client.end_sending()
        while await client.receive():
            pass
