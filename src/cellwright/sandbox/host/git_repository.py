"""Which repository a project belongs to, where it stands, and the few of its settings that are honoured.

Found, read and doubted without running git; no setting that is read runs a program.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.sandbox.host import git_files
from cellwright.sandbox.host.git_files import ObjectFormat, Unsound
from cellwright.sandbox.host.project import homes

_SECTION: Final = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)\s*(\"(?:[^\"\\]|\\.)*\")?\s*\]\s*(.*)")
_SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_FALSE: Final = {"false", "no", "off", "0", ""}

_KEPT: Final = {
    "filemode": re.compile("true|false", re.IGNORECASE),
    "ignorecase": re.compile("true|false", re.IGNORECASE),
    "symlinks": re.compile("true|false", re.IGNORECASE),
    "precomposeunicode": re.compile("true|false", re.IGNORECASE),
    "autocrlf": re.compile("true|false|input", re.IGNORECASE),
    "eol": re.compile("lf|crlf|native", re.IGNORECASE),
}
"""Of `core`, with the values they may have. Everything else (programs, hooks, includes) is not passed on."""
_HARMLESS_EXTENSIONS: Final = {"noop", "preciousobjects", "worktreeconfig", "partialclone", "relativeworktrees"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryConfig:
    """What is taken from a repository's settings."""

    format: ObjectFormat
    core: tuple[tuple[str, str], ...] = ()
    is_bare: bool = False


def read_config(text: str) -> RepositoryConfig:
    """The honoured settings of a `config` file. `Unsound` for a repository of a kind we cannot read."""
    settings = _settings(text)
    version = settings.get(("core", "repositoryformatversion"), "0")
    extensions = {name: value for (section, name), value in settings.items() if section == "extensions"}
    if version not in {"0", "1"}:
        raise Unsound(f"it has the format version {version[:20]!r}")
    unknown = extensions.keys() - _HARMLESS_EXTENSIONS - {"objectformat", "refstorage"}
    if version == "1" and unknown:
        raise Unsound(f"it uses the extension {min(unknown)[:50]!r}")
    if version == "1" and extensions.get("refstorage", "files").lower() != "files":
        raise Unsound("it keeps its references in another form than files")
    name = extensions.get("objectformat", "sha1").lower() if version == "1" else "sha1"
    if name not in {"sha1", "sha256"}:
        raise Unsound(f"it names its objects by {name[:20]!r}")
    kept = [
        (key, value.lower())
        for key, form in _KEPT.items()
        if (value := settings.get(("core", key))) is not None and form.fullmatch(value)
    ]
    is_bare = settings.get(("core", "bare"), "false").lower() not in _FALSE
    return RepositoryConfig(
        format=ObjectFormat("sha256" if name == "sha256" else "sha1"), core=tuple(kept), is_bare=is_bare
    )


def _settings(text: str) -> dict[tuple[str, str], str]:
    """Plain settings by section and name, in lower case; those of named subsections are left out."""
    found: dict[tuple[str, str], str] = {}
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line
        match = _SECTION.fullmatch(line)
        if match is not None:
            section = "" if match[2] else match[1].lower()
            rest = match[3]
        setting = _SETTING.fullmatch(rest)
        if setting is not None and section:
            value = "true" if setting[2] is None else re.sub(r"\s*[#;].*", "", setting[2]).strip().strip('"')
            found[section, setting[1].lower()] = value
    return found


