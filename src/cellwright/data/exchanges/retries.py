"""When a request is sent again because the service says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MAX_RETRIES: Final = 3
MAX_WAIT_SECONDS: Final = 30.0
"""Of one wait; whoever is told to wait longer is told so."""
_STATUSES: Final = frozenset({429, 503})
_METHODS: Final = frozenset({"GET", "HEAD"})
_FORBIDDEN: Final = 403
_RESETS: Final = ("ratelimit-reset", "x-ratelimit-reset", "x-rate-limit-reset")
_RESET_IN: Final = re.compile(r"(?:\breset=|;\s*t=)(\d{1,10})\b")
"""In the header `RateLimit`, in both of its forms."""
_EPOCH: Final = 1_000_000_000
"""A larger number of seconds is a time, not a while."""
FindHeader = Callable[[str], str | None]
"""Of an answer, by its name in small letters."""


def asked_seconds(status: int, header: FindHeader, now: datetime) -> float | None:
    """How long the service asks to be left alone; None: it does not say."""
    is_spent = status == _FORBIDDEN and (header("x-ratelimit-remaining") or "").strip() == "0"
    if status not in _STATUSES and not is_spent:
        return None
    if (after := header("retry-after")) is not None:
        return _seconds(after.strip(), now)
    for name in _RESETS:
        if (reset := (header(name) or "").strip()).isascii() and reset.isdecimal():
            seconds = float(reset[:12])
            return max(0.0, seconds - now.timestamp()) if seconds > _EPOCH else seconds
    found = _RESET_IN.search((header("ratelimit") or "")[:500])
    return float(found[1]) if found else None


def seconds_to_wait(method: str, asked: float | None, retries: int) -> float | None:
    """How long to wait before the request is sent again; None: it is not."""
    if method not in _METHODS or asked is None or retries >= MAX_RETRIES:
        return None
    return asked if 0 <= asked <= MAX_WAIT_SECONDS else None


def _seconds(text: str, now: datetime) -> float | None:
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
