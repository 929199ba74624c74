"""Git's files without git: its objects as bytes, and files of a repository opened through no link.

How objects are named, what a tree holds, which names no tree may hold; no file is longer than expected.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cellwright.sandbox.linux import descriptors, syscalls

ObjectKind = Literal["blob", "tree", "commit", "tag"]

FILE, PROGRAM, LINK, DIRECTORY, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o040000, 0o160000
_MODES: Final = {b"100644": FILE, b"100755": PROGRAM, b"120000": LINK, b"40000": DIRECTORY, b"160000": SUBMODULE}
_LONGEST_MODE: Final = 6

# Code points that a Macintosh's file system leaves out when it compares names.
_IGNORED_ON_A_MACINTOSH: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT_S_OWN: Final = {".git", "git~1"}
_READ_BY_GIT: Final = {".gitmodules", ".gitattributes", ".gitignore", ".mailmap"}


class Unsound(Exception):
    """An object, a repository or a delivery that breaks git's rules or ours; the message says which."""


@dataclass(frozen=True, slots=True)
class ObjectFormat:
    """How a repository names its objects."""

    name: Literal["sha1", "sha256"]

    @property
    def digest_bytes(self) -> int:
        """Length of a name."""
        return 20 if self.name == "sha1" else 32

    def name_of(self, kind: ObjectKind, data: bytes) -> str:
        """The name an object has by its content."""
        # Git chose the function, not we; what it protects against here is damage.
        digest = hashlib.new(self.name, usedforsecurity=False)
        digest.update(header_of(kind, len(data)))
        digest.update(data)
        return digest.hexdigest()

    def is_name(self, text: str) -> bool:
        """Whether this could name an object."""
        return re.fullmatch(r"[0-9a-f]+", text) is not None and len(text) == 2 * self.digest_bytes

    @property
    def empty_tree(self) -> str:
        """The tree without entries; it exists in every repository, written or not."""
        return self.name_of("tree", b"")


def header_of(kind: ObjectKind, size: int) -> bytes:
    """What stands before an object's content."""
    return f"{kind} {size}".encode() + b"\0"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One line of a tree."""

    mode: int
    name: str
    """Bytes that are no UTF-8 come as surrogates, as Python has them in paths."""
    object: str

    @property
    def is_directory(self) -> bool:
        """Whether a tree stands behind it."""
        return self.mode == DIRECTORY


def read_tree(data: bytes, form: ObjectFormat, *, is_ours: bool = True) -> tuple[TreeEntry, ...]:
    """The entries of a tree. One that was made for us must be exactly as git writes it today."""
    entries: list[TreeEntry] = []
    last = b""
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + _LONGEST_MODE + 1)
        end = data.find(b"\0", space + 1)
        after = end + 1 + form.digest_bytes
        if space < 0 or end < 0 or after > len(data):
            raise Unsound("a tree is cut off")
        mode, name = _mode(data[at:space], is_ours), data[space + 1 : end]
        order = name + b"/" if mode == DIRECTORY else name
        if not name or b"/" in name or (is_ours and order <= last):
            raise Unsound(f"a tree has the entry {name[:100]!r} where none can be")
        entries.append(TreeEntry(mode, name.decode("utf-8", "surrogateescape"), data[end + 1 : after].hex()))
        last, at = order, after
    if len({entry.name for entry in entries}) < len(entries):
        raise Unsound("a tree names two things alike")
    return tuple(entries)


def _mode(text: bytes, is_ours: bool) -> int:
    if text in _MODES:
        return _MODES[text]
    # Written by git long ago, or by others: read as git reads it.
    if is_ours or re.fullmatch(rb"0?[0-7]{5,6}", text) is None:
        raise Unsound(f"a tree has an entry of mode {text[:10]!r}")
    kind = int(text, 8) & 0o170000
    if kind == 0o100000:
        return PROGRAM if int(text, 8) & 0o100 else FILE
    if kind not in {LINK, DIRECTORY, SUBMODULE}:
        raise Unsound(f"a tree has an entry of mode {text[:10]!r}")
    return kind


def check_new_name(name: str, mode: int) -> None:
    """`Unsound` for a name that could reach git's own files, or leave the working tree, on any system."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise Unsound(f"{name!r} is no name for a file")
    for part in name.split("\\"):
        plain = _IGNORED_ON_A_MACINTOSH.sub("", part).partition(":")[0].rstrip(". ").casefold()
        if plain in _GIT_S_OWN or part in {".", ".."}:
            raise Unsound(f"{name!r} would reach git's own files")
    if mode == LINK and name.casefold() in _READ_BY_GIT:
        raise Unsound(f"{name!r} may not be a link: git reads it")


def tree_of_commit(data: bytes, form: ObjectFormat) -> str:
    """The tree a commit stands for."""
    word, _, name = data.partition(b"\n")[0].decode("ascii", "replace").partition(" ")
    if word != "tree" or not form.is_name(name):
        raise Unsound("a commit names no tree")
    return name


@contextmanager
def open_directory(root: Path, path: str = "", *, make: bool = False) -> Generator[int]:
    """An open directory below `root`. `FileNotFoundError` if it is not there; `Unsound` if a link leads to it."""
    here = os.open(root, descriptors.DIRECTORY)
    try:
        for part in path.split("/") if path else ():
            below = _step(here, part, make)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _step(here: int, name: str, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o777, dir_fd=here)
            own_like(here, name)
    try:
        return os.open(name, descriptors.DIRECTORY, dir_fd=here)
    except NotADirectoryError:
        if is_link(here, name):
            raise Unsound(f"{name!r} in the repository is a symbolic link") from None
        raise


def own_like(here: int, name: str) -> None:
    """What root makes in somebody's repository belongs to that person."""
    if syscalls.is_root():
        owner = os.fstat(here)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=here, follow_symlinks=False)


def read_file(root: Path, path: str, *, most_bytes: int) -> bytes | None:
    """The content of a plain file below `root`; None if there is none."""
    parent, _, name = path.rpartition("/")
    try:
        with open_directory(root, parent) as here:
            descriptor = open_file(here, name, most_bytes=most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most_bytes)


def open_file(here: int, name: str, *, most_bytes: int) -> int:
    """A descriptor for a plain file of bounded length."""
    try:
        descriptor = os.open(name, descriptors.FILE, dir_fd=here)
    except OSError as error:
        if isinstance(error, FileNotFoundError) or not is_link(here, name):
            raise
        raise Unsound(f"{name!r} in the repository is a symbolic link") from None
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= most_bytes:
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise FileNotFoundError(name)
    raise Unsound(f"{name!r} in the repository is no plain file, or {status.st_size} bytes long")


def is_link(here: int, name: str) -> bool:
    """Whether a symbolic link stands there."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except OSError:
        return False
