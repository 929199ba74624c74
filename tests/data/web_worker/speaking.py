"""One exchange over the broker's line, as the egress proxy has it."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

import anyio.to_thread

from cellwright.data.broker_client import BrokerClient
from cellwright.data.messages import Asker, OpenExchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An answer; `is_whole` if it ended as it announced."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    is_whole: bool

    @property
    def text(self) -> str:
        return f"{self.reason}\n{self.headers}\n{self.body.decode('utf-8', 'replace')}"


def request_bytes(method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b"") -> bytes:
    lines = {"Host": "any", "Connection": "close"} | (headers or {})
    if body and not {"Content-Length", "Transfer-Encoding"} & set(lines):
        lines["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def read_answer(line: socket.socket, method: str = "GET") -> Heard:
    """Blocking, for half a minute at most."""
    line.settimeout(30)
    response = HTTPResponse(line, method=method)
    response.begin()
    try:
        body, is_whole = response.read(), True
    except (HTTPException, OSError):
        body, is_whole = b"", False
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Heard(status=response.status, reason=response.reason, headers=headers, body=body, is_whole=is_whole)


async def exchange(client: BrokerClient, name: str, raw: bytes, method: str = "GET") -> Heard:
    line = await client.exchange(OpenExchange(connection=name, asker=Asker(person="ada", run="run-1")))

    def speak() -> Heard:
        line.settimeout(30)
        with line:
            try:
                line.sendall(raw)
            except BrokenPipeError:
                # Refused before all was said: the answer is there.
                pass
            return read_answer(line, method)

    return await anyio.to_thread.run_sync(speak)


async def ask(
    client: BrokerClient,
    method: str,
    target: str,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    name: str = "crm",
) -> Heard:
    """One request with the stand-in where the secret belongs."""
    given = {"Authorization": f"Bearer cellwright-secret:{name}"} | (headers or {})
    return await exchange(client, name, request_bytes(method, target, given, body), method)
