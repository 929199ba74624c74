"""What a project brings along for agents: its own roles and skills, read whole and once, as values.

Whatever a repository says here would become an agent's instructions, so nothing of it counts by being there: see
`trust_store`. No link is followed, and what is read is what is hashed, shown to a person and served afterwards.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from cellwright.agents.role import FOLDER as ROLES
from cellwright.agents.role import Role, built_in_roles, read_role
from cellwright.agents.skills import FILE as SKILL_FILE
from cellwright.agents.skills import FOLDER as SKILLS
from cellwright.agents.skills import LARGEST_FILE, Skill, read_skill
from cellwright.errors import UserError
from cellwright.sandbox.linux.descriptors import FILE, opened

AdditionKind = Literal["role", "skill"]
_LARGEST_ROLE: Final = 32_768
"""Bytes. A person reads all of it before it counts."""
_MOST_ENTRIES: Final = 200
"""In a folder of roles, of skills, or of one skill with all that is below it."""
_LARGEST_IN_ALL: Final = 2_000_000
"""Bytes of everything together: a run keeps them in its journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A role or a skill of a project, as its files were when they were read. A journal keeps it."""

    kind: AdditionKind
    path: str
    """Of the role's file or the skill's folder, in the project."""
    sha256: str
    """Of everything below, and of the bytes behind the texts."""
    files: Mapping[str, str]
    """The texts by their names below the path; a role has one, without a name."""
    too_large: tuple[str, ...] = ()
    """Files of a skill that are never served."""

    def role(self) -> Role:
        """The role. Raises `UserError` with the file and line."""
        return read_role(self.files[""], self.path)

    def skill(self) -> Skill:
        """The skill. Raises `UserError` with the file and line."""
        name = self.path.rpartition("/")[2]
        return read_skill(self.files[SKILL_FILE], name, f"{self.path}/{SKILL_FILE}", self.files, self.too_large)

    @property
    def name(self) -> str:
        """As agents and people call it."""
        return self.role().name if self.kind == "role" else self.path.rpartition("/")[2]


@dataclass(slots=True)
class FoundAdditions:
    """What a project brings along, and what cannot be read of it."""

    additions: list[Addition] = field(default_factory=list[Addition])
    problems: list[UserError] = field(default_factory=list[UserError])

    def sound(self) -> tuple[Addition, ...]:
        """All of it. Raises the first problem, or that two roles have the same name."""
        if self.problems:
            raise self.problems[0]
        roles_with(self.additions)
        return tuple(self.additions)


def roles_with(additions: Iterable[Addition]) -> Mapping[str, Role]:
    """Ours and these; one of these replaces ours of the same name. Raises `UserError`."""
    own = dict[str, Role]()
    for addition in additions:
        if addition.kind == "role":
            role = addition.role()
            if role.name in own:
                hint = f"Rename the one in {addition.path}."
                raise UserError(f"Two roles are called {role.name!r}.", hint=hint)
            own[role.name] = role
    return built_in_roles() | own


def skills_of(additions: Iterable[Addition]) -> tuple[Skill, ...]:
    """The skills among these. Raises `UserError`."""
    return tuple(addition.skill() for addition in additions if addition.kind == "skill")


def fingerprint_of(additions: Iterable[Addition]) -> str:
    """Names exactly these."""
    lines = sorted(f"{addition.sha256} {addition.path}\n" for addition in additions)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# ── reading ──


def find_additions(project: Path) -> FoundAdditions:
    """What the project brings along, in order of their paths. One that cannot be read hides no other. Blocking."""
    found = FoundAdditions()

    def take(folder: Path, wanted: Callable[[os.DirEntry[str]], bool], read: Callable[[str], Addition]) -> None:
        try:
            names = [entry.name for entry in _entries(project, folder) if wanted(entry)]
        except UserError as problem:
            found.problems.append(problem)
            return
        for name in names:
            try:
                addition = read(f"{folder}/{name}")
                _ = addition.role() if addition.kind == "role" else addition.skill()
                _check_size([*found.additions, addition])
            except UserError as problem:
                found.problems.append(problem)
            else:
                found.additions.append(addition)

    take(ROLES, lambda entry: entry.name.endswith(".md"), lambda path: _read_role_file(project, path))
    take(SKILLS, _is_skill, lambda path: _read_skill_folder(project, path))
    return found


def _check_size(additions: Sequence[Addition]) -> None:
    if sum(len(text) for addition in additions for text in addition.files.values()) > _LARGEST_IN_ALL:
        hint = f"Roles and skills of a project have at most {_LARGEST_IN_ALL:,} characters together."
        raise UserError(f"{additions[-1].path} is too much.", hint=hint)


def _is_skill(entry: os.DirEntry[str]) -> bool:
    # A link is no skill, but somebody meant it as one: reading it says so.
    return entry.is_symlink() or (entry.is_dir() and os.path.lexists(Path(entry.path, SKILL_FILE)))


def _entries(project: Path, folder: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder of the project, by name; nothing if there is no such folder."""
    for each in (folder.parent, folder):
        if (project / each).is_symlink():
            raise _linked(str(each))
    try:
        with os.scandir(project / folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(str(folder), error.strerror) from error
    if len(entries) > _MOST_ENTRIES:
        raise _too_many(str(folder))
    return entries


def _read_role_file(project: Path, path: str) -> Addition:
    content = _read(project / path, path, _LARGEST_ROLE)
    if content is None:
        raise UserError(f"{path!r} is larger than {_LARGEST_ROLE:,} bytes.", hint="Say it in fewer words.")
    return _addition("role", path, {"": content})


def _read_skill_folder(project: Path, path: str) -> Addition:
    root, contents = project / path, dict[str, bytes | None]()
    if root.is_symlink():
        raise _linked(path)

    def refuse(error: OSError) -> None:
        raise _unreadable(path, error.strerror) from error

    entries = 0
    for folder, folders, names in os.walk(root, onerror=refuse):
        folders.sort()
        entries += len(folders) + len(names)
        if entries > _MOST_ENTRIES:
            raise _too_many(path)
        for name in sorted(names):
            file = Path(folder, name)
            below = file.relative_to(root).as_posix()
            # Links beside it were never served from outside the folder, and now are not at all.
            if below == SKILL_FILE or not file.is_symlink():
                contents[below] = _read(file, f"{path}/{below}", LARGEST_FILE)
    if contents.get(SKILL_FILE) is None:
        where = f"{path}/{SKILL_FILE}"
        raise UserError(f"{where!r} is larger than {LARGEST_FILE:,} bytes.", hint="Say it in fewer words.")
    return _addition("skill", path, contents)


def _addition(kind: AdditionKind, path: str, contents: Mapping[str, bytes | None]) -> Addition:
    digest = hashlib.sha256(f"{kind}\0{_text(path, path.encode('utf-8', 'surrogateescape'))}\0".encode())
    files = dict[str, str]()
    for name, content in sorted(contents.items()):
        where = f"{path}/{name}" if name else path
        named = _text(where, name.encode("utf-8", "surrogateescape"))
        # With its length, so that no two folders read the same one after another.
        digest.update(f"{named}\0{-1 if content is None else len(content)}\0".encode())
        if content is not None:
            digest.update(content)
            is_page = name in ("", SKILL_FILE)
            files[named] = _text(where, content) if is_page else content.decode("utf-8", "replace")
    too_large = tuple(sorted(name for name, content in contents.items() if content is None))
    return Addition(kind=kind, path=path, sha256=digest.hexdigest(), files=files, too_large=too_large)


def _text(where: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"Cannot read {where!r}: {error}.", hint="It is to be a text in UTF-8.") from error


def _read(path: Path, where: str, most: int) -> bytes | None:
    """The bytes of a regular file; None: they are too many."""
    try:
        with opened(path, FILE) as descriptor, open(descriptor, "rb", closefd=False) as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UserError(f"{where!r} is no plain file.", hint="Put the file itself there.")
            content = stream.read(most + 1)
    except OSError as error:
        if path.is_symlink():
            raise _linked(where) from error
        raise _unreadable(where, error.strerror) from error
    return content if len(content) <= most else None


def _linked(where: str) -> UserError:
    return UserError(f"{where!r} is a link.", hint="Put the file or folder itself there: links are not followed.")


def _unreadable(where: str, why: str | None) -> UserError:
    return UserError(f"Cannot read {where!r}: {why}.", hint="Make it readable, or take it away.")


def _too_many(where: str) -> UserError:
    return UserError(f"{where!r} holds more than {_MOST_ENTRIES} files and folders.", hint="Keep those agents need.")
