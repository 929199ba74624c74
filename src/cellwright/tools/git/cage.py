"""Git's cage: what it is shown, what is asked of it, and what it answers. Every field of an answer is checked here.

The project and nothing else of the working tree, the objects, no network, no settings.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.sandbox.host.git_files import ObjectFormat, ObjectKind, Unsound
from cellwright.sandbox.host.git_repository import Head, Repository
from cellwright.sandbox.host.project import hidden_in
from cellwright.sandbox.spec import CageSpec, DataMount, Limits, Tier

Want = Literal["status", "diff", "tree", "commit"]
"""`status`: what changed; `diff`: also as a patch; `tree`: with what a person must see; `commit`: only that one."""
WorkKind = Literal["new", "changed", "deleted"]
Objects = Mapping[str, tuple[ObjectKind, bytes]]

MOST_FILE_BYTES: Final = 20 << 20
"""A longer file is left out of a commit, and said so."""
MOST_DELIVERED_BYTES: Final = 128 << 20
MOST_OBJECTS: Final = 50_000
MOST_CHANGES: Final = 20_000
MOST_PATCH_BYTES: Final = 4 << 20
MOST_SHOWN_FILE_BYTES: Final = 1 << 20
"""A longer file is not shown line by line to whoever approves a commit."""
_SENT_LIMITS: Final = {
    "file": MOST_FILE_BYTES,
    "bytes": MOST_DELIVERED_BYTES,
    "changes": MOST_CHANGES,
    "patch": MOST_PATCH_BYTES,
    "shown": MOST_SHOWN_FILE_BYTES,
}
_LENGTH: Final = struct.Struct(">I")
_MOST_HEADER_BYTES: Final = 32 << 20
MOST_ANSWER_BYTES: Final = MOST_DELIVERED_BYTES + _MOST_HEADER_BYTES + _LENGTH.size


@dataclass(frozen=True, slots=True, kw_only=True)
class GitDelivery:
    """A tree and the objects on both sides of what it changes, each under the name its bytes give it."""

    tree: str
    objects: Objects = field(repr=False)
    """What the tree has and the last commit has not in its place."""
    known: Objects = field(repr=False)
    """What the last commit has there, and the commit itself: read, never written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAnswer:
    """What git said."""

    changes: Sequence[tuple[str, WorkKind]]
    """Files of the working tree that differ from the last commit."""
    skipped: Sequence[tuple[str, str]] = ()
    """Files that differ too but cannot be committed from here, and why."""
    patch: str = ""
    delivery: GitDelivery | None = None


def read_answer(data: bytes, form: ObjectFormat) -> GitAnswer:
    """The answer in these bytes. `Unsound` for what no answer of ours looks like, `UserError` for git's own words."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        header: Any = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        if "failed" in header:
            raise UserError(f"Git could not do it: {msgspec.convert(header['failed'], str)[:1_000]}")
        # Not msgspec's own reader: a path may hold any byte, and so lone surrogates.
        said = msgspec.convert(header, _Header)
    except (struct.error, TypeError, ValueError, RecursionError) as error:
        raise Unsound(f"the answer cannot be read ({str(error)[:200]})") from error
    body = memoryview(data)[_LENGTH.size + length :]
    return GitAnswer(
        changes=said.changes,
        skipped=[(path, why[:200]) for path, why in said.skipped],
        patch=said.patch,
        delivery=None if said.tree is msgspec.UNSET else _delivery(said.tree, said, body, form),
    )


_LISTED: Final = msgspec.Meta(max_length=MOST_CHANGES)
_Announced = Annotated[
    list[tuple[ObjectKind, Annotated[int, msgspec.Meta(ge=0)]]], msgspec.Meta(max_length=MOST_OBJECTS)
]


class _Header(msgspec.Struct, kw_only=True, frozen=True):
    """What stands before the objects' bytes."""

    changes: Annotated[list[tuple[str, WorkKind]], _LISTED]
    skipped: Annotated[list[tuple[str, str]], _LISTED]
    patch: str = ""
    tree: str | msgspec.UnsetType = msgspec.UNSET
    objects: _Announced = []
    known: _Announced = []


def _delivery(tree: str, said: _Header, body: memoryview, form: ObjectFormat) -> GitDelivery:
    if not form.is_name(tree):
        raise Unsound("the answer names no tree")
    objects, body = _objects(said.objects, body, form)
    known, body = _objects(said.known, body, form)
    if body:
        raise Unsound("more data than announced")
    return GitDelivery(tree=tree, objects=objects, known=known)


def _objects(announced: _Announced, body: memoryview, form: ObjectFormat) -> tuple[Objects, memoryview]:
    """The objects a list announces, and the bytes after them."""
    objects: dict[str, tuple[ObjectKind, bytes]] = {}
    for kind, size in announced:
        if size > len(body):
            raise Unsound("an object is not as long as announced")
        data, body = bytes(body[:size]), body[size:]
        # Whatever name it came under, it gets the one that is its own.
        objects[form.name_of(kind, data)] = (kind, data)
    return objects, body


