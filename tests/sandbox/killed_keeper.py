"""Keeps changes in a project again and again, killed one system call later each time; says as JSON what was left.

`python killed_keeper.py FOLDER UID`: a process of its own, because it forks. The project belongs to UID.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from cellwright.sandbox.host.file_changes import FileChange, LeftFiles, without_leftovers
from cellwright.sandbox.host.project import hidden_in
from cellwright.sandbox.host.project_writer import ProjectWriter

KEEPING = ("project_writer", "file_changes", "staging_directory")
OURS = {f"cellwright.sandbox.host.{name}" for name in KEEPING} | {"shutil"}
SYSTEM = {"posix", "fcntl"}
FILES = ("changed.txt", "deep/changed.txt", "made.txt", "made/inside.txt", "was a directory")
CHANGES = [
    FileChange(path="changed.txt", kind="modified", bytes=13, mode=0o640),
    FileChange(path="deep/changed.txt", kind="modified", bytes=13, mode=0o640),
    FileChange(path="gone.txt", kind="deleted", bytes=0),
    FileChange(path="link", kind="created", what="symlink", bytes=8, target="made.txt"),
    FileChange(path="made", kind="created", what="directory", bytes=0),
    FileChange(path="made/inside.txt", kind="created", bytes=13, mode=0o640),
    FileChange(path="made.txt", kind="created", bytes=13, mode=0o640),
    FileChange(path="was a directory/inside.txt", kind="deleted", bytes=0),
    FileChange(path="was a directory", kind="deleted", what="directory", bytes=0),
    FileChange(path="was a directory", kind="created", bytes=13, mode=0o640),
]


def prepare(project: Path, uid: int) -> None:
    """The project as it was."""
    for name in ("changed.txt", "gone.txt", "deep/changed.txt", "was a directory/inside.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("old")
    for place in (project, *project.rglob("*")):
        os.chown(place, uid, uid)


def leave(layer: Path) -> None:
    """What a notebook left."""
    for name in FILES:
        (layer / name).parent.mkdir(parents=True, exist_ok=True)
        (layer / name).write_text("new and whole")


def keep(project: Path, layer: Path) -> None:
    """Every kind of change."""
    left = LeftFiles([os.open(layer, os.O_RDONLY)], is_in_memory=False)
    report = ProjectWriter(project, left, since_ns=time.time_ns() + 10**15).keep(CHANGES)
    left.close()
    assert report.refused == ()


def killed_before(number: int) -> Any:
    """A profile function under which the process is killed before this system call of ours."""
    calls = count()

    def profile(frame: FrameType, event: str, called: Any) -> None:
        is_ours = event == "c_call" and called.__module__ in SYSTEM and frame.f_globals["__name__"] in OURS
        if is_ours and next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return profile


def found_in(project: Path) -> dict[str, list[object]]:
    """Everything there, with all that is to be seen of it."""
    found: dict[str, list[object]] = {}
    for path in sorted(project.rglob("*")):
        status = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else "" if path.is_dir() else path.read_text()
        found[str(path.relative_to(project))] = [oct(status.st_mode), status.st_uid, content]
    return found


def try_once(project: Path, layer: Path, number: int) -> bool:
    """Whether it was killed."""
    child = os.fork()
    if child == 0:
        sys.setprofile(killed_before(number))
        keep(project, layer)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in {0, signal.SIGKILL}, status
    return status != 0


def main() -> dict[str, Any]:
    folder, uid = Path(sys.argv[1]), int(sys.argv[2])
    told: dict[str, Any] = {"killed": []}
    layer = folder / "left"
    leave(layer)
    for number in count():
        project = folder / str(number)
        prepare(project, uid)
        told.setdefault("before", found_in(project))
        if not try_once(project, layer, number):
            return told | {"after": found_in(project)}
        left = found_in(project)
        without_leftovers(project, hidden_in(project))
        told["killed"].append({"left": left, "cleared": found_in(project)})
    raise AssertionError


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()))
