"""Paths become lists of files: those in folders too, hidden ones and links that lead elsewhere not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from cellwright_guest.profiling.records import Skipped
from cellwright_guest.profiling.sources import Source, example

_MOST_DEPTH: Final = 12
_MOST_ENTRIES: Final = 20_000
_PASSED_OVER: Final = frozenset({"__pycache__", "node_modules", "venv"})


def list_sources(paths: Sequence[str], most_files: int) -> tuple[list[Source], list[Skipped], list[str]]:
    """The files that `paths` name, those in folders too; what cannot be opened is told."""
    sources, skipped, notes = dict[Path, Source](), list[Skipped](), list[str]()
    for asked in dict.fromkeys(paths):
        path = Path(asked)
        try:
            found, why = _named(path, asked)
        except (OSError, ValueError):
            found, why = [], "it cannot be opened"
        if why:
            skipped.append(Skipped(path=example(asked), why=why))
        for source in found:
            sources.setdefault(source.path.absolute(), source)
    if len(sources) > most_files:
        notes.append(f"Only the first {most_files:,} of {len(sources):,} files were read.")
    return list(sources.values())[:most_files], skipped, notes


def _named(path: Path, asked: str) -> tuple[list[Source], str]:
    if path.is_dir():
        found = sorted(_walk(path, asked), key=lambda source: _natural(source.shown))
        return found, "" if found else "it is a folder without files"
    if path.is_file():
        return [Source(path=path, shown=asked, size_bytes=path.stat().st_size)], ""
    return [], "it is neither a file nor a folder" if path.exists() else "there is no such file"


def _walk(folder: Path, asked: str) -> Iterator[Source]:
    """The files below a folder; hidden ones and links that lead out of it are passed over."""
    inside, entries = folder.resolve(), 0
    for where, folders, files in os.walk(folder, followlinks=False):
        here = Path(where)
        depth = len(here.relative_to(folder).parts)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _PASSED_OVER and depth < _MOST_DEPTH
        )
        for name in sorted(files):
            entries += 1
            if entries > _MOST_ENTRIES:
                return
            path = here / name
            if name.startswith((".", "~$")) or not path.is_file() or not path.resolve().is_relative_to(inside):
                continue
            shown = str(Path(asked) / path.relative_to(folder))
            yield Source(path=path, shown=shown, size_bytes=path.stat().st_size, is_named=False)


def _natural(text: str) -> list[tuple[int, str]]:
    """A key by which `2.csv` comes before `10.csv`."""
    return [
        (int(part), "") if part.isdigit() and part.isascii() else (-1, part) for part in re.split(r"(\d{1,18})", text)
    ]