_SMALL: Final = 64 * 1024
_MOST_PACKED_REFS: Final = 256 << 20
_MOST_CONFIG: Final = 1 << 20
_MOST_HOPS: Final = 5
_BRANCHES: Final = "refs/heads/"
_UNFINISHED: Final = {
    "MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply": "rebase", "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a working tree stands."""

    commit: str | None
    """None before the first commit."""
    branch: str | None
    """None when no branch is checked out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository and the part of its working tree that is the project."""

    top: Path
    """The working tree's root."""
    own: Path
    """What belongs to this working tree: HEAD and index."""
    common: Path
    """What all working trees of the repository share: objects and branches."""
    prefix: str
    """The project's place in the working tree; empty when it is all of it."""
    config: RepositoryConfig

    @property
    def format(self) -> ObjectFormat:
        """How objects are named here."""
        return self.config.format

    def head(self) -> Head:
        """The commit and branch that are checked out now."""
        text = self._text("HEAD", within=self.own)
        if text is None:
            raise UserError(f"The repository at {str(self.top)!r} has no HEAD.", hint="Look at it with `git status`.")
        name = text.removeprefix("ref: ").strip() if text.startswith("ref: ") else None
        if name is None:
            return Head(commit=self._commit(text), branch=None)
        return Head(commit=self.resolve(name), branch=name.removeprefix(_BRANCHES))

    def resolve(self, name: str) -> str | None:
        """The object a reference stands for; None if it does not exist."""
        for _ in range(_MOST_HOPS):
            if not name.startswith("refs/") or {"", ".", ".."} & set(name.split("/")):
                raise Unsound(f"{name[:100]!r} is no reference")
            text = self._text(name, within=self.common)
            if text is None:
                return self.packed_refs().get(name)
            if not text.startswith("ref: "):
                return self._commit(text)
            name = text.removeprefix("ref: ").strip()
        raise Unsound(f"the reference {name[:100]!r} leads in a circle")

    def packed_refs(self) -> dict[str, str]:
        """References that are kept in one file."""
        data = git_files.read_file(self.common, "packed-refs", most_bytes=_MOST_PACKED_REFS) or b""
        found: dict[str, str] = {}
        for line in data.decode("utf-8", "surrogateescape").splitlines():
            name, _, reference = line.partition(" ")
            if self.format.is_name(name):
                found[reference] = name
        return found

    def unfinished(self) -> str | None:
        """What a person began here and has not ended: a merge, a rebase …"""
        return next((what for name, what in _UNFINISHED.items() if (self.own / name).exists()), None)

    def _text(self, path: str, *, within: Path) -> str | None:
        data = git_files.read_file(within, path, most_bytes=_SMALL)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def _commit(self, text: str) -> str:
        name = text.strip()
        if not self.format.is_name(name):
            raise Unsound(f"{name[:80]!r} names no commit")
        return name


def find_repository(project: Path) -> Repository:
    """The repository whose working tree holds the project. `UserError` says why there is none that can be used."""
    project = project.resolve()
    refused = {Path("/"), *homes()}
    for top in (project, *project.parents):
        if os.path.lexists(top / ".git"):
            if top in refused:
                raise UserError(
                    f"The working tree {str(top)!r} is a home directory or the root: no cage is built around that.",
                    hint="Keep the project in a repository of its own: `git init` in its directory.",
                )
            return _open(top, project)
        if top in refused:
            break
    if (project / "HEAD").is_file() and (project / "objects").is_dir():
        raise UserError(f"{str(project)!r} is a bare repository: there is no working tree.", hint="Clone it first.")
    raise UserError(f"{str(project)!r} is in no git repository.", hint="The person can make one with `git init`.")


def _open(top: Path, project: Path) -> Repository:
    own, common = _directories(top)
    data = git_files.read_file(common, "config", most_bytes=_MOST_CONFIG) or b""
    try:
        config = read_config(data.decode("utf-8", "surrogateescape"))
    except Unsound as error:
        raise UserError(f"The settings of the repository {str(top)!r} cannot be used: {error}.") from error
    if config.is_bare and own == common:
        raise UserError(f"The repository at {str(top)!r} is bare: it has no working tree.", hint="Clone it first.")
    _check_objects(common)
    prefix = project.relative_to(top).as_posix()
    return Repository(top=top, own=own, common=common, prefix="" if prefix == "." else prefix, config=config)


def _check_objects(common: Path) -> None:
    try:
        with git_files.open_directory(common, "objects"), git_files.open_directory(common, "refs/heads"):
            pass
    except (OSError, Unsound) as error:
        raise UserError(f"{str(common)!r} is no repository that can be used: {error}.") from error
    if os.path.lexists(common / "objects/info/alternates") or os.path.lexists(common / "objects/info/http-alternates"):
        raise UserError(
            "The repository borrows objects from another one (objects/info/alternates).",
            hint="`git repack -a -d` and removing that file make it independent.",
        )


def _directories(top: Path) -> tuple[Path, Path]:
    place = top / ".git"
    mode = place.lstat().st_mode
    if stat.S_ISDIR(mode):
        return place, place
    if stat.S_ISREG(mode):
        return _linked(top, place)
    raise UserError(
        f"{str(place)!r} is neither a directory nor a file; a link is not followed.",
        hint="Put the repository itself there.",
    )


def _linked(top: Path, place: Path) -> tuple[Path, Path]:
    """A linked working tree: only if the repository it names knows it, or any project could name any repository."""
    text = (git_files.read_file(top, ".git", most_bytes=_SMALL) or b"").decode("utf-8", "surrogateescape")
    match = re.fullmatch(r"gitdir: (.+?)\n*", text, re.DOTALL)
    if match is None or "\0" in match[1]:
        raise UserError(f"{str(place)!r} names no repository.", hint="Look at it with `git status`.")
    own = Path(os.path.realpath(top / match[1]))
    common = own.parent.parent
    if own.parent.name != "worktrees":
        raise UserError(
            f"The project's repository lies elsewhere, at {str(own)!r}; it is perhaps a submodule.",
            hint="Commit there by hand. Linked working trees (`git worktree add`) can be used.",
        )
    back = (git_files.read_file(own, "gitdir", most_bytes=_SMALL) or b"").decode("utf-8", "surrogateescape").strip()
    if os.path.realpath(own / back) != os.path.realpath(place):
        raise UserError(
            f"The repository at {str(common)!r} does not know this working tree.", hint="Try `git worktree repair`."
        )
    return own, common
