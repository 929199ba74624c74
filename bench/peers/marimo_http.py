"""`marimo edit` as it is served, and its `/api/kernel/execute` over one kept-alive connection.

`http.client` is the leanest caller there is: nothing of what is timed is the client's own work.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import time

from bench.peers.conversation import Answer, converse

_SESSION = "bench-session"
_START_SECONDS = 60


class MarimoServer:
    """A running editor server with one open notebook."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: http.client.HTTPConnection | None = None

    async def open(self, notebook: str) -> Answer:
        """Serve a notebook, with a kernel that nobody but us uses."""
        port = _free_port()
        self._process = subprocess.Popen(  # noqa: ASYNC220 (nothing else happens meanwhile)
            [sys.executable, "-m", "marimo", "-q", "edit", "--headless", "--no-token", "--no-skew-protection",
             "--skip-update-check", "--host", "127.0.0.1", "--port", str(port), notebook],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        await _until_listening(port)
        await asyncio.to_thread(_start_kernel, port, notebook)
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._connection.connect()
        assert self._connection.sock is not None
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return {}

    async def run(self, code: str) -> Answer:
        """Execute over HTTP; milliseconds until the whole answer is here."""
        assert self._connection is not None
        body = json.dumps({"code": code})
        headers = {"Content-Type": "application/json", "Marimo-Session-Id": _SESSION}
        began = time.perf_counter()
        self._connection.request("POST", "/api/kernel/execute", body, headers)
        answer = self._connection.getresponse().read().decode()
        ms = (time.perf_counter() - began) * 1e3
        if '"success": true' not in answer:
            raise RuntimeError(f"marimo answered {answer[:500]!r}")
        return {"ms": ms}

    async def close(self) -> Answer:
        """Stop the server and its kernel."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None
        return {}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def _until_listening(port: int) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def _start_kernel(port: int, notebook: str) -> None:
    """Open the editor's websocket, which starts the kernel, and close it: no browser competes for the server."""
    from urllib.parse import quote

    from websockets.sync.client import connect

    address = f"ws://127.0.0.1:{port}/ws?session_id={_SESSION}&file={quote(notebook)}"
    with connect(address, max_size=None) as browser:
        while '"kernel-ready"' not in str(browser.recv(timeout=_START_SECONDS)):
            pass


async def main() -> None:
    """Answer the bench, then leave no server behind."""
    server = MarimoServer()
    await converse({"open": server.open, "run": server.run, "close": server.close})
    await server.close()


if __name__ == "__main__":
    asyncio.run(main())
