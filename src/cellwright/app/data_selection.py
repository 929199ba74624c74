"""Which data files a person means: the files they name, and those in the folders they name. Nothing that looks secret.

Everything here blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from cellwright.analyst.profile import SkippedFile
from cellwright.errors import UserError
from cellwright.sandbox import DataMount, hidden_in
from cellwright.sandbox.private_directory import private_directory

DATA_SUFFIXES: Final = frozenset(
    {
        ".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".geojson", ".parquet", ".pq",
        ".feather", ".arrow", ".xlsx", ".xlsm", ".xls", ".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb",
    }
)  # fmt: skip
"""What is taken for data when a folder is named; a file that is named itself may be called anything."""
_COMPRESSED: Final = frozenset({".gz", ".gzip"})
_SKIPPED_FOLDERS: Final = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})
_MAX_DEPTH: Final = 6
_MAX_ENTRIES: Final = 50_000
_MAX_FILES: Final = 500
_INSPECTED_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileInput:
    """A file that is to be profiled."""

    source: Path
    """Where it lies, with links followed."""
    shown: str
    """What it is to be called: as the person, or the notebook's code, calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRoot:
    """What was named: a file, or a folder with the data files in it."""

    source: Path
    shown: str
    files: tuple[ProfileInput, ...]


@dataclass(slots=True, kw_only=True)
class DataSelection:
    """All that was named."""

    roots: list[DataRoot] = field(default_factory=list[DataRoot])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    notes: list[str] = field(default_factory=list[str])

    @property
    def files(self) -> list[ProfileInput]:
        """Of all roots."""
        return [file for root in self.roots for file in root.files]


def select_data(named: Iterable[tuple[Path, str]]) -> DataSelection:
    """The data files at these places, under the names they are to be shown with. `UserError` if a place is not there.

    A file that is named twice is there once.
    """
    chosen, seen = DataSelection(), set[Path]()
    for path, shown in named:
        if not path.exists():
            raise UserError(f"Nothing at {shown!r}.", hint="Name data files or folders that are there.")
        source = path.resolve()
        files = _files(source, shown, chosen)
        fresh = [file for file in files if file.source not in seen]
        seen.update(file.source for file in fresh)
        if fresh:
            chosen.roots.append(DataRoot(source=source, shown=shown, files=tuple(fresh)))
    _leave_out_secrets(chosen)
    return chosen


def profile_mounts(chosen: DataSelection) -> tuple[list[DataMount], tuple[str, ...], dict[str, str]]:
    """Where the cage has the files, what to ask about there, and which path there stands for which name here."""
    mounts: list[DataMount] = []
    asked: list[str] = []
    names: dict[str, str] = {}
    taken = {root.shown.split("/")[0] for root in chosen.roots if _is_plain(root.shown)}
    for root in chosen.roots:
        place = root.shown if _is_plain(root.shown) else _free(root.source.name, taken)
        asked.append(place)
        names[place] = root.shown
        for file in root.files:
            inside = os.path.relpath(file.shown, root.shown) if file.shown != root.shown else ""
            target = f"{place}/{inside}" if inside else place
            mounts.append(DataMount(source=str(file.source), target=target))
            names[target] = file.shown
    return mounts, tuple(asked), names


def shown_path(path: str, names: dict[str, str]) -> str:
    """What a path in the cage is called here."""
    for end in range(len(parts := path.split("/")), 0, -1):
        if (known := names.get("/".join(parts[:end]))) is not None:
            return PurePosixPath(known, *parts[end:]).as_posix()
    return path


def is_data_file(name: str) -> bool:
    """Whether a file of this name is taken for data."""
    path = PurePosixPath(name.lower())
    return (path.with_suffix("").suffix if path.suffix in _COMPRESSED else path.suffix) in DATA_SUFFIXES


# ── looking into folders ──


def _files(path: Path, shown: str, chosen: DataSelection) -> list[ProfileInput]:
    if path.is_file():
        return [ProfileInput(source=path, shown=shown)]
    if not path.is_dir():
        chosen.skipped.append(SkippedFile(path=shown, why="it is neither a file nor a folder"))
        return []
    if path in {Path("/"), Path.home().resolve()}:
        raise UserError(f"{shown!r} is everything you have.", hint="Name a folder with data in it.")
    found = sorted(_walk(path, _MAX_DEPTH, [_MAX_ENTRIES]))
    if not found:
        chosen.skipped.append(SkippedFile(path=shown, why="no data file is in this folder"))
    if len(found) > _MAX_FILES:
        chosen.notes.append(f"Of the {len(found):,} data files in {shown!r} the first {_MAX_FILES} were looked at.")
    return [
        ProfileInput(source=path / inside, shown=PurePosixPath(shown, inside).as_posix())
        for inside in found[:_MAX_FILES]
    ]


def _walk(folder: Path, depth: int, left: list[int], prefix: str = "") -> Iterator[str]:
    """Data files below, relative; links, hidden files and what tools have made are passed by."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        left[0] -= 1
        if left[0] < 0:
            return
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth > 1 and entry.name not in _SKIPPED_FOLDERS:
                yield from _walk(folder / entry.name, depth - 1, left, f"{prefix}{entry.name}/")
        elif entry.is_file(follow_symlinks=False) and is_data_file(entry.name):
            yield prefix + entry.name


# ── what is not shown ──


def _leave_out_secrets(chosen: DataSelection) -> None:
    """Also what has no name in any text: it could not be asked for."""
    secret = _secrets([file.source for file in chosen.files])
    nameless = {file.source for file in chosen.files if not _is_text(file.shown)}
    for index, root in enumerate(chosen.roots):
        kept = tuple(file for file in root.files if file.source not in secret | nameless)
        chosen.roots[index] = DataRoot(source=root.source, shown=root.shown, files=kept)
        for file in root.files:
            if file.source in secret:
                chosen.skipped.append(SkippedFile(path=file.shown, why="it looks like a secret and is not opened"))
            elif file.source in nameless:
                shown = file.shown.encode(errors="replace").decode()
                chosen.skipped.append(SkippedFile(path=shown, why="its name is no text"))
    chosen.roots = [root for root in chosen.roots if root.files]


def _secrets(files: Sequence[Path]) -> set[Path]:
    """Which of them a notebook would not be shown either. Asked of their beginnings alone.

    The sandbox judges whole folders: here that would be all of a person's downloads for the one file they named.
    """
    with private_directory("names") as nowhere:
        for number, file in enumerate(files):
            stand_in = nowhere / str(number) / (file.parent.name or "_") / file.name
            stand_in.parent.mkdir(parents=True)
            stand_in.write_bytes(_beginning(file))
        hidden = hidden_in(nowhere)
    return {files[int(path.split("/")[0])] for path in hidden}


def _beginning(file: Path) -> bytes:
    """Only where the sandbox looks into files of that name."""
    if file.suffix.lower() not in {".json", ".pem", ".asc", ".gpg", ""}:
        return b""
    try:
        with file.open("rb") as stream:
            return stream.read(_INSPECTED_BYTES)
    except OSError:
        return b""


def _is_text(shown: str) -> bool:
    return shown.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in shown)


def _is_plain(shown: str) -> bool:
    """Whether it can stand in the cage under its own name."""
    return all(part not in {"", ".", ".."} for part in shown.split("/"))


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    taken.add(candidate)
    return candidate
