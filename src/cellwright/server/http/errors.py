"""Errors that only HTTP has. Loads nothing: a command of the daemon raises them again."""

from __future__ import annotations

from typing import ClassVar, Final

from cellwright.errors import RefusedByPolicy, Unavailable, UserError

REPORT_HEADER: Final = "cellwright-report"
"""The report id of a defect, for a client that raises it again."""


class ResourceNotFound(UserError):
    """There is no such thing."""


class Conflict(UserError):
    """It cannot be done as things stand now: somebody was faster, or it has changed since."""


class TooLarge(UserError):
    """More bytes than are taken."""

    headers: ClassVar = {"connection": "close"}
    """Of the answer, here and below."""


class RequestTimedOut(UserError):
    """A request that took too long to arrive."""

    headers: ClassVar = {"connection": "close"}


class NotAdmitted(RefusedByPolicy):
    """Nobody knows who asks."""

    headers: ClassVar = {"www-authenticate": "Bearer"}


class TooMany(Unavailable):
    """More requests than are answered."""

    def __init__(self, wait_seconds: float) -> None:
        seconds = str(max(1, round(wait_seconds)))
        super().__init__("Too many requests.", hint=f"Try again in {seconds} s.")
        self.headers = {"retry-after": seconds}
