"""When a request is sent again because the service says so."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MAX_RETRIES: Final = 3
MAX_WAIT_SECONDS: Final = 30.0
"""Of one wait; whoever is told to wait longer is told so."""
_STATUSES: Final = frozenset({429, 503})
_METHODS: Final = frozenset({"GET", "HEAD"})


def seconds_to_wait(method: str, status: int, retry_after: str | None, retries: int, now: datetime) -> float | None:
    """How long to wait before the request is sent again; None: it is not."""
    if method not in _METHODS or status not in _STATUSES or retry_after is None or retries >= MAX_RETRIES:
        return None
    seconds = _seconds(retry_after.strip(), now)
    return seconds if seconds is not None and 0 <= seconds <= MAX_WAIT_SECONDS else None


def _seconds(text: str, now: datetime) -> float | None:
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
