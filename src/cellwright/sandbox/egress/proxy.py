"""The proxy: accepts what a kernel connects, judges every request, reaches what was approved."""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.network import NetworkSettings
from cellwright.sandbox.egress.buffered_socket import BufferedSocket, HttpViolation
from cellwright.sandbox.egress.cage_authority import CageAuthority
from cellwright.sandbox.egress.completed_requests import (
    Completed,
    FindCompleted,
    KeptAnswer,
    OpenExchangeLine,
    nobody_completes,
)
from cellwright.sandbox.egress.destinations import (
    AllowedHost,
    BadInput,
    Decide,
    Denied,
    EgressCaps,
    EgressRecord,
    Target,
    Verdict,
    judge,
)
from cellwright.sandbox.egress.forwarders import (
    answer_again,
    exchange,
    open_exchange_line,
    open_tls,
    tunnel,
)
from cellwright.sandbox.egress.http_messages import ConnectHead, HttpSide, RequestHead
from cellwright.sandbox.egress.proxied_request import ProxiedRequest, RequestRejected, TrafficTotals, refusal
from cellwright.sandbox.egress.server_connector import Resolve, ServerConnector, resolve_here
from cellwright.sandbox.egress.trusted_certificates import trusted_certificates
from cellwright.sandbox.linux import proxy_listener
from cellwright.sandbox.spec import CERTIFICATES, PROXY_PORT

_VISITS_REMEMBERED = 1000
_LINGER_TIMEOUT_SECONDS = 2
_RETRY_INTERVAL_SECONDS = 0.1

_PROXY_NAMES: list[str] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
_TRUST_NAMES: list[str] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]

