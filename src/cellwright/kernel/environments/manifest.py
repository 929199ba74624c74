"""What an environment consisted of when it was built, and whether it still does: every file, link and mode.

A file whose inode, size, mode and times are those of the last look is the file of the last look: nobody but the system
sets the time of an inode's last change. Any other is read and compared by its hash. Linking a file into another
environment changes that time too, so a changed time alone means nothing yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from cellwright.notebook.atomic_write import write_atomically

_NAME: Final = "manifest.json"

Entry = list[Any]
"""Digest of the content or where a link leads, mode, size; then the stamp: inode, time of the last change."""


def write_manifest(home: Path, key: str) -> int:
    """Note everything that is in `home/venv`, under the key it was built for; how many bytes that is. Blocking."""
    files = {path: _entry(place, seen) for path, place, seen in _walk(home / "venv")}
    _write(home, key, files)
    return sum(entry[2] for entry in files.values())


def is_as_built(home: Path, key: str) -> bool:
    """Whether `home/venv` is, to the last file, what was built under this key. Blocking."""
    try:
        noted: Any = json.loads((home / _NAME).read_bytes())
        known = cast("dict[str, Entry]", noted["files"]) if noted["key"] == key else {}
        now: dict[str, Entry] = {}
        for path, place, seen in _walk(home / "venv"):
            entry = known.get(path)
            if entry is None:
                return False
            now[path] = entry if entry[1:] == _stamp(seen) else _entry(place, seen)
            if now[path][:3] != entry[:3]:
                return False
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return False
    if now != known and len(now) == len(known):
        _write(home, key, now)
    return len(now) == len(known)


def _walk(folder: Path) -> Iterator[tuple[str, str, os.stat_result]]:
    """Every file and link below, by its path from there; folders only by what is in them."""
    pending = [str(folder)]
    above = len(pending[0]) + 1
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                seen = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(seen.st_mode):
                    pending.append(entry.path)
                else:
                    yield entry.path[above:], entry.path, seen


def _entry(place: str, seen: os.stat_result) -> Entry:
    if stat.S_ISLNK(seen.st_mode):
        return [f"-> {os.readlink(place)}", *_stamp(seen)]  # noqa: PTH115  of 15,000 files
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(f"{place!r} is neither a file nor a link")
    with open(place, "rb") as file:  # noqa: PTH123
        return [hashlib.file_digest(file, "sha256").hexdigest(), *_stamp(seen)]


def _stamp(seen: os.stat_result) -> Entry:
    return [seen.st_mode, seen.st_size, seen.st_ino, seen.st_ctime_ns]


def _write(home: Path, key: str, files: dict[str, Entry]) -> None:
    write_atomically(home / _NAME, json.dumps({"key": key, "files": files}).encode())
