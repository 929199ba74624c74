"""What Postgres, libpq and their driver say, as failures told apart. Pure."""

from __future__ import annotations

import re
from typing import Final

import adbc_driver_manager as adbc

from cellwright.data.worker.source import FailureKind, SourceFailed

_NOISE: Final = re.compile(
    r"^[A-Z_]+: (?=\[libpq\]|Failed|\w)|\[libpq\] ?|Failed to (?:connect|prepare query|execute query[^:]*): "
    r"|Execution error \[\w+\]: |could not begin COPY: |could not connect: |\bERROR:  |\bFATAL:  "
    r"|\n\nQuery was: .*|\. SQLSTATE: \w+\s*$",
    re.DOTALL,
)
_LINE: Final = re.compile(r"\nLINE \d+: .*?\n *\^", re.DOTALL)
_OPENING: Final[tuple[tuple[str, FailureKind, str], ...]] = (
    (r"certificate|SSL|TLS|no encryption|root\.crt", "tls", "Look at the connection's tls and tls_ca."),
    (
        r"password|authentication|role .* does not exist|pg_hba|not permitted to log in|permission denied for database",
        "login",
        "Look at its user and its secret.",
    ),
    (r"database .* does not exist", "login", "Look at its database."),
    (r"too many (?:clients|connections)|starting up|shutting down", "gone", "Try again in a moment."),
    (
        r"translate host name|Connection refused|timeout|No route|unreachable|No such file|could not connect"
        r"|Name or service|Permission denied",
        "host",
        "Look at its host and port.",
    ),
)
_GONE: Final = re.compile(
    r"server closed the connection|terminating connection|connection (?:not open|to server was lost|reset)"
    r"|no connection to the server|could not (?:receive|send) data|Broken pipe|SSL SYSCALL|bad connection"
    r"|crash of another server process|lost synchronization",
    re.IGNORECASE,
)
_OURS: Final = re.compile(r"EXPLAIN \(FORMAT JSON\) |PREPARE \w+ AS |DECLARE \w+ NO SCROLL CURSOR FOR ")
"""What we put before a person's statement."""
_TIME: Final = re.compile(r"statement timeout", re.IGNORECASE)
_CANCELLED: Final = re.compile(r"due to user request", re.IGNORECASE)


def failure_of(problem: Exception, statement: str = "", *, opening: bool = False) -> SourceFailed:
    """What to tell of what the driver raised."""
    told = {key.decode(): value.decode("utf-8", "replace") for key, value in getattr(problem, "details", None) or ()}
    state = getattr(problem, "sqlstate", None) or told.get("PG_DIAG_SQLSTATE") or ""
    text = str(problem)
    if opening:
        for pattern, kind, hint in _OPENING:
            if re.search(pattern, text, re.IGNORECASE):
                return SourceFailed(kind, _plain(text), hint=hint)
        return SourceFailed("other", _plain(text))
    why = told.get("PG_DIAG_MESSAGE_PRIMARY") or _plain(text)
    if detail := told.get("PG_DIAG_MESSAGE_DETAIL"):
        why = f"{why} ({detail})"
    if place := _place(told, statement):
        why = f"{why} ({place})"
    return SourceFailed(_kind(state, text, problem), why, hint=told.get("PG_DIAG_MESSAGE_HINT", ""))


def _kind(state: str, text: str, problem: Exception) -> FailureKind:
    # 57P01 to 57P03: the server is going, has crashed, or is not there yet. 57P05: it was idle for too long.
    if state.startswith(("08", "57P")) or _GONE.search(text):
        return "gone"
    if _TIME.search(text) or state == "25P04":
        return "time"
    if state == "57014" or _CANCELLED.search(text):
        return "cancelled"
    is_statement = bool(state) or isinstance(problem, adbc.ProgrammingError | adbc.DataError | OSError)
    return "statement" if is_statement else "other"


def _place(told: dict[str, str], statement: str) -> str:
    """Where in the person's own text."""
    position = told.get("PG_DIAG_STATEMENT_POSITION", "")
    ours = _OURS.match(statement)
    own = statement[ours.end() :] if ours else statement
    at = int(position) - 1 - (len(statement) - len(own)) if position.isdecimal() else -1
    if not 0 <= at < len(own):
        return ""
    before = own[:at]
    return f"line {before.count(chr(10)) + 1}, character {at - before.rfind(chr(10))}"


def _plain(text: str) -> str:
    return _NOISE.sub("", _LINE.sub("", text)).strip()
