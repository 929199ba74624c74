"""The way to the connection's server: a pool of connections, with the person's proxy and certificates. No redirects."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Literal

import anyio
import httpcore2
import httpx2

from cellwright.data.connection_options import WebAddress
from cellwright.data.exchanges.requests import SentRequest
from cellwright.network import NetworkSettings

_CONNECT_SECONDS: Final = 15.0
_SILENT_SECONDS: Final = 120.0
"""Without a byte either way."""
_MAX_CONNECTIONS: Final = 64
_IDLE_SECONDS: Final = 15.0


UpstreamFailure = Literal["login", "host", "tls", "time", "other"]


class UpstreamFailed(Exception):
    """The server could not be asked."""

    def __init__(self, kind: UpstreamFailure, why: str) -> None:
        self.kind: UpstreamFailure = kind
        self.why = why
        super().__init__(why)


class Upstream:
    """One server, spoken with in HTTP/1.1."""

    def __init__(self, address: WebAddress, network: NetworkSettings, tls_ca: str = "") -> None:
        """Raises `UpstreamFailed` for certificates that cannot be read, `UserError` for a bad proxy."""
        self._address = address
        # A proxy meant for the web must not see what stays on this machine.
        found = None if address.is_loopback else network.proxy_for(address.scheme, address.host, address.port)
        proxy = None if found is None else _proxy(found.address)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_trust(address, network, tls_ca),
            proxy=proxy,
            max_connections=_MAX_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
        )

    @asynccontextmanager
    async def answer(
        self, request: SentRequest, body: AsyncIterator[bytes] | None, seconds: float
    ) -> AsyncGenerator[httpcore2.Response]:
        """The server's answer, its body unread. Raises `UpstreamFailed`, as reading that does inside of the block."""
        address = self._address
        silent = min(seconds, _SILENT_SECONDS)
        timeouts = {"connect": min(seconds, _CONNECT_SECONDS), "read": silent, "write": silent, "pool": seconds}
        # The usual port is not named: a proxy on the way would take that for another address.
        port = address.port if address.authority.endswith(f":{address.port}") else None
        url = httpcore2.URL(scheme=address.scheme, host=address.host, port=port, target=request.target)
        headers = [(name.encode("ascii"), value.encode()) for name, value in request.headers]
        with telling_failures():
            async with self._pool.stream(
                request.method, url, headers=headers, content=body, extensions={"timeout": timeouts}
            ) as response:
                yield response

    async def aclose(self) -> None:
        """Close what is open."""
        await self._pool.aclose()


@contextmanager
def telling_failures() -> Generator[None]:
    """What a client of HTTP raises, as what a person can act on. No message of it has a header or an address in it."""
    try:
        yield
    except (httpcore2.ConnectTimeout, httpcore2.PoolTimeout):
        raise UpstreamFailed("host", "Nobody answers there in time.") from None
    except httpcore2.TimeoutException as error:
        raise UpstreamFailed("time", f"The server did not answer in time ({type(error).__name__}).") from None
    except httpcore2.ProxyError:
        raise UpstreamFailed("host", "The proxy on the way does not let us through.") from None
    except httpcore2.ConnectError as error:
        raise _unconnected(error) from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise UpstreamFailed("other", f"The server broke the exchange off ({type(error).__name__}).") from None
    except (ssl.SSLError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise UpstreamFailed("other", f"The connection broke ({type(error).__name__}).") from None


def _unconnected(error: BaseException) -> UpstreamFailed:
    """By what is beneath: a name that nobody knows, a port where nobody listens, a certificate."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UpstreamFailed("tls", f"Its certificate is not accepted: {cause.verify_message}.")
        if isinstance(cause, ssl.SSLError):
            return UpstreamFailed("tls", f"It speaks no TLS that we accept ({cause.reason or 'unknown'}).")
        cause = cause.__cause__ or cause.__context__
    words = str(error).lower()
    if "certificate" in words or "ssl" in words:
        return UpstreamFailed("tls", "Its certificate is not accepted, or it speaks no TLS.")
    if "name or service" in words or "no address" in words or "getaddrinfo" in words or "resolution" in words:
        return UpstreamFailed("host", "No host of this name is known.")
    return UpstreamFailed("host", "Nobody answers there.")


def _proxy(address: str) -> httpcore2.Proxy:
    proxy = httpx2.Proxy(address)
    return httpcore2.Proxy(
        httpcore2.URL(
            scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=proxy.url.raw_path
        ),
        auth=proxy.raw_auth,
        headers=proxy.headers.raw,
        ssl_context=proxy.ssl_context,
    )


def _trust(address: WebAddress, network: NetworkSettings, tls_ca: str) -> ssl.SSLContext:
    if address.scheme == "http":
        # Trusts nobody: nothing here is encrypted.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if tls_ca:
            return ssl.create_default_context(cafile=tls_ca)
        if (file := network.certificates) is not None:
            return ssl.create_default_context(cafile=file)
        if (folder := network.certificate_folder) is not None:
            return ssl.create_default_context(capath=folder)
    except OSError as error:
        what = error.strerror or type(error).__name__
        raise UpstreamFailed("tls", f"The file with its authority cannot be read: {what}.") from None
    return httpx2.create_ssl_context(trust_env=False)
