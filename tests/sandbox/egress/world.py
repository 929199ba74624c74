"""A small internet on loopback: web servers with and without TLS, a certificate authority of their own, a resolver."""

from __future__ import annotations

import gc
import socket
import socketserver
import ssl
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CSV = "bird,grams\nwren,9\nrobin,18\n"
SECRET = "metadata-token-of-this-machine"
HOST, OTHER = "data.example", "other.example"
LONG = "0123456789abcdef" * 16_384


@dataclass
class Heard:
    """What a server was asked, in order."""

    requests: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    body_bytes: int = 0
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released once per request."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    heard: Heard

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._note()
        where = urlsplit(self.path)
        match where.path:
            case "/birds.csv":
                self._answer(200, CSV.encode())
            case "/long":
                self._answer(200, LONG.encode())
            case "/secret":
                self._answer(200, SECRET.encode())
            case "/redirect":
                self._answer(302, b"", Location=parse_qs(where.query)["to"][0])
            case "/chunks":
                self._chunks()
            case "/until-close":
                self.close_connection = True
                self.send_response(200)
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b"until the end")
            case "/silent":
                self.rfile.read(1)
            case "/nonsense":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi")
                self.close_connection = True
            case _:
                self._answer(404, b"nothing here")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._note()
        if self.headers.get("Transfer-Encoding") == "chunked":
            size = 0
            while count := int(self.rfile.readline().split(b";")[0], 16):
                size += len(self.rfile.read(count))
                self.rfile.readline()
            self.rfile.readline()
        else:
            size = len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.heard.body_bytes += size
        self._answer(200, f"took {size} bytes".encode())

    def _note(self) -> None:
        self.heard.requests.append((self.command, self.headers.get("Host", ""), self.path))
        self.heard.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.heard.arrived.release()

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nLater: yes\r\n\r\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what these tests are about."""


@dataclass
class World:
    """Addresses of everything there is."""

    authority: Path
    """The certificate authority's own certificate, as a company would hand it out."""
    http_port: int
    https_port: int
    closed_port: int
    """A web server that nobody approves."""
    udp_port: int
    """A name server that tells the secret to whoever asks."""
    http: Heard
    https: Heard
    names: dict[str, list[str]]
    """Which addresses a name has; a test may change it at any time."""
    asked: list[str] = field(default_factory=list[str])
    """The names that were resolved, in order."""

    async def resolve(self, host: str) -> list[IPv4Address | IPv6Address]:
        """The resolver of this world."""
        self.asked.append(host)
        if host not in self.names:
            raise OSError(-2, "Name or service not known")
        return [ip_address(text) for text in self.names[host]]

    def open_ends(self, proxy_port: int) -> int:
        """How many sockets of this process still lead to these servers, or belong to a proxy at this port."""
        servers = {self.http_port, self.https_port, self.closed_port}
        found = [_ports(sock) for sock in gc.get_objects() if isinstance(sock, socket.socket)]
        return sum(own == proxy_port or peer in servers for own, peer in found)

    def url(self, path: str, host: str = HOST) -> str:
        return f"http://{host}:{self.http_port}{path}"

    def secure_url(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.https_port}{path}"


def _ports(sock: socket.socket) -> tuple[int, int]:
    """Its own and its peer's port, 0 for what it has not. Another thread may close it meanwhile."""
    own = peer = 0
    try:
        if sock.family in {socket.AF_INET, socket.AF_INET6}:
            own = sock.getsockname()[1]
            peer = sock.getpeername()[1]
    except OSError:
        pass
    return own, peer


@contextmanager
def world(directory: Path) -> Generator[World]:
    """Servers that run for as long as the block."""
    authority, identity = make_certificates(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    with (
        _serving(None) as (http_port, http),
        _serving(context) as (https_port, https),
        _serving(None) as (closed_port, _),
        _telling() as udp_port,
    ):
        names: dict[str, list[str]] = {name: ["127.0.0.1"] for name in (HOST, OTHER, f"www.{HOST}", "rebound.example")}
        yield World(authority, http_port, https_port, closed_port, udp_port, http, https, names)


class _Teller(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request[1].sendto(SECRET.encode(), self.client_address)


@contextmanager
def _telling() -> Generator[int]:
    with socketserver.UDPServer(("127.0.0.1", 0), _Teller) as server, _running(server):
        yield server.server_address[1]


@contextmanager
def _running(server: socketserver.BaseServer) -> Generator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def _serving(context: ssl.SSLContext | None) -> Generator[tuple[int, Heard]]:
    heard = Heard()
    handler = type("Handler", (_Handler,), {"heard": heard})
    with _Server(("127.0.0.1", 0), handler) as server:
        if context is not None:
            # The handshake belongs to the connection's own thread: one that is cut off must not stop the others.
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        with _running(server):
            yield server.server_address[1], heard


def make_certificates(directory: Path, hosts: Sequence[str] = (HOST, OTHER)) -> tuple[Path, Path]:
    """An authority's certificate, and key and certificate of a server that is all of these hosts."""
    now = datetime.now(UTC)
    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test Authority")])

    def builder(name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(authority_name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )

    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    authority = (
        builder(authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])]), server_key)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    authority_file, server_file = directory / "authority.pem", directory / "server.pem"
    authority_file.write_bytes(authority.public_bytes(pem))
    server_file.write_bytes(private + server.public_bytes(pem))
    return authority_file, server_file
