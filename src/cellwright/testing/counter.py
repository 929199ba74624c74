"""What came in and what it cost, told to whoever waits for it, in any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cellwright.testing.accounting import Account, Charge
from cellwright.testing.answers import Tokens
from cellwright.testing.requests import Received


class Counter:
    """The server's books."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self._accounts: list[Account] = []
        self._changed = threading.Condition()
        self._changes = 0

    def receive(self, received: Received) -> None:
        """A request came in."""
        with self._changed:
            self.requests.append(received)
            self._tell()

    def open_account(self, received: Received, tokens: Tokens) -> Account:
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
            account = Account(opened=opened, tokens=tokens)
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
