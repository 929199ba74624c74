"""What comes back to a notebook: a reply, or the one kind of failure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast


class ConnectionFailed(Exception):
    """A query or its connection failed, or was refused: one sentence for whoever wrote the cell."""


class ConnectionFileMissing(ConnectionFailed, FileNotFoundError):
    """There is no such file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataReply:
    """What was answered."""

    body: dict[str, Any]
    descriptors: tuple[int, ...] = ()
    """Open files, now the asker's to close."""


def read_object(text: bytes) -> dict[str, Any]:
    """The JSON object in it. Raises `ConnectionFailed` for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConnectionFailed("The answer of a connection was no JSON object.")
    return cast("dict[str, Any]", found)
