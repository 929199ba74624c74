"""Data from outside the project, copied beside the notebook, so that it runs where nobody mounts anything.

The project was in the hands of the notebook's code: no link in it is followed, and nothing in it is replaced.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cellwright.data.files import DATA_FOLDER, DataFile
from cellwright.sandbox.linux.descriptors import DIRECTORY, FILE, NEW_FILE, closing, opened, status_of

MOST_BYTES: Final = 200 << 20
"""In all; larger data stays where it is, and the person is told where to put it."""
_MOST_ENTRIES: Final = 20_000
_DEEPEST: Final = 40
_CHUNK: Final = 1 << 20


def copy_data(files: Sequence[DataFile], notebook: Path, *, most_bytes: int = MOST_BYTES) -> tuple[str, ...]:
    """Put what is outside the project at its place beside the notebook; what the person must know of it.

    Never replaces anything. Blocking.
    """
    caveats, left = list[str](), most_bytes
    for file in files:
        if not file.is_outside:
            continue
        size = _size(file.source, left)
        if size is None or size > left:
            caveats.append(f"{file.name} ({_said(size)}) was not copied: put it at {file.place} beside the notebook.")
            continue
        job = _CopyJob(place=file.place, source=file.source, left=left)
        try:
            job.copy(notebook.resolve().parent)
        except (_NotCopied, OSError) as error:
            why = error.strerror or "unknown" if isinstance(error, OSError) else str(error)
            caveats.append(f"{file.name} could not be copied ({why}): put it at {file.place} beside the notebook.")
            continue
        caveats += job.caveats()
        left = job.left
    return tuple(caveats)


class _NotCopied(Exception):
    """Something else stands where a folder is needed, or there is more of it than was measured."""


@dataclass(slots=True, kw_only=True)
class _CopyJob:
    """One file or folder on its way."""

    place: str
    source: Path
    left: int
    entries: int = 0
    different: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])

    def copy(self, folder: Path) -> None:
        with opened(folder) as beside, closing(_subfolder(beside, DATA_FOLDER)) as data:
            name = self.place.removeprefix(f"{DATA_FOLDER}/")
            with opened(self.source, FILE) as source:
                if stat.S_ISDIR(os.fstat(source).st_mode):
                    with closing(_subfolder(data, name)) as target:
                        self._folder(source, target, "", 0)
                else:
                    self._file(source, data, name, "")

    def caveats(self) -> list[str]:
        found: list[str] = []
        if self.different:
            found.append(
                f"{_listed(self.different)} beside the notebook: another file than the one this was made with. "
                "It was left as it is."
            )
        if self.skipped:
            found.append(f"Not copied, because they lead elsewhere or are no files: {_listed(self.skipped)}.")
        return found

    def _folder(self, source: int, target: int, within: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise _NotCopied(f"folders nested more than {_DEEPEST} deep")
        for name in sorted(os.listdir(source)):
            self.entries += 1
            if self.entries > _MOST_ENTRIES:
                raise _NotCopied(f"more than {_MOST_ENTRIES:,} files")
            inner = f"{within}{name}"
            mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                self._link(source, target, name, inner)
            elif stat.S_ISDIR(mode):
                with (
                    opened(name, within=source) as folder,
                    closing(_subfolder(target, name)) as into,
                ):
                    self._folder(folder, into, f"{inner}/", depth + 1)
            elif stat.S_ISREG(mode):
                with opened(name, FILE, within=source) as file:
                    self._file(file, target, name, f"/{inner}")
            else:
                self.skipped.append(f"{self.place}/{inner}")

    def _link(self, source: int, target: int, name: str, inner: str) -> None:
        """A link stays a link, and only one that stays inside the folder is made again."""
        leads = os.readlink(name, dir_fd=source)
        real = Path(os.path.realpath(self.source / inner))
        if Path(leads).is_absolute() or not real.is_relative_to(self.source):
            self.skipped.append(f"{self.place}/{inner}")
            return
        with suppress(FileExistsError):
            os.symlink(leads, name, dir_fd=target)
            return
        if not _leads_to(target, name, leads):
            self.different.append(f"{self.place}/{inner}")

    def _file(self, source: int, folder: int, name: str, within: str) -> None:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            self.skipped.append(f"{self.place}{within}")
            return
        if status_of(folder, name) is not None:
            self._compare(source, folder, name, within)
            return
        temporary = f".{secrets.token_hex(8)}.copying"
        try:
            with closing(os.open(temporary, NEW_FILE, 0o666, dir_fd=folder)) as into:
                self._bytes(source, into)
                os.fsync(into)
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            self._compare(source, folder, name, within)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)

    def _bytes(self, source: int, into: int) -> None:
        while chunk := os.read(source, _CHUNK):
            self.left -= len(chunk)
            if self.left < 0:
                raise _NotCopied("it grew while it was copied")
            while chunk:
                chunk = chunk[os.write(into, chunk) :]

    def _compare(self, source: int, folder: int, name: str, within: str) -> None:
        if not _is_same(source, folder, name):
            self.different.append(f"{self.place}{within}")


def _size(path: Path, enough: int) -> int | None:
    """How large it is, counted until it is too large; None if it cannot be read."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        total = entries = 0
        for folder, _, names in os.walk(path, onerror=_raise):
            for name in names:
                found = os.lstat(os.path.join(folder, name))  # noqa: PTH118 -- names that are no UTF-8 too
                total += found.st_size if stat.S_ISREG(found.st_mode) else 0
                entries += 1
            if total > enough or entries > _MOST_ENTRIES:
                break
    except OSError:
        return None
    return total


def _raise(error: OSError) -> None:
    raise error


def _said(size: int | None) -> str:
    if size is None:
        return "which cannot be read"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"


def _listed(names: Sequence[str]) -> str:
    shown = [ascii(name)[1:-1] if not name.isprintable() else name for name in names[:5]]
    return ", ".join(shown) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _subfolder(folder: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    try:
        return os.open(name, DIRECTORY, dir_fd=folder)
    except OSError as error:
        raise _NotCopied(f"{name!a} is there already, and no folder") from error


def _leads_to(folder: int, name: str, leads: str) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == leads
    except OSError:
        return False


def _is_same(source: int, folder: int, name: str) -> bool:
    try:
        with opened(name, FILE, within=folder) as there:
            known, found = os.fstat(source), os.fstat(there)
            if not stat.S_ISREG(found.st_mode) or known.st_size != found.st_size:
                return False
            os.lseek(source, 0, os.SEEK_SET)
            while chunk := os.read(source, _CHUNK):
                if os.read(there, len(chunk)) != chunk:
                    return False
            return True
    except OSError:
        return False
