"""A loopback API of the standard library: it asks for a key, and misbehaves in every way that a test asks for."""

from __future__ import annotations

import base64
import gzip
import json
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import quote

from tests.data.worker.tls import TlsFiles

API_SECRET = "canary-of-an-api-8812/x"


@dataclass
class ApiServer:
    """The server's port, and what it was asked."""

    port: int
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released when somebody waits at /hold or got the beginning of /endless."""
    left: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released when whoever waited there hung up."""

    def forget(self) -> None:
        self.seen, self.bodies = [], []
        self.held, self.left = threading.Semaphore(0), threading.Semaphore(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _ in self.seen]


class _Requests(BaseHTTPRequestHandler):
    server_state: ClassVar[ApiServer]
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_GET(self) -> None:
        self.server_state.seen.append(
            (self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
        )
        path = self.path.partition("?")[0].removeprefix("http://crm.invalid").strip("/").replace("/", "_") or "root"
        with suppress(OSError):
            getattr(self, f"answer_{path}", self.answer_root)()

    do_HEAD = do_DELETE = do_GET

    def do_POST(self) -> None:
        length = self.headers.get("content-length")
        if length is not None:
            self.server_state.bodies.append(self.rfile.read(int(length)))
        else:
            parts = list[bytes]()
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            self.server_state.bodies.append(b"".join(parts))
        self.do_GET()

    do_PUT = do_POST

    def say(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_root(self) -> None:
        if self.headers.get("authorization") != f"Bearer {API_SECRET}":
            self.say(401, b"who are you?")
        else:
            self.say(200, b'{"ok": true}', ("Content-Type", "application/json"))

    def answer_res_v1_web_search(self) -> None:
        """As a search engine's API."""
        if self.headers.get("authorization") != f"Bearer {API_SECRET}":
            return self.say(401, b"who are you?")
        pages = [{"url": f"https://a.example/{at}", "title": f"Page {at}", "description": "Mills."} for at in range(4)]
        return self.say(200, json.dumps({"web": {"results": pages}}).encode(), ("Content-Type", "application/json"))

    def answer_search(self) -> None:
        """As one that is asked with a body."""
        query = json.loads(self.server_state.bodies[-1])["query"]
        found = {"query": query, "results": [{"url": "https://b.example", "title": query, "content": "Mills."}]}
        self.say(200, json.dumps(found).encode(), ("Content-Type", "application/json"))

    def answer_open(self) -> None:
        self.say(200, b"anybody may read this")

    def answer_echo(self) -> None:
        """The secret in many forms, in head and body, in small pieces."""
        value = self.headers.get("authorization", "")
        secret = value.removeprefix("Bearer ")
        forms = {"plain": value, "percent": quote(secret, safe=""), "base64": base64.b64encode(value.encode()).decode()}
        body = json.dumps(forms | {"json": json.dumps(value)}).encode() + secret.replace("/", "\\/").encode()
        self.send_response(200, f"OK {secret}")
        self.send_header("X-Echo", value)
        self.send_header("Set-Cookie", f"session={secret}")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 5):
            piece = body[start : start + 5]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def answer_redirect(self) -> None:
        self.say(302, b"", ("Location", f"/elsewhere?key={API_SECRET}"))

    def answer_busy(self) -> None:
        if self.server_state.paths.count(self.path) < 3:
            self.say(429, b"wait", ("Retry-After", "0"))
        else:
            self.say(200, b"now")

    def answer_always_busy(self) -> None:
        self.say(503, b"wait", ("Retry-After", "0"))

    def answer_bomb(self) -> None:
        self.say(200, gzip.compress(bytes(10 << 20)), ("Content-Encoding", "gzip"))

    def answer_large(self) -> None:
        self.say(200, bytes(3 << 20))

    def answer_endless(self) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(bytes(1 << 16))
            self.server_state.held.release()
            while True:
                self.wfile.write(bytes(1 << 16))
        except OSError:
            self.server_state.left.release()

    def answer_hold(self) -> None:
        """Nothing at all, until whoever asked hangs up."""
        self.server_state.held.release()
        self.connection.recv(1)
        self.server_state.left.release()
        self.close_connection = True

    def answer_liar(self) -> None:
        """Announces more than it sends."""
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"short")
        self.close_connection = True

    def answer_smuggle(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello")
        self.close_connection = True

    def answer_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * (1 << 20))
        self.close_connection = True

    def answer_upgrade(self) -> None:
        self.wfile.write(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients of these tests hang up, on purpose."""


@contextmanager
def api_server(tls: TlsFiles | None = None) -> Generator[ApiServer]:
    """Serves until the block ends."""
    state = ApiServer(port=0)
    handler = type("Requests", (_Requests,), {"server_state": state})
    with _QuietServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate, tls.key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join(10)
