"""The server's own count of what it charged: what a client's accounting is checked against."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.testing.answers import Tokens


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


class Account:
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
