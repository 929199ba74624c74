"""Servers at an address that do not keep to the protocol: they lead nowhere else, and say no more than their share."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cellwright.errors import Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.secrets import keep_secret
from cellwright.tools.mcp.opening import open_server
from cellwright.tools.mcp.servers import NamedServer
from tests.tools.mcp.odd_servers import server_host

TOKEN = "token-of-the-one-server-1"


class Answers(BaseHTTPRequestHandler):
    """Leads elsewhere, or never stops."""

    leads_to = ""
    heard: list[tuple[str, str]]

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.heard.append((self.path, self.headers.get("authorization", "")))
        self.rfile.read(int(self.headers["content-length"]))
        if self.leads_to:
            self.send_response(307)
            self.send_header("location", self.leads_to)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" " * (1 << 20))
        except OSError:
            self.close_connection = True


@contextmanager
def listening(**more: Any) -> Generator[tuple[str, list[tuple[str, str]]]]:
    """Its address, and what it has heard."""
    heard = list[tuple[str, str]]()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Answers,), {"heard": heard, **more})) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp", heard
        server.shutdown()


def far(home: Path, address: str) -> NamedServer:
    server = NamedServer(name="far", url=address, private_hosts=True)
    keep_secret(home, server.secret_names["token"], TOKEN, "file")
    return server


async def test_a_server_that_leads_elsewhere_is_not_followed_and_its_token_goes_nowhere_else(
    pool: KernelPool, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with listening() as (elsewhere, others), listening(leads_to=elsewhere) as (address, heard):
        with pytest.raises(Unavailable, match="The tool server 'far' cannot be used"):
            async with open_server(far(home, address), server_host(pool, home, tmp_path)):
                raise AssertionError
        assert {token for _, token in heard} == {f"Bearer {TOKEN}"}
        assert others == []


async def test_an_address_of_this_machine_names_the_way_out(pool: KernelPool, tmp_path: Path) -> None:
    with listening() as (address, heard):
        with pytest.raises(Unavailable, match="which was not approved") as refused:
            async with open_server(NamedServer(name="far", url=address), server_host(pool, tmp_path, tmp_path)):
                raise AssertionError
        assert "let far lead to this machine" in refused.value.hint
        assert heard == []


@pytest.mark.slow
async def test_an_answer_without_end_is_ended_after_64_mb(pool: KernelPool, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with listening() as (address, _), pytest.raises(Unavailable, match="more than 64 MB"):
        async with open_server(far(home, address), server_host(pool, home, tmp_path)):
            raise AssertionError
