"""The only writes into a person's repository: new loose objects, and one branch that was not there before.

Index, HEAD, working tree, settings and every other branch stay as they are. Nothing of git's runs: no hook can.
"""

from __future__ import annotations

import os
import re
import secrets
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from cellwright.errors import UserError
from cellwright.sandbox.host import git_files
from cellwright.sandbox.host.git_files import ObjectFormat, Unsound, header_of, tree_of_commit
from cellwright.sandbox.host.git_repository import Repository
from cellwright.tools.git.cage import Objects
from cellwright.tools.git.checked_delivery import CheckedDelivery, commit_in

_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_LONGEST_BRANCH: Final = 200
_LONGEST_MESSAGE: Final = 20_000
_ATTEMPTS: Final = 5
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Whose name a commit bears; always said, never looked up."""

    name: str
    email: str

    def line(self, seconds: int) -> str:
        """The author as a commit has it."""
        for text in (self.name, self.email):
            if not text.strip() or len(text) > 200 or re.search(r"[<>\x00-\x1f\x7f]", text):
                raise UserError(
                    f"{text!r} cannot stand for an author.", hint="A name and an address, each on one line."
                )
        return f"{self.name.strip()} <{self.email.strip()}> {seconds} +0000"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    """What a commit says."""

    branch: str
    message: str
    author: Author
    seconds: int
    """When, since 1970."""

    def content(self, tree: str, parent: str | None) -> bytes:
        """The commit as an object."""
        message = self.message.strip()
        if not message or "\0" in message or len(message) > _LONGEST_MESSAGE:
            raise UserError("A commit needs a message of reasonable length.", hint="Say in one line what changed.")
        parents = [] if parent is None else [f"parent {parent}"]
        line = self.author.line(self.seconds)
        lines = [f"tree {tree}", *parents, f"author {line}", f"committer {line}", "", message, ""]
        return "\n".join(lines).encode("utf-8", "replace")


def check_branch(name: str) -> None:
    """`UserError` for what git, or a file system, would not take for a branch."""
    parts = name.split("/")
    is_plain = all(_PART.fullmatch(part) and not part.endswith((".", ".lock")) for part in parts)
    if not is_plain or ".." in name or len(name) > _LONGEST_BRANCH:
        raise UserError(
            f"{name[:80]!r} is no name for a branch.",
            hint="Letters, digits, dashes, dots and slashes, e.g. fix/prices.",
        )


def import_commit(repository: Repository, checked: CheckedDelivery, commit: NewCommit) -> str:
    """Write the commit and its branch; the commit's name. `UserError` if the branch is there already.

    Objects come first and the branch last: killed in between, the repository has a few objects more that `git gc`
    takes away, and nothing that refers to them.
    """
    check_branch(commit.branch)
    _check_is_new(repository, commit.branch)
    form = repository.format
    content = commit.content(checked.tree, checked.parent)
    name = form.name_of("commit", content)
    _write_objects(repository, {**checked.objects, name: ("commit", content)}, form)
    _create_branch(repository, commit.branch, name)
    return name


def read_commit(name: str, known: Objects, form: ObjectFormat) -> tuple[str | None, str, str]:
    """Parent, tree and message of a commit that was delivered. `Unsound` if it was not."""
    data = commit_in(known, name)
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    parents = [line.removeprefix("parent ") for line in head.split("\n") if line.startswith("parent ")]
    return parents[0] if parents else None, tree_of_commit(data, form), message.strip()


def _check_is_new(repository: Repository, branch: str) -> None:
    """Nobody has this branch, one above it or one below it."""
    full = f"refs/heads/{branch}"
    parts = full.split("/")
    above = {"/".join(parts[:end]) for end in range(3, len(parts) + 1)}
    taken = [name for name in repository.packed_refs() if name in above or name.startswith(full + "/")]
    taken += [name for name in above if git_files.read_file(repository.common, name, most_bytes=1 << 16) is not None]
    if (repository.common / full).is_dir() and any(files for _, _, files in os.walk(repository.common / full)):
        taken.append(full)
    if taken:
        raise UserError(
            f"There is a branch {taken[0].removeprefix('refs/heads/')!r} already.", hint="Name another one."
        )


# ── objects ──


def _write_objects(repository: Repository, objects: Objects, form: ObjectFormat) -> None:
    touched: set[str] = set()
    for name, (kind, data) in objects.items():
        if form.name_of(kind, data) != name:
            raise Unsound("an object does not have the name it came under")
        with git_files.open_directory(repository.common / "objects", name[:2], make=True) as here:
            if not _has(here, name[2:]):
                _write_new(here, name[2:], zlib.compress(header_of(kind, len(data)) + data, 1))
                touched.add(name[:2])
    for folder in sorted(touched):
        with git_files.open_directory(repository.common / "objects", folder) as here:
            os.fsync(here)
    with git_files.open_directory(repository.common / "objects") as here:
        os.fsync(here)


def _has(here: int, name: str) -> bool:
    try:
        os.close(git_files.open_file(here, name, most_bytes=1 << 40))
    except FileNotFoundError:
        return False
    return True


def _write_new(here: int, name: str, content: bytes) -> None:
    """The whole file under its name, or nothing; one that appeared meanwhile is left alone."""
    # Git's own prefix: `git gc` takes away what a crash leaves behind.
    temporary = f"tmp_obj_{secrets.token_hex(6)}"
    try:
        _write(here, temporary, content, 0o444)
        with suppress(FileExistsError):
            os.link(temporary, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=here)


def _write(here: int, name: str, content: bytes, mode: int) -> None:
    descriptor = os.open(name, _NEW_FILE, mode, dir_fd=here)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    git_files.own_like(here, name)


# ── the branch ──


def _create_branch(repository: Repository, branch: str, commit: str) -> None:
    parent, _, name = f"refs/heads/{branch}".rpartition("/")
    for attempt in range(_ATTEMPTS):
        try:
            with git_files.open_directory(repository.common, parent, make=True) as here:
                return _create_reference(repository, here, branch, name, commit)
        except FileNotFoundError:
            # Git takes empty directories away at any moment.
            if attempt == _ATTEMPTS - 1:
                raise
        except NotADirectoryError:
            raise UserError(f"A branch stands in the way of {branch!r}.", hint="Name another one.") from None
    raise AssertionError("unreachable")


def _create_reference(repository: Repository, here: int, branch: str, name: str, commit: str) -> None:
    lock = f"{name}.lock"
    text = f"{commit}\n".encode()
    try:
        _write(here, lock, text, 0o666)
    except FileExistsError:
        raise UserError(f"Git is at work on the branch {branch!r}.", hint="Try again, or name another one.") from None
    try:
        # Looked at again under git's own lock: packing references needs it too.
        _check_is_new(repository, branch)
        os.link(lock, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        os.fsync(here)
    except FileExistsError:
        raise UserError(f"There is a branch {branch!r} already.", hint="Name another one.") from None
    finally:
        os.unlink(lock, dir_fd=here)
