"""A company's network on loopback: a package index, with TLS if need be, and a proxy that asks who you are."""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USER, PASSWORD = "ada", "hunter2-and-more"


@dataclass
class Index:
    """A simple index (PEP 503) of the wheels in a folder, and what was asked of it."""

    port: int
    wheels: Path
    asked: list[str] = field(default_factory=list[str])

    def url(self, host: str = "127.0.0.1", *, scheme: str = "http", user: str = "") -> str:
        return f"{scheme}://{user}{host}:{self.port}/simple"


@dataclass
class ForwardProxy:
    """A proxy whose every name leads to this machine, and the heads of what it was asked."""

    port: int
    heads: list[str] = field(default_factory=list[str])

    def url(self, password: str = PASSWORD) -> str:
        return f"http://{USER}:{password}@127.0.0.1:{self.port}"


class _IndexHandler(BaseHTTPRequestHandler):
    index: Index

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.index.asked.append(self.path)
        kind, _, name = self.path.strip("/").partition("/")
        if kind == "files" and (file := self.index.wheels / name).is_file():
            self._answer(200, file.read_bytes(), "application/octet-stream")
            return
        links = [
            f'<a href="/files/{file.name}#sha256={hashlib.sha256(file.read_bytes()).hexdigest()}">{file.name}</a>'
            for file in sorted(self.index.wheels.glob(f"{name.replace('-', '_')}-*.whl"))
        ]
        self._answer(200 if links else 404, f"<!doctype html>{''.join(links)}".encode(), "text/html")

    def do_HEAD(self) -> None:
        self._answer(404, b"", "text/plain")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@contextmanager
def package_index(wheels: Path, identity: Path | None = None) -> Generator[Index]:
    """The wheels of a folder, over TLS if there is an `identity`, key and certificate in one file."""

    class Handler(_IndexHandler):
        """Of this index alone."""

    with _QuietServer(("127.0.0.1", 0), Handler) as server:
        if identity is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity)
            # The handshake belongs to the connection's own thread.
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        Handler.index = index = Index(port=server.server_port, wheels=wheels)
        with _running(server):
            yield index


class _ProxyHandler(BaseHTTPRequestHandler):
    proxy: ForwardProxy
    credential: str

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_CONNECT(self) -> None:
        if self._is_known():
            with socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2]))) as server:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=_pump, args=(server, self.connection))
                back.start()
                _pump(self.connection, server)
                back.join()

    def do_GET(self) -> None:
        if self._is_known():
            host, _, path = self.path.removeprefix("http://").partition("/")
            with socket.create_connection(("127.0.0.1", int(host.partition(":")[2] or 80))) as server:
                server.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                _pump(server, self.connection)

    do_HEAD = do_POST = do_GET

    def _is_known(self) -> bool:
        self.close_connection = True
        self.proxy.heads.append(f"{self.requestline}\n{self.headers}")
        if self.headers.get("Proxy-Authorization") == f"Basic {self.credential}":
            return True
        self.send_response(407)
        self.send_header("Proxy-Authenticate", "Basic")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False


@contextmanager
def forward_proxy() -> Generator[ForwardProxy]:
    """Passes on what comes with the right user and password."""

    class Handler(_ProxyHandler):
        """Of this proxy alone."""

        credential = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.proxy = proxy = ForwardProxy(port=server.server_port)
        with _running(server):
            yield proxy


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def _running(server: ThreadingHTTPServer) -> Generator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def nowhere() -> str:
    """The address of an index that nobody serves."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://{USER}:{PASSWORD}@127.0.0.1:{unused.getsockname()[1]}/simple"


def cut_off(index: str | None = None) -> Mapping[str, str]:
    """Connection settings whose index does not answer."""
    return {"UV_DEFAULT_INDEX": index or nowhere(), "UV_HTTP_RETRIES": "0"}
