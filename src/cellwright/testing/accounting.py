"""The server's own count of what came in and what it charged: what a client's accounting is checked against."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cellwright.testing.answers import Tokens
from cellwright.testing.wire.formats import WireKind
from cellwright.testing.wire.reply import WireRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Received(WireRequest):
    """One request for an answer: what it asks for, and how it came."""

    id: str
    kind: WireKind
    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case. The credential is among them: not shown when printed."""

    @property
    def credential(self) -> str | None:
        """The key it came with, without the scheme."""
        given = map(self.headers.get, ("authorization", "x-api-key", "x-goog-api-key", "api-key"))
        return next((value.removeprefix("Bearer ") for value in given if value), None)

    @property
    def idempotency_key(self) -> str | None:
        """What names this request for a provider that answers a repeated one from memory."""
        return self.headers.get("idempotency-key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one request cost."""

    request_id: str
    """Also the answer's id on the wire."""
    kind: str
    model: str
    idempotency_key: str | None
    is_stream: bool
    tokens: Tokens
    """A stream cut short is charged for the pieces that were sent."""
    is_finished: bool
    """Whether the whole answer was handed to the connection."""


@dataclass(slots=True)
class OpenCharge:
    """One open charge: the input is paid at once, the output as it is made."""

    received: Received
    tokens: Tokens
    share: float = 0.0
    is_finished: bool = False

    def deliver(self, share: float) -> None:
        """This part of the whole answer has been made by now, between 0 and 1."""
        self.share = max(self.share, share)

    def finish(self) -> None:
        """The whole answer is made; its last bytes go out now."""
        self.share = 1.0
        self.is_finished = True

    def lose(self) -> None:
        """The client was gone before the last bytes."""
        self.is_finished = False

    @property
    def charge(self) -> Charge:
        """What it comes to so far."""
        received = self.received
        return Charge(
            request_id=received.id,
            kind=received.kind,
            model=received.model,
            idempotency_key=received.idempotency_key,
            is_stream=received.is_stream,
            tokens=replace(self.tokens, output_tokens=int(self.tokens.output_tokens * self.share)),
            is_finished=self.is_finished,
        )


class Counter:
    """The server's books."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self._accounts: list[OpenCharge] = []
        self._changed = threading.Condition()
        self._changes = 0

    def receive(self, received: Received) -> None:
        """A request came in."""
        with self._changed:
            self.requests.append(received)
            self._notify()

    def open_account(self, received: Received, tokens: Tokens) -> OpenCharge:
        """Work on an answer begins: its input is paid from now on."""
        account = OpenCharge(received, tokens)
        with self._changed:
            self._accounts.append(account)
            self._notify()
        return account

    def notify(self) -> None:
        """Something changed: an answer ended, or fell silent."""
        with self._changed:
            self._notify()

    def forget(self) -> None:
        """Empty the books."""
        with self._changed:
            self.requests.clear()
            self._accounts.clear()

    @property
    def charged(self) -> tuple[Charge, ...]:
        """Every charge as it stands."""
        return tuple(account.charge for account in self._accounts)

    def wait_until(self, holds: Callable[[], bool], *, timeout_seconds: float) -> None:
        """Block until it holds. Raises `TimeoutError`."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            seen = self._changes
            # Not under the lock: it may ask the server, which needs the lock to answer.
            if holds():
                return
            with self._changed:
                left = deadline - time.monotonic()
                if not self._changed.wait_for(lambda seen=seen: self._changes != seen, timeout=max(0.0, left)):
                    raise TimeoutError(f"The server did not come to that in {timeout_seconds:g} s.")

    def _notify(self) -> None:
        self._changes += 1
        self._changed.notify_all()
