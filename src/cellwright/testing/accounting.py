"""The server's own count of what came in and what it charged: what a client's accounting is checked against."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cellwright.testing.answers import Tokens
from cellwright.testing.requests import Received


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


class OpenCharge:
    """One open charge: the input is paid at once, the output as it is made."""

    def __init__(self, *, opened: Charge, tokens: Tokens) -> None:
        self._opened = opened
        self._tokens = tokens
        self._share = 0.0
        self._is_finished = False

    def deliver(self, share: float) -> None:
        """This part of the whole answer has been made by now, between 0 and 1."""
        self._share = max(self._share, share)

    def finish(self) -> None:
        """The whole answer is made; its last bytes go out now."""
        self._share = 1.0
        self._is_finished = True

    def lose(self) -> None:
        """The client was gone before the last bytes."""
        self._is_finished = False

    @property
    def charge(self) -> Charge:
        """What it comes to so far."""
        tokens = Tokens(
            input_tokens=self._tokens.input_tokens,
            output_tokens=int(self._tokens.output_tokens * self._share),
            cache_read_tokens=self._tokens.cache_read_tokens,
            cache_write_tokens=self._tokens.cache_write_tokens,
        )
        opened = self._opened
        return Charge(
            request_id=opened.request_id,
            kind=opened.kind,
            model=opened.model,
            idempotency_key=opened.idempotency_key,
            is_stream=opened.is_stream,
            tokens=tokens,
            is_finished=self._is_finished,
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
            self._tell()

    def open_account(self, received: Received, tokens: Tokens) -> OpenCharge:
        """Work on an answer begins: its input is paid from now on."""
        opened = Charge(
            request_id=received.id,
            kind=received.kind,
            model=received.model,
            idempotency_key=received.idempotency_key,
            is_stream=received.is_stream,
            tokens=Tokens(),
            is_finished=False,
        )
        with self._changed:
            account = OpenCharge(opened=opened, tokens=tokens)
            self._accounts.append(account)
            self._tell()
            return account

    def tell(self) -> None:
        """Something changed: an answer ended, or fell silent."""
        with self._changed:
            self._tell()

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

    def _tell(self) -> None:
        self._changes += 1
        self._changed.notify_all()
