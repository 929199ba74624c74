"""Data files: how a person names them, what is taken for one, and where the code of a notebook finds it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.errors import UserError
from cellwright.remedies import remedy

DATA_FOLDER: Final = "data"
"""Data from outside the project stands in this folder beside the notebook: mounted while it is made, copied later."""
DataOrigin = Literal["named", "folder", "project"]
"""How a file was come upon: somebody named it, or a folder it is in; or it lies in a project that has other files."""
_SUFFIXES: Final = frozenset(
    {
        ".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".geojson", ".parquet", ".pq",
        ".feather", ".arrow", ".xlsx", ".xlsm", ".xls", ".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb",
    }
)  # fmt: skip
_AMBIGUOUS_SUFFIXES: Final = frozenset({".json", ".txt", ".dat", ".db"})
"""In a project such a file is a setting, a note or a cache more often than data."""
_COMPRESSED: Final = frozenset({".gz", ".gzip"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file or folder with data."""

    name: str
    """As the person calls it: the file's name, or the NAME of `NAME=PATH`."""
    source: Path
    """Where it lies on this machine, with symbolic links followed."""
    place: str
    """What code calls it: relative to the notebook's folder, with `/`."""
    target: str
    """Relative to the project, the same in every cage."""
    is_outside: bool = False
    """Not in the project: mounted at `target`, and copied there on delivery."""
    is_folder: bool = False

    @property
    def words(self) -> str:
        """As `parse_data` reads it."""
        return str(self.source) if self.name == self.source.name else f"{self.name}={self.source}"

    def inner(self, path: str) -> DataFile:
        """A file in this folder."""
        return replace(
            self,
            source=self.source / path,
            place=PurePosixPath(self.place, path).as_posix(),
            target=PurePosixPath(self.target, path).as_posix(),
            is_folder=False,
        )


def is_data_file(path: str, origin: DataOrigin) -> bool:
    """Whether a file of this path, relative to where it was come upon, is taken for data."""
    if origin == "named":
        return True
    inside = PurePosixPath(path.lower())
    suffix = inside.with_suffix("").suffix if inside.suffix in _COMPRESSED else inside.suffix
    is_hidden = any(part.startswith(".") for part in inside.parts)
    return not is_hidden and suffix in _SUFFIXES and (origin == "folder" or suffix not in _AMBIGUOUS_SUFFIXES)


def parse_data(
    words: Sequence[str], *, here: Path, notebook: Path, project: Path, is_mounted: bool = False
) -> tuple[DataFile, ...]:
    """Data as a person names it, `PATH` (relative to `here`) or `NAME=PATH` each; what is named twice is there once.

    What lies in the project stays where it is, unless `is_mounted` puts that into the data folder as well. Raises
    `UserError` for what is not there, or cannot be called so. Blocking.
    """
    files: dict[str, DataFile] = {}
    for word in words:
        name, text = split_name(word, here)
        path = here / _expanded(text)
        if not path.exists():
            raise UserError(
                f"No data at {str(path)!r}.", hint=remedy("add_data", what="a file or folder, or NAME=PATH,")
            )
        source = path.resolve()
        label = source.name if name is None else name
        if "/" in label or "\0" in label or label in {"", ".", ".."}:
            raise UserError(f"{label!r} is no name for data.", hint="Use NAME=PATH with a plain name.")
        file = place_data(source, label, notebook=notebook, project=project, is_mounted=is_mounted)
        if files.setdefault(file.name, file) != file:
            raise UserError(f"Two files or folders are named {file.name!r}.", hint="Rename one with NAME=PATH.")
    return tuple(files.values())


def place_data(source: Path, name: str, *, notebook: Path, project: Path, is_mounted: bool = False) -> DataFile:
    """Where the notebook finds the file or folder at `source`, a path without links. Blocking."""
    folder, root = notebook.resolve().parent, project.resolve()
    is_outside = is_mounted or not source.is_relative_to(root)
    there = folder / DATA_FOLDER / name if is_outside else source
    return DataFile(
        name=name,
        source=source,
        place=os.path.relpath(there, folder),
        target=os.path.relpath(there, root),
        is_outside=is_outside,
        is_folder=source.is_dir(),
    )


def split_name(word: str, here: Path) -> tuple[str | None, str]:
    """The name, if there is one, and the path. A file that is called like the whole word is that file. Blocking."""
    name, equals, path = word.partition("=")
    return (name, path) if equals and not (here / _expanded(word)).exists() else (None, word)


def _expanded(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        # `~nobody/x`: no such user.
        return Path(text)
