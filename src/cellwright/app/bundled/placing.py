"""Putting a file where a person can see it, never over theirs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from cellwright.errors import UserError

_MOST: Final = 1_000
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HINT: Final = "Choose a folder that you may write to."


def place_new(folder: Path, name: str, content: bytes) -> Path:
    """Where the content is now: at a file that holds it already, or at a new one. Raises `UserError`. Blocking."""
    stem, suffix = Path(name).stem, Path(name).suffix
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, _MOST):
            path = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
            if _holds(path, content) or _put(path, content):
                return path
    except OSError as error:
        raise UserError(f"{name!r} cannot be put into {str(folder)!r}: {error.strerror}.", hint=_HINT) from error
    raise UserError(f"There are too many files called {name!r} in {str(folder)!r}.", hint=_HINT)


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def _put(path: Path, content: bytes) -> bool:
    """False if something is there already."""
    try:
        descriptor = os.open(path, _NEW, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return True
