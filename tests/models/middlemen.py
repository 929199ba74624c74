"""What stands between a company and its models, real and on loopback: a front with a private certificate, a proxy."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LONGEST_HEAD = 65536


@dataclass(slots=True)
class Middleman:
    """Where it listens, and the first line and headers of each request it was asked to pass on."""

    port: int
    heads: list[str] = field(default_factory=list[str])


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Office")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    at, key_at = folder / "ca.pem", folder / "key.pem"
    at.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_at.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return at, key_at


@asynccontextmanager
async def tls_front(certificate: Path, key: Path, to: str) -> AsyncGenerator[Middleman]:
    """Speaks TLS and passes everything on to `to`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def attend(client: SocketStream, _: Middleman) -> None:
        # A client that does not trust the certificate ends the handshake.
        try:
            wrapped = await TLSStream.wrap(client, server_side=True, ssl_context=context, standard_compatible=False)
        except (ssl.SSLError, anyio.EndOfStream, anyio.BrokenResourceError):
            return
        await _pass_on(wrapped, b"", to)

    async with _listening(attend) as middleman:
        yield middleman


@asynccontextmanager
async def proxy() -> AsyncGenerator[Middleman]:
    """A forward proxy: whole addresses for http, CONNECT for https."""

    async def attend(client: SocketStream, middleman: Middleman) -> None:
        head = await _head(client)
        middleman.heads.append(head.decode("latin-1"))
        method, target, _ = head.split(b"\r\n", 1)[0].split(b" ")
        if method == b"CONNECT":
            await client.send(b"HTTP/1.1 200 OK\r\n\r\n")
            await _pass_on(client, b"", target.decode())
        else:
            host = target.split(b"/")[2]
            await _pass_on(client, head.replace(b"http://" + host, b"", 1), host.decode())

    async with _listening(attend) as middleman:
        yield middleman


@asynccontextmanager
async def redirecting(to: str) -> AsyncGenerator[Middleman]:
    """Sends everybody elsewhere."""

    async def attend(client: SocketStream, middleman: Middleman) -> None:
        middleman.heads.append((await _head(client)).decode("latin-1"))
        answer = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        await client.send(answer.encode())

    async with _listening(attend) as middleman:
        yield middleman


@asynccontextmanager
async def _listening(attend: Callable[[SocketStream, Middleman], Awaitable[None]]) -> AsyncGenerator[Middleman]:
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as clients,
    ):
        middleman = Middleman(port=listener.extra(SocketAttribute.local_port))

        async def serve(client: SocketStream) -> None:
            async with client:
                await attend(client, middleman)

        clients.start_soon(listener.serve, serve)
        yield middleman
        clients.cancel_scope.cancel()


async def _head(client: ByteStream) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < LONGEST_HEAD:
        head += await client.receive()
    return head


async def _pass_on(client: ByteStream, first: bytes, to: str) -> None:
    host, _, port = to.removeprefix("http://").partition(":")
    async with await anyio.connect_tcp(host, int(port)) as server, anyio.create_task_group() as ways:
        if first:
            await server.send(first)

        async def pump(source: ByteStream, sink: ByteStream) -> None:
            try:
                async for piece in source:
                    await sink.send(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            ways.cancel_scope.cancel()

        ways.start_soon(pump, client, server)
        ways.start_soon(pump, server, client)
