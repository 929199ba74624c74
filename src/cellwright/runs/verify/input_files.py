"""Which files a notebook's results come from, as far as that can be known, and what is in them.

Known are: what was given with `--data`, what the notebook's text names, and what Python opened in the kernel. Not known
is a file whose name only native code saw (a database engine given a computed name).
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.notebook.document import Document
from cellwright.notebook.syntax_trees import walk_syntax
from cellwright.profiles.data_search import host_path
from cellwright.sandbox.linux.descriptors import opened
from cellwright.sandbox.spec import DataMount

INSIDE: Final = PurePosixPath("/project")
"""Where the project stands in the cage."""
MOST_FILES: Final = 5_000
_FOLDER_FILES: Final = 1_000
_WORDS: Final = 20_000
_WORD: Final = re.compile(r"[^\s'\"`(),;=<>|]{1,500}")
_SKIPPED: Final = frozenset({".git", ".hg", ".venv", "__pycache__", "__marimo__", "node_modules", ".cellwright"})

InputReason = Literal["given", "named", "opened"]
"""given: with `--data`. named: its name stands in the notebook. opened: Python opened it in the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file that was there when the notebook ran."""

    path: str
    """Relative to the project, as the notebook sees it."""
    sha256: str
    bytes: int
    why: InputReason


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLocations:
    """Where a notebook's files are on this machine."""

    project: Path
    notebook: Path
    data: tuple[DataMount, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths of the project that the notebook cannot see."""

    def on_host(self, path: str) -> Path:
        """Where a path of the project, or of mounted data, is on this machine."""
        return host_path(path, self.data) or self.project / path


def known_files(document: Document, around: FileLocations, opened: Iterable[str] = ()) -> dict[str, InputReason]:
    """Path → why, for every file whose content the notebook may depend on. Blocking; opens nothing."""
    found: dict[str, InputReason] = {}
    sources: list[tuple[InputReason, Iterable[str]]] = [
        ("given", _given(around)),
        ("named", _named(document, around)),
        ("opened", opened),
    ]
    for why, paths in sources:
        for path in paths:
            if len(found) < MOST_FILES and path not in found and _is_input(path, around):
                found[path] = why
    return dict(sorted(found.items()))


def hash_files(paths: Mapping[str, InputReason], around: FileLocations) -> tuple[InputFile, ...]:
    """What is in these files now; one that is gone or cannot be read is left out. Blocking."""
    return tuple(
        InputFile(path=path, sha256=digest[0], bytes=digest[1], why=why)
        for path, why in paths.items()
        if (digest := digest_of(around.on_host(path))) is not None
    )


def digest_of(path: Path) -> tuple[str, int] | None:
    """(SHA-256, size) of a regular file; None for anything else."""
    try:
        with opened(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell()
    except OSError:
        return None


def opened_inside(paths: Iterable[str]) -> Iterator[str]:
    """Of paths inside the cage those of the project, relative to it."""
    for path in paths:
        plain = PurePosixPath(os.path.normpath(path))
        if plain.is_relative_to(INSIDE) and plain != INSIDE:
            yield plain.relative_to(INSIDE).as_posix()


def _is_input(path: str, around: FileLocations) -> bool:
    parts = PurePosixPath(path).parts
    host = around.on_host(path)
    return (
        not _SKIPPED.intersection(parts)
        and not any(path == hidden or path.startswith(f"{hidden}/") for hidden in around.hidden)
        and host.is_file()
        and host.resolve() != around.notebook
    )


def _given(around: FileLocations) -> Iterator[str]:
    for mount in around.data:
        source = Path(mount.source)
        if source.is_dir():
            yield from (f"{mount.target}/{inner}" for inner in _files_under(source))
        else:
            yield mount.target


def _named(document: Document, around: FileLocations) -> Iterator[str]:
    folders = list(dict.fromkeys([around.notebook.parent, around.project]))
    for word in _words(document):
        for folder in folders:
            yield from _files_for(word, folder, around.project)


def _words(document: Document) -> Sequence[str]:
    """Every string in the code that could name a file, whole and in parts (SQL names files inside a sentence)."""
    words: dict[str, None] = {}
    for cell in document.cells:
        for text in (text for node in walk_syntax(cell.code) for text in _texts(node)):
            words |= dict.fromkeys([text[:500], *_WORD.findall(text[:100_000])])
            if len(words) > _WORDS:
                return list(words)[:_WORDS]
    return list(words)


def _texts(node: ast.AST) -> Iterator[str]:
    """Strings, and modules: one beside the notebook is part of what it computes."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Import(names=names):
            yield from (f"{name.name.replace('.', '/')}.py" for name in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield f"{module.replace('.', '/')}.py"
        case _:
            pass


def _files_for(word: str, folder: Path, project: Path) -> Iterator[str]:
    """The files of the project that a word names: a file, all under a folder, or what a pattern matches."""
    relative = word.removeprefix("./").rstrip("/")
    if not relative or "\n" in word or "\0" in word or relative.startswith(("/", "~")) or ".." in Path(relative).parts:
        return
    try:
        if re.search(r"[*?\[]", relative) and re.search(r"\w", relative):
            matches = [found for found, _ in zip(folder.glob(relative), range(_FOLDER_FILES), strict=False)]
        else:
            matches = [folder / relative]
        for match in matches:
            if match in (project, folder) or not match.exists():
                continue
            inner = _files_under(match) if match.is_dir() else [""]
            yield from ((match / one).relative_to(project).as_posix() for one in inner)
    except (OSError, ValueError, NotImplementedError):
        return


def _files_under(folder: Path) -> Iterator[str]:
    left = _FOLDER_FILES
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _SKIPPED)
        for file in sorted(files):
            left -= 1
            if left < 0:
                return
            yield (Path(path) / file).relative_to(folder).as_posix()
