"""What came in and what it cost, told to whoever waits for it, in any thread."""

from __future__ import annotations

import threading
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

    def receive(self, received: Received) -> None:
        """A request came in."""
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()

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
            self._changed.notify_all()
            return account

    def tell(self) -> None:
        """Something changed: an answer ended, or fell silent."""
        with self._changed:
            self._changed.notify_all()

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
        with self._changed:
            if not self._changed.wait_for(holds, timeout=timeout_seconds):
                raise TimeoutError(f"The server did not come to that in {timeout_seconds:g} s.")
