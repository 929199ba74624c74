"""Errors that only HTTP has. Loads nothing: a command of the daemon raises them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar, Final

from cellwright.errors import CellwrightError, Defect, RefusedByPolicy, Unavailable, UserError
from cellwright.remedies import parse_remedy

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


_ERRORS: Final[Mapping[str, type[CellwrightError]]] = {
    "not_found": ResourceNotFound,
    "conflict": Conflict,
    "not_admitted": RefusedByPolicy,
    "refused": RefusedByPolicy,
    "unavailable": Unavailable,
    "defect": Defect,
}
"""By the kind of a problem; every other is a mistake in what was asked."""


def read_error(data: bytes, report_id: str) -> CellwrightError:
    """What went wrong, as it was raised there; `data` is the body of an answer."""
    error: CellwrightError = Defect("The daemon answered with no reason.")
    with suppress(ValueError):
        match json.loads(data):
            case {"error": {"kind": str(kind), "message": str(message), "hint": str(hint), **more}}:
                error = _ERRORS.get(kind, UserError)(message, hint=parse_remedy(more.get("remedy")) or hint)
            case _:
                pass
    if isinstance(error, Defect) and report_id:
        error.report_id = report_id
    return error
