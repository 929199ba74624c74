"""Which data files there are in what was named, or in a project, and where a cage has them. Nothing that looks secret.

Everything here blocks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from cellwright.data.files import DataFile, is_data_file
from cellwright.errors import UserError
from cellwright.profiles.profile import SkippedFile
from cellwright.sandbox.host.project import hidden_in
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import DataMount

_SKIPPED_FOLDERS: Final = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})
_MAX_DEPTH: Final = 6
_MAX_FILES: Final = 2_000
_MAX_OTHERS: Final = 2_000
_MAX_PROJECT_DEPTH: Final = 4
_MAX_PROJECT_FILES: Final = 200
_MAX_ENTRIES: Final = 50_000
_INSPECTED_BYTES: Final = 64 * 1024


@dataclass(slots=True, kw_only=True)
class DataSelection:
    """The data files that are meant."""

    named: list[DataFile] = field(default_factory=list[DataFile])
    """The files and folders in which they are, as they were named."""
    files: list[DataFile] = field(default_factory=list[DataFile])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    notes: list[str] = field(default_factory=list[str])
    others: list[str] = field(default_factory=list[str])
    """Places of files in these folders that are not opened: pictures, documents, those beyond the limit."""


def search(named: Iterable[DataFile]) -> DataSelection:
    """Those that were named, and those in the folders. `UserError` if one is not there.

    A file that is named twice is there once.
    """
    chosen, found, seen = DataSelection(), list[tuple[DataFile, list[DataFile]]](), set[Path]()
    for root in named:
        fresh = [file for file in _files(root, chosen) if file.source not in seen]
        seen.update(file.source for file in fresh)
        found.append((root, fresh))
    unusable = _unusable([file for _, files in found for file in files])
    for root, files in found:
        kept = [file for file in files if file.source not in unusable]
        chosen.files += kept
        chosen.named += [root] if kept else []
        chosen.skipped += [
            SkippedFile(path=_as_text(file.place), why=unusable[file.source])
            for file in files
            if file.source in unusable
        ]
    return chosen


def project_files(project: Path, reveal: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """The project's data files, and those that might be settings or notes as well; a bounded number of each."""
    hidden = set(hidden_in(project, reveal))
    data, others = list[str](), list[str]()
    for path in filter(_may_be_data, _walk(project, _MAX_PROJECT_DEPTH, [_MAX_ENTRIES])):
        if hidden.isdisjoint(map(str, (PurePosixPath(path), *PurePosixPath(path).parents))):
            (data if is_data_file(path, "project") else others).append(path)
    return data[:_MAX_PROJECT_FILES], others[:_MAX_PROJECT_FILES]


def mounts(files: Iterable[DataFile]) -> tuple[DataMount, ...]:
    """Where a cage has the files."""
    return tuple(DataMount(source=str(file.source), target=file.target) for file in files)


def host_path(path: str, mounted: Iterable[DataMount]) -> Path | None:
    """Where a path in a cage, relative to the project, is on this machine; None if no data is mounted there."""
    found = rebase(path, {mount.target: mount.source for mount in mounted})
    return None if found is None else Path(found)


def rebase(path: str, places: Mapping[str, str]) -> str | None:
    """The path with its longest beginning that is known replaced; None if none is. Every path begins with `.`."""
    for end in range(len(parts := path.split("/")), 0, -1):
        if (known := places.get("/".join(parts[:end]))) is not None:
            return PurePosixPath(known, *parts[end:]).as_posix()
    return PurePosixPath(places["."], path).as_posix() if "." in places else None


# ── looking into folders ──


def _files(root: DataFile, chosen: DataSelection) -> list[DataFile]:
    folder = root.source
    if folder.is_file():
        return [root]
    if not folder.is_dir():
        if not folder.exists():
            raise UserError(f"Nothing at {root.place!r}.", hint="Name data files or folders that are there.")
        chosen.skipped.append(SkippedFile(path=root.place, why="it is neither a file nor a folder"))
        return []
    if folder in {Path("/"), Path.home().resolve()}:
        raise UserError(f"{root.place!r} is everything you have.", hint="Name a folder with data in it.")
    every = sorted(_walk(folder, _MAX_DEPTH, [_MAX_ENTRIES]), key=natural)
    found = [path for path in every if _may_be_data(path)]
    unopened = [*(path for path in every if not _may_be_data(path)), *found[_MAX_FILES:]]
    chosen.others += [_as_text(root.inner(path).place) for path in unopened[:_MAX_OTHERS]]
    if not found:
        chosen.skipped.append(SkippedFile(path=root.place, why="no data file is in this folder"))
    if len(found) > _MAX_FILES:
        chosen.notes.append(
            f"Of the {len(found):,} data files in {root.place!r} the first {_MAX_FILES:,} were looked at."
        )
    return [root.inner(path) for path in found[:_MAX_FILES]]


def natural(path: str) -> list[tuple[int, str]]:
    """A key by which `2.csv` comes before `10.csv`."""
    parts = re.split(r"([0-9]{1,18})", path)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _walk(folder: Path, depth: int, left: list[int], prefix: str = "") -> Iterator[str]:
    """Files below, relative; links, hidden files and what tools have made are passed by."""
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
        elif entry.is_file(follow_symlinks=False):
            yield prefix + entry.name


def _may_be_data(path: str) -> bool:
    return is_data_file(path.rpartition("/")[2], "folder")


def _as_text(place: str) -> str:
    """A place that can be told, also where a name is no text."""
    return place.encode(errors="replace").decode()


# ── what is not shown ──


def _unusable(files: Sequence[DataFile]) -> dict[Path, str]:
    """Why some are not opened; also what has no name in any text: it could not be asked for."""
    nameless = (file.source for file in files if any("\ud800" <= sign <= "\udfff" for sign in file.place))
    return {
        **dict.fromkeys(nameless, "its name is no text"),
        **dict.fromkeys(secrets_among([file.source for file in files]), "it looks like a secret and is not opened"),
    }


def secrets_among(files: Sequence[Path]) -> set[Path]:
    """Which of them a notebook would not be shown either. Asked of their beginnings alone.

    The sandbox judges whole folders: here that would be all of a person's downloads for the one file they named.
    """
    folders = list(dict.fromkeys(file.parent for file in files))
    numbers = {folder: number for number, folder in enumerate(folders)}
    with private_directory("names") as nowhere:
        stand_ins = [nowhere / str(number) / (folder.name or "_") for number, folder in enumerate(folders)]
        for stand_in in stand_ins:
            stand_in.mkdir(parents=True)
        for file in files:
            (stand_ins[numbers[file.parent]] / file.name).write_bytes(_beginning(file))
        hidden = set(hidden_in(nowhere))
        ways = {file: (stand_ins[numbers[file.parent]] / file.name).relative_to(nowhere) for file in files}
    return {file for file, way in ways.items() if not hidden.isdisjoint(map(str, (way, *way.parents)))}


def _beginning(file: Path) -> bytes:
    """Only where the sandbox looks into files of that name."""
    if file.suffix.lower() not in {".json", ".pem", ".asc", ".gpg", ""}:
        return b""
    try:
        with file.open("rb") as stream:
            return stream.read(_INSPECTED_BYTES)
    except OSError:
        return b""