GIT_FOLDER: Final = ".cellwright-git"
"""Where the cage finds what is shown of the repository, below `/project`."""
_PROGRAM: Final = Path(__file__).with_name("inside.py")
WHERE_GIT_IS: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where a git is looked for, unless said otherwise."""
_LIMITS: Final = Limits(memory_mb=2048, cpu_seconds=90, processes=32, tmp_mb=512)
_MOST_NEIGHBOURS: Final = 2_000
_SEEN_ABOVE: Final = {".gitignore", ".gitattributes"}
_SHOWN: Final = {"info/exclude": "exclude", "info/attributes": "attributes", "shallow": "shallow"}
_MOST_SHOWN_BYTES: Final = 512 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlan:
    """A cage ready to be started for one question."""

    spec: CageSpec
    command: list[str]
    question: bytes
    head: Head
    hidden: frozenset[str]
    """Secrets of the project, below the working tree's root: in no answer and no commit."""


def plan_cage(
    repository: Repository,
    project: Path,
    want: Want,
    paths: Sequence[str] = (),
    *,
    commit: str = "",
    tier: Tier,
    uid: int | None,
    reveal: tuple[str, ...] = (),
    git_path: str = WHERE_GIT_IS,
) -> GitPlan:
    """Everything that must be known before the cage is there. `UserError` if git or the walls for it are missing.

    `paths` are files and directories below the working tree's root that it is about; none: all of the project.
    """
    if tier == "D":
        raise UserError(
            "This machine has no walls to run git behind.", hint=remedy("see_doctor", says="says what is missing")
        )
    git = _git(git_path)
    # A git that lies outside the system's own directories needs what lies beside it.
    beside = [] if str(git.resolve()).startswith(("/usr/", "/bin/")) else [str(git.resolve().parent.parent)]
    head = repository.head()
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    hidden = frozenset(prefix + path for path in hidden_in(project, reveal))
    spec = CageSpec(
        name=f"cellwright-git-{os.getpid()}",
        tier=tier,
        project=str(repository.top),
        files="drop",
        hidden=(".git", *sorted(hidden), *_neighbours(repository)),
        data=_shown(repository),
        software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, str(_PROGRAM.parent), *beside])),
        limits=_LIMITS,
        uid=uid,
        environment={"PATH": "/usr/bin:/bin", "HOME": "/home/cell", "TMPDIR": "/tmp", "LANG": "C.UTF-8"},
        protected=(),
    )
    asked = {
        "want": want,
        "paths": paths,
        "commit": commit,
        "limits": _SENT_LIMITS,
        "git": str(git),
        "place": GIT_FOLDER,
        "prefix": repository.prefix,
        "hidden": sorted(hidden),
        "head": head.commit,
        "format": repository.format.name,
        "core": dict(repository.config.core),
    }
    command = [sys.executable, "-I", "-S", "-B", str(_PROGRAM)]
    return GitPlan(spec=spec, command=command, question=json.dumps(asked).encode(), head=head, hidden=hidden)


def _git(path: str) -> Path:
    found = shutil.which("git", path=path)
    if found is None:
        places = " or ".join(path.split(":"))
        raise UserError(
            f"Git is not installed: there is none in {places}.",
            hint="The person can get it with `apt-get install git`, `dnf install git` or `apk add git`.",
        )
    return Path(found)


def _neighbours(repository: Repository) -> list[str]:
    """What lies beside the project, on each step down to it; git's rules about files stay visible."""
    beside: list[str] = []
    above = ""
    for part in repository.prefix.split("/") if repository.prefix else ():
        with os.scandir(repository.top / above) as entries:
            beside += [
                above + entry.name
                for entry in entries
                if entry.name not in {part, ".git"}
                and not entry.is_symlink()
                and not (entry.name in _SEEN_ABOVE and entry.is_file(follow_symlinks=False))
            ]
        above += f"{part}/"
    if len(beside) > _MOST_NEIGHBOURS:
        raise UserError(
            f"More than {_MOST_NEIGHBOURS} files lie beside the project in its repository.",
            hint="Open the repository's root as the project, or give the project a repository of its own.",
        )
    return beside


def _shown(repository: Repository) -> tuple[DataMount, ...]:
    """Of the repository: its objects, the index, and what it says about ignoring files; nothing that could run."""
    files = {name: repository.common / path for path, name in _SHOWN.items()}
    files["index"] = repository.own / "index"
    files |= {path.name: path for path in sorted(repository.own.glob("sharedindex.*"))[:8]}
    mounts = [DataMount(source=str(repository.common / "objects"), target=f"{GIT_FOLDER}/objects")]
    for name, path in files.items():
        if path.is_symlink():
            raise UserError(f"{str(path)!r} is a symbolic link, which is not followed.")
        if path.is_file() and path.stat().st_size <= _MOST_SHOWN_BYTES:
            mounts.append(DataMount(source=str(path), target=f"{GIT_FOLDER}/{name}"))
    return tuple(mounts)
