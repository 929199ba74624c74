"""The cage git runs in: the project and nothing else of the working tree, the objects, no network, no settings."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cellwright.errors import UserError
from cellwright.sandbox.git.delivery import Question
from cellwright.sandbox.git.repository import Head, Repository
from cellwright.sandbox.project import hidden_in
from cellwright.sandbox.spec import CageSpec, DataMount, Limits, Tier

PLACE: Final = ".cellwright-git"
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
    question: Question,
    *,
    tier: Tier,
    uid: int | None,
    reveal: tuple[str, ...] = (),
    git_path: str = WHERE_GIT_IS,
) -> GitPlan:
    """Everything that must be known before the cage is there. `UserError` if git or the walls for it are missing."""
    if tier == "D":
        raise UserError(
            "This machine has no walls to run git behind.", hint="`cellwright doctor` says what is missing."
        )
    git = _git(git_path)
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
        software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, str(_PROGRAM.parent), *_software(git)])),
        limits=_LIMITS,
        uid=uid,
        environment={"PATH": "/usr/bin:/bin", "HOME": "/home/cell", "TMPDIR": "/tmp", "LANG": "C.UTF-8"},
        protected=(),
    )
    asked = question.to_json(
        git=str(git),
        place=PLACE,
        prefix=repository.prefix,
        hidden=sorted(hidden),
        head=head.commit,
        format=repository.format.name,
        core=dict(repository.config.core),
    )
    command = [sys.executable, "-I", "-S", "-B", str(_PROGRAM)]
    return GitPlan(spec=spec, command=command, question=asked, head=head, hidden=hidden)


def _git(path: str) -> Path:
    found = shutil.which("git", path=path)
    if found is None:
        places = " or ".join(path.split(":"))
        raise UserError(
            f"Git is not installed: there is none in {places}.",
            hint="The person can get it with `apt-get install git`, `dnf install git` or `apk add git`.",
        )
    return Path(found)


def _software(git: Path) -> list[str]:
    """A git that lies outside the system's own directories needs what lies beside it."""
    return [] if str(git.resolve()).startswith(("/usr/", "/bin/")) else [str(git.resolve().parent.parent)]


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
    mounts = [DataMount(source=str(repository.common / "objects"), target=f"{PLACE}/objects")]
    for name, path in files.items():
        if path.is_symlink():
            raise UserError(f"{str(path)!r} is a symbolic link, which is not followed.")
        if path.is_file() and path.stat().st_size <= _MOST_SHOWN_BYTES:
            mounts.append(DataMount(source=str(path), target=f"{PLACE}/{name}"))
    return tuple(mounts)
