"""Somebody's own `marimo edit`: a real process, with a state directory of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from cellwright.kernel.attached.marimo_server import ServerAddress

_CELLS = "import marimo\n\napp = marimo.App()\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class StockMarimo:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    url: str
    token: str
    notebook: Path
    state: Path

    @property
    def address(self) -> ServerAddress:
        return ServerAddress.parse(self.url, self.token)

    def page(self) -> str:
        return f"{self.url}/?file={self.notebook}" + (f"&access_token={self.token}" if self.token else "")


def write_notebook(path: Path, *cells: str) -> Path:
    """A notebook in marimo's own format, each text a cell."""
    bodies = ["@app.cell\ndef _():\n" + "\n".join(f"    {line}" for line in cell.splitlines()) for cell in cells]
    path.write_text(_CELLS + "".join(f"\n\n{body}\n    return\n" for body in bodies), encoding="utf-8")
    return path


@contextmanager
def stock_marimo(
    notebook: Path, *, token: str = "", port: int = 0, python: str = sys.executable
) -> Generator[StockMarimo]:
    """`marimo edit NOTEBOOK --headless`, until it answers; ended with the block."""
    port = port or _free_port()
    # Not an argument, which every process could read.
    opens = ["--token-password-file", "-"] if token else ["--no-token"]
    state = notebook.parent / "state"
    home = {
        "HOME": str(notebook.parent),
        "XDG_STATE_HOME": str(state),
        "XDG_CONFIG_HOME": str(state),
        "MARIMO_SKIP_UPDATE_CHECK": "1",
    }
    command = [python, "-m", "marimo", "edit", str(notebook), "--headless", *opens, "--port", str(port)]
    # It prints its address with the token: a file that only the server has.
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, env={**os.environ, **home}, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=notebook.parent
        )
        assert process.stdin is not None
        process.stdin.write(token.encode())
        process.stdin.close()
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield StockMarimo(process=process, url=url, token=token, notebook=notebook, state=state)
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    transport = httpx2.HTTPTransport(retries=8)
    with httpx2.Client(transport=transport, trust_env=False, timeout=60) as http:
        while process.poll() is None:
            try:
                http.get(f"{url}/health")
                return
            except httpx2.ConnectError:
                continue
    raise AssertionError("marimo ended before it answered")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
