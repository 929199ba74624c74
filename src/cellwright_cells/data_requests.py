"""One request about a connection and its reply, whoever answers: the kernel's host, or the broker of this machine.

Nothing stays open between two of them.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any, Final, cast

from cellwright_cells.broker_socket import ask_broker
from cellwright_cells.replies import ConnectionFailed, ConnectionFileMissing, DataReply, read_object

SERVICE: Final = "data"
"""What a kernel's host calls who answers."""
_GUEST: Final = "cellwright_guest.host_calls"
_CAGE: Final = "CELLWRIGHT_PROJECT"
"""Set for every process in a cage, where there is no broker's socket."""
_REPLIES: Final = {"query": "result", "schema": "schema", "files": "listed", "stat": "file", "read": "part"}
"""What a request is answered with."""


def ask(request: dict[str, Any]) -> DataReply:
    """Ask, and wait for the answer. Raises `ConnectionFailed`."""
    guest: Any = sys.modules.get(_GUEST)
    is_kernel = guest is not None and guest.has_host()
    if not is_kernel and _CAGE in os.environ:
        raise ConnectionFailed(
            f"The connection {str(request['connection'])!r} cannot be asked from a process that a cell started: "
            "ask in the cell, and hand the result over."
        )
    reply = _ask_host(guest, request) if is_kernel else ask_broker(request)
    match reply.body:
        case {"kind": str(kind)} if kind == _REPLIES[request["kind"]]:
            return reply
        case {"kind": "failed", "error": "missing", "message": str(message)}:
            close_all(reply.descriptors)
            raise ConnectionFileMissing(message)
        case {"kind": "costly", "expected": str(expected)}:
            why = (
                f"The database expects to read {expected} for this: more than it may unasked. "
                "Ask for less; a person can let the connection read more (`ask_above_rows`, `ask_above_megabytes`)."
            )
        case {"kind": "failed", "message": str(message)}:
            why = " ".join(filter(None, (message, str(reply.body.get("hint", "")))))
        case _:
            why = f"The connection {request['connection']!r} answered in words that this version does not know."
    close_all(reply.descriptors)
    raise ConnectionFailed(why)


def _ask_host(guest: Any, request: dict[str, Any]) -> DataReply:
    try:
        answer = guest.ask_host(SERVICE, json.dumps(request).encode())
    except guest.HostCallFailed as problem:
        raise ConnectionFailed(str(problem)) from None
    return DataReply(body=read_object(answer.body), descriptors=answer.descriptors)


def close_all(descriptors: Iterable[int]) -> None:
    """Nobody reads these."""
    for descriptor in descriptors:
        os.close(descriptor)


def plain_parameter(value: object) -> object:
    """A parameter as JSON has it. Raises `ConnectionFailed` for what no statement takes."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = cast("Any", value).item()
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case _:
            named = "an infinite number" if isinstance(value, float) else f"a {type(value).__name__}"
            raise ConnectionFailed(
                f"A parameter can be None, a truth value, a number, a text or a date, and this is {named}."
            )
