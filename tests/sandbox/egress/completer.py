"""Somebody who completes requests: each comes over a socket of its own, and is answered as a test wants it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from cellwright.errors import RefusedByPolicy
from cellwright.sandbox.egress import (
    AnswerDigest,
    Completed,
    CompletedAnswer,
    Denied,
    ExchangeLine,
    KeptAnswer,
    WantedExchange,
)
from cellwright.sandbox.egress.destinations import Target

API = "api.example"


@dataclass
class Completer:
    """Hosts whose requests are completed, and what was heard."""

    pool: ThreadPoolExecutor
    hosts: set[Target] = field(default_factory=lambda: {Target(host=API, port=443), Target(host=API, port=80)})
    wanted: list[WantedExchange] = field(default_factory=list[WantedExchange])
    heads: list[bytes] = field(default_factory=list[bytes])
    bodies: list[bytes] = field(default_factory=list[bytes])
    answers: list[CompletedAnswer] = field(default_factory=list[CompletedAnswer])
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbirds"
    kept: KeptAnswer | None = None
    """Given without a line, if there is one."""
    refusal: str = ""
    is_silent: bool = False
    """It takes requests and answers none."""
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released once per request."""
    left: int = 0
    """How often the other side was gone before there was an answer."""

    async def find(self, target: Target) -> Completed | Denied | None:
        return Completed(open=self.open) if target in self.hosts else None

    async def open(self, wanted: WantedExchange) -> ExchangeLine | KeptAnswer:
        self.wanted.append(wanted)
        if self.kept is not None:
            return self.kept
        if self.refusal:
            raise RefusedByPolicy(self.refusal)
        ours, theirs = socket.socketpair()
        self.pool.submit(self._serve, theirs)
        return ExchangeLine(socket=ours, name="the connection 'crm'", listener=AnswerDigest(self.answers.append))

    def _serve(self, line: socket.socket) -> None:
        with line, line.makefile("rb") as reading:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += reading.readline()
            self.heads.append(head)
            length = next(
                (int(row[15:]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length:")), 0
            )
            self.bodies.append(reading.read(length))
            self.arrived.release()
            if self.is_silent:
                self.left += reading.read(1) == b""
                return
            line.sendall(self.answer)


@contextmanager
def completer() -> Generator[Completer]:
    with ThreadPoolExecutor(16) as pool:
        yield Completer(pool)
