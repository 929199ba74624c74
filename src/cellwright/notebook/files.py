"""Notebook files on disk: read without running them, saved atomically, never over what somebody else wrote."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.notebook.atomic_write import SavePoint, write_atomically
from cellwright.notebook.document import Document
from cellwright.notebook.marimo_file import parse_notebook
from cellwright.notebook.render import check_reads_back, render

MAX_NOTEBOOK_BYTES: Final = 50 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookFile:
    """A document and the file it belongs to, as that file was when last read or saved."""

    path: Path
    """With symbolic links followed: saves go to the real file."""
    document: Document
    content: bytes | None = field(repr=False)
    """What was on disk; None when there was no file."""
    has_bom: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveConflict:
    """Nothing was saved: the file is not what it was when it was read."""

    path: Path
    disk_text: str | None
    """What is there now; None when the file is gone."""
    our_text: str
    """What would have been saved."""


def read(path: Path) -> NotebookFile:
    """The notebook at `path`; its code is parsed, never run. Raises `UserError` for anything that is no notebook."""
    target = _resolve(path)
    content = _read_bytes(target)
    if content is None:
        raise UserError(f"There is no notebook {str(path)!r}.", hint="Check the path, or create it with `marimo new`.")
    text, has_bom = _decode(content, path)
    document = parse_notebook(text, repr(str(path)))
    return NotebookFile(path=target, document=document, content=content, has_bom=has_bom)


def read_if_changed(file: NotebookFile) -> NotebookFile | None:
    """The file read again, if it is not what it was; None if it is. Raises `UserError` for what is no notebook now."""
    return None if _read_bytes(file.path) == file.content else read(file.path)


def new(path: Path, document: Document | None = None) -> NotebookFile:
    """A notebook that is not on disk yet; saving it never replaces a file that appeared meanwhile."""
    return NotebookFile(path=_resolve(path), document=document or Document.new(), content=None)


def save(
    file: NotebookFile, document: Document, *, reached: Callable[[SavePoint], None] = lambda _: None
) -> NotebookFile | SaveConflict:
    """Write `document` to the file, if the file still is what it was when read; else both texts.

    What did not change keeps its bytes. An unchanged notebook is not written at all.
    """
    text = render(document)
    content = (codecs.BOM_UTF8 if file.has_bom else b"") + text.encode()
    disk = _read_bytes(file.path)
    if disk not in (file.content, content):
        return _conflict(file.path, disk, text)
    if disk != content:
        check_reads_back(document, text, str(file.path))
        if not _write(file, content, reached):
            return _conflict(file.path, _read_bytes(file.path), text)
    return replace(file, document=document, content=content)


def _write(file: NotebookFile, content: bytes, reached: Callable[[SavePoint], None]) -> bool:
    try:
        return write_atomically(
            file.path, content, may_replace=lambda: _read_bytes(file.path) == file.content, reached=reached
        )
    except OSError as error:
        raise UserError(
            f"Could not save {str(file.path)!r}: {error.strerror or error}.",
            hint="The file on disk is unchanged. Check the folder's permissions and free space.",
        ) from error


def _conflict(path: Path, disk: bytes | None, text: str) -> SaveConflict:
    disk_text = None if disk is None else disk.decode("utf-8-sig", errors="replace")
    return SaveConflict(path=path, disk_text=disk_text, our_text=text)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise UserError(f"{str(path)!r} cannot be followed: {error}.", hint="Is it a loop of links?") from error


def _read_bytes(path: Path) -> bytes | None:
    """The file's bytes, or None when there is none. Refuses what cannot be a notebook before reading it."""
    try:
        # Not opened blindly: opening a pipe would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise UserError(f"{str(path)!r} is {kind}, not a notebook.", hint="Name the notebook's `.py` file.")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            content = stream.read(MAX_NOTEBOOK_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_NOTEBOOK_BYTES:
        raise UserError(
            f"{str(path)!r} is larger than {MAX_NOTEBOOK_BYTES >> 20} MB.",
            hint="No notebook is that large; keep data in files of its own.",
        )
    return content


def _decode(content: bytes, path: Path) -> tuple[str, bool]:
    has_bom = content.startswith(codecs.BOM_UTF8)
    if not content.removeprefix(codecs.BOM_UTF8).strip():
        raise UserError(
            f"{str(path)!r} is empty.", hint="Delete it and create a notebook there, or start with `marimo new`."
        )
    if b"\0" in content:
        raise UserError(f"{str(path)!r} is a binary file, not a notebook.", hint="Name the notebook's `.py` file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{str(path)!r} is not UTF-8: byte {error.start} is {content[error.start]:#04x}.",
            hint="Save it as UTF-8 in your editor.",
        ) from error
    if path.suffix in (".md", ".qmd", ".ipynb"):
        raise UserError(
            f"{str(path)!r} is a {path.suffix} notebook; only `.py` notebooks can be opened.",
            hint=f"Convert it with `marimo convert {path.name} -o {path.stem}.py`.",
        )
    return text, has_bom
