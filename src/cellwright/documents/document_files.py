"""Documents as a person names them: files and folders, each document with a name of its own."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cellwright.documents.document import DocumentKind
from cellwright.errors import UserError

KINDS: Final[dict[str, DocumentKind]] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".csv": "csv",
    ".tsv": "csv",
    ".eml": "email",
}
"""Of a file by its ending."""
_MOST_FILES: Final = 20_000
_MOST_DEPTH: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFile:
    """A file to be read as a document."""

    name: str
    path: Path

    @property
    def kind(self) -> DocumentKind | None:
        """None: it is of no kind that is read."""
        return KINDS.get(self.path.suffix.lower())


def find_documents(paths: Sequence[Path]) -> tuple[DocumentFile, ...]:
    """The files, and all documents in the folders, in the order of their names. Raises `UserError`. Blocking.

    Of a folder hidden files, links and files of other kinds are passed by; a file that is named is taken whatever it
    is.
    """
    found = dict[Path, DocumentFile]()
    for path in paths:
        if not path.exists():
            raise UserError(f"There is no file or folder {str(path)!r}.", hint="Name documents, or folders of them.")
        inside = sorted(_walk(path, _MOST_DEPTH), key=_natural) if path.is_dir() else [""]
        for relative in inside:
            file = path / relative if relative else path
            name = f"{path.name}/{relative}" if relative and len(paths) > 1 else relative or path.name
            found.setdefault(file.resolve(), DocumentFile(name=name, path=file))
            if len(found) > _MOST_FILES:
                raise UserError(f"These are more than {_MOST_FILES:,} documents.", hint="Name fewer at a time.")
    return _with_names_apart(found.values())


def check_documents(paths: Sequence[Path]) -> None:
    """Raises `UserError` where there is nothing to read. Blocking."""
    if not find_documents(paths):
        hint = "PDF, DOCX, HTML, Markdown, text, CSV and e-mails (.eml) are read."
        raise UserError("There are no documents in these folders.", hint=hint)


def _walk(folder: Path, depth: int, prefix: str = "") -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir() and depth:
            yield from _walk(Path(entry.path), depth - 1, f"{prefix}{entry.name}/")
        elif entry.is_file() and Path(entry.name).suffix.lower() in KINDS:
            yield prefix + entry.name


def _with_names_apart(files: Iterable[DocumentFile]) -> tuple[DocumentFile, ...]:
    """What would be called the same is called by its whole path."""
    listed = tuple(files)
    names = Counter(file.name for file in listed)
    return tuple(replace(file, name=str(file.path)) if names[file.name] > 1 else file for file in listed)


def _natural(path: str) -> list[tuple[int, str]]:
    """`2.pdf` comes before `10.pdf`."""
    parts = re.split(r"([0-9]{1,18})", path)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
