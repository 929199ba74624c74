"""A web server on loopback whose pages a test writes, and which counts who came."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address
from typing import Any


@dataclass
class Site:
    """One server; every name leads to it, so whatever gets out is counted here."""

    port: int
    pages: dict[str, str] = field(default_factory=dict[str, str])
    came: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Host and path of each request."""

    def url(self, path: str, host: str) -> str:
        return f"http://{host}:{self.port}{path}"

    async def resolve(self, host: str) -> list[IPv4Address | IPv6Address]:
        return [IPv4Address("127.0.0.1")]


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.site.came.append((self.headers.get("Host", "").partition(":")[0], self.path))
        body = self.site.pages.get(self.path, "nothing").encode()
        self.send_response(200 if self.path in self.site.pages else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


@contextmanager
def site() -> Generator[Site]:
    class Handler(_Handler):
        """Of this site alone."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made = Site(port=server.server_port)
        Handler.site = made
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
