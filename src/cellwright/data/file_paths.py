"""Paths below a connection's own place, and what can be wrong about one. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.errors import Unavailable, UserError

MAX_PATH: Final = 4096


class NoSuchFile(UserError):
    """Nothing is there: libraries look whether a file exists by asking for it."""


class FileChanged(Unavailable):
    """It is another one than the version that was asked for."""


def plain_path(text: str) -> str:
    """`a/b/c`, whatever slashes stand at its ends. Raises `UserError` for what could lead elsewhere."""
    path = text.strip("/")
    parts = path.split("/") if path else []
    is_plain = len(path) <= MAX_PATH and path.isprintable() and "\\" not in path
    if not is_plain or any(part in {"", ".", ".."} for part in parts):
        raise UserError(f"{text[:200]!r} is no path here.", hint="Write a/b/c, without . and .. and empty parts.")
    return path