logger = logging.getLogger(__name__)


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
        completed: FindCompleted = nobody_completes,
        objects: OpenExchangeLine | None = None,
        authority: CageAuthority | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`decide` is asked about hosts not on the list, `on_visit` told what came of each request.

        `completed` is asked first, and knows the hosts whose requests somebody else completes; `objects` completes
        those to the proxy itself. TLS of such hosts is opened by the `authority`, if there is one. Programs in the cage
        find the `variables` in their environment.

        `connection` names the proxy that the person's network wants requests to take, if there is one.

        `certificates` is a PEM file whom the notebook trusts besides the usual ones, e.g. a company's own authority.
        """
        self._hosts = {host.normal(): host for host in allowed}
        self._decide = decide
        self._caps = caps or EgressCaps()
        self._on_visit = on_visit
        self._servers = ServerConnector(resolve=resolve, connection=connection or NetworkSettings(), caps=self._caps)
        self._totals = TrafficTotals(self._caps)
        self._requests = 0
        self._visits: deque[EgressRecord] = deque(maxlen=_VISITS_REMEMBERED)
        self._under_way: dict[str, set[anyio.CancelScope]] = {}
        self._idle: dict[anyio.CancelScope, None] = {}
        """Connections on which nothing is said, the one that has waited longest first."""
        self._slots = anyio.Semaphore(self._caps.connections)
        self._run = self._running = 0
        self._completed = completed
        self._objects = objects
        self._authority = authority
        self._variables = dict(variables or {})
        own = [] if authority is None else [authority.certificate]
        self.certificates = trusted_certificates(certificates, *own) if certificates or own else ""
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

    @contextmanager
    def running_cells(self) -> Generator[None]:
        """A block in which cells run: whoever completes requests is told in which one each was asked.

        One that begins while another is under way is part of that one.
        """
        self._run += not self._running
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def environment(self) -> dict[str, str]:
        """What tells programs in the cage where the way out is, and whom to trust."""
        there = f"http://{proxy_listener.ADDRESS}:{PROXY_PORT}"
        variables = self._variables | dict.fromkeys(_PROXY_NAMES, there)
        return variables | dict.fromkeys(_TRUST_NAMES, CERTIFICATES) if self.certificates else variables

    async def serve(self, listener: socket.socket) -> None:
        """Attend to everyone who connects until cancelled; closes `listener` and all connections at the end."""
        with listener:
            listener.setblocking(False)
            async with anyio.create_task_group() as tasks:
                while True:
                    await anyio.wait_readable(listener)
                    if self._slots.value == 0 and self._idle:
                        # Libraries keep connections that they may never use again; whoever waits needs one now.
                        next(iter(self._idle)).cancel()
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

    async def _one_request(self, client: BufferedSocket, inside: Target | None = None) -> bool:
        """Attend to one request; whether there may be another on this connection.

        `inside` is the host that the client believes to speak with, where its TLS connection ends here.
        """
        side = HttpSide(client, "client", most=self._caps.header_bytes)
        request = await self._read_head(side, inside)
        if request is None:
            return False
        self._requests += 1
        is_bad = isinstance(request, BadInput)
        with self._proxied(client, inside if is_bad else request.target) as proxied:
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
            is_for_object = isinstance(request, RequestHead) and bool(request.key_id)
            await _refuse(client, refusal(rejection.status, rejection.why, is_for_object=is_for_object))
        return False

    async def _read_head(self, client: HttpSide, inside: Target | None) -> ConnectHead | RequestHead | BadInput | None:
        """The next request; None when there is none any more."""
        try:
            first = b""
            with anyio.move_on_after(self._caps.idle_seconds) as scope:
                self._idle[scope] = None
                try:
                    first = await client.line.receive(1)
                finally:
                    self._idle.pop(scope, None)
            if not first:
                return None
            client.line.give_back(first)
            with anyio.fail_after(self._caps.head_seconds):
                return await client.request(inside)
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
            if proxied.is_recorded:
                self._record(proxied.record())

    def _record(self, visit: EgressRecord) -> None:
        self._visits.append(visit)
        # One word that the cap is reached is enough: a notebook must not fill somebody's journal.
        if self._on_visit is not None and self._requests <= self._caps.requests + 1:
            self._on_visit(visit)

    async def _let_through(self, proxied: ProxiedRequest, request: ConnectHead | RequestHead, client: HttpSide) -> bool:
        if self._requests > self._caps.requests:
            raise RequestRejected(403, "this notebook has made as many requests as it may")
        verdict = await self._judge(request)
        if isinstance(verdict, Denied):
            raise RequestRejected(403, verdict.why)
        proxied.verdict = "allowed"
        if isinstance(verdict, Completed):
            if isinstance(request, RequestHead):
                return await self._complete(proxied, request, client, verdict)
            return await self._open(proxied)
        through = self._servers.proxy_for(request)
        reaching = self._servers.connect(proxied, request, verdict, through)
        with self._revocable(proxied.host) as scope, await reaching as server:
            if isinstance(request, RequestHead):
                return await exchange(proxied, request, client, server, self._caps, through)
            await tunnel(proxied, server, self._caps)
        if scope.cancelled_caught:
            raise RequestRejected(403, f"host {proxied.host!r} is not approved for this notebook any more")
        return False

    async def _judge(self, request: ConnectHead | RequestHead) -> Verdict | Completed:
        """Whoever completes requests is asked first: what goes to such a host goes by its rules.

        Where they do not, the host is like any other, and a refusal says why they did not.
        """
        target = request.target
        if isinstance(request, RequestHead) and request.key_id and self._objects is not None:
            return Completed(open=self._objects)
        found = await self._completed(target)
        if isinstance(found, Completed):
            return found
        if isinstance(request, RequestHead) and request.scheme == "https":
            # What is said inside of an opened connection is for whoever completes it, and for nobody else.
            return found or Denied(why=f"host {target.host!r} is not approved for this notebook any more")
        verdict = judge(target, self._hosts.get(target.host), self._decide)
        return found if found is not None and isinstance(verdict, Denied) else verdict

    async def _open(self, proxied: ProxiedRequest) -> bool:
        """Attend to what a client says inside its TLS connection, request by request."""
        if self._authority is None or proxied.host not in self._authority.hosts:
            raise RequestRejected(
                403, f"TLS of host {proxied.host!r} cannot be opened until the notebook is opened anew"
            )
        context = await anyio.to_thread.run_sync(self._authority.context_for, proxied.host)
        inside = await open_tls(proxied, context, self._caps)
        proxied.is_recorded = False
        try:
            while await self._one_request(inside, proxied.target):
                pass
        finally:
            inside.end_sending()
        return False

    async def _complete(
        self, proxied: ProxiedRequest, request: RequestHead, client: HttpSide, verdict: Completed
    ) -> bool:
        with self._revocable(proxied.host):
            run = self._run if self._running else 0
            line = await open_exchange_line(verdict, request, run=run, seconds=self._caps.connect_seconds)
            if isinstance(line, KeptAnswer):
                # Nobody is asked: there is no visit to tell of.
                proxied.is_recorded = False
                async with proxied.within_idle_time():
                    await answer_again(proxied, client, line)
                return client.hand_over()
            proxied.address = line.name
            is_whole = False
            try:
                with BufferedSocket(line.socket) as server:
                    is_left_open = await exchange(proxied, request, client, server, self._caps, completed=line)
                is_whole = True
                return is_left_open
            finally:
                if line.listener is not None:
                    line.listener.end(is_whole=is_whole)
        raise RequestRejected(403, f"host {proxied.host!r} is not approved for this notebook any more")

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


def _accept(listener: socket.socket) -> socket.socket | None:
    """Whoever waits; None if they have gone meanwhile, or if there are no descriptors left for now."""
    try:
        return listener.accept()[0]
    except OSError:
        return None


async def _refuse(client: BufferedSocket, said: bytes) -> None:
    """Say why, and read on for a moment: a client that still sends would lose the answer otherwise."""
    with anyio.move_on_after(_LINGER_TIMEOUT_SECONDS):
        await client.send(said)
        client.end_sending()
        while await client.receive():
            pass
