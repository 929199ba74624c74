"""What every file store can do for its worker, whatever its library. One contract suite runs for all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol

from cellwright.data.messages import FileEntry, FileList
from cellwright.data.worker.source import SourceFailed

CONNECT_SECONDS: Final = 10.0
MAX_ENTRIES: Final = 20_000
"""Of one list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBytes:
    """A range as it was read."""

    data: memoryview
    version: str
    """Of the file it is from; empty: the server has none."""


class FileStore(Protocol):
    """An open store. Paths are plain (`a/b/c`) and below the connection's own place. Raises `SourceFailed`."""

    server: str
    """What it is, in a few words."""

    async def entries(self, folder: str, *, is_deep: bool) -> FileList:
        """What is in a folder, sorted; deep: every file below it, and no folders."""
        ...

    async def stat(self, path: str) -> FileEntry:
        """A file or folder."""
        ...

    async def read(self, path: str, start: int, stop: int) -> ReadBytes:
        """Bytes of a file; fewer at its end."""
        ...


def is_within(path: str, folder: str) -> bool:
    """Whether it is the folder or below it."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def joined(*parts: str) -> str:
    """One path of several, without slashes at its ends."""
    return "/".join(stripped for part in parts if (stripped := part.strip("/")))


def missing(path: str) -> SourceFailed:
    """There is nothing of this name."""
    if not path:
        why = "There is nothing at the place that the connection names, or it is no folder."
        return SourceFailed("missing", why, hint="Look at its address and folder.")
    return SourceFailed("missing", f"There is no {path[:200]!r}.", hint="List the folder to see what is there.")


def unreached(problem: BaseException) -> SourceFailed:
    """Nobody was spoken with, for what an operating system says."""
    text = " ".join(str(problem).split())
    if re.search(r"name or service|no address|name resolution|nodename", text, re.IGNORECASE):
        return SourceFailed("host", "no host of this name is known.")
    if re.search(r"refused|connect call failed|timed out|unreachable|no route", text, re.IGNORECASE) or not text:
        return SourceFailed("host", "nobody answers there.")
    return SourceFailed("host", text[:300])


def as_list(entries: list[FileEntry], *, is_cut: bool = False) -> FileList:
    """Sorted, and not more than is told at once."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    return FileList(entries=tuple(ordered[:MAX_ENTRIES]), is_cut=is_cut or len(ordered) > MAX_ENTRIES)
