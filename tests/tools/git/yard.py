"""Repositories for tests, made by the plain git of this machine, and everything in them to compare."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

GIT = shutil.which("git") or "git"
WHO = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git(where: Path, *arguments: str, given: bytes = b"") -> str:
    """What plain git prints there, with the person's own settings out of the way."""
    return _run(where, *arguments, given=given).decode().strip()


def raw(where: Path, kind: str, name: str) -> bytes:
    """The content of an object."""
    return _run(where, "cat-file", kind, name)


def _run(where: Path, *arguments: str, given: bytes = b"") -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **WHO}
    done = subprocess.run(
        [GIT, "-c", "safe.directory=*", *arguments],
        cwd=where, env=environment, input=given, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def make_repository(where: Path, files: dict[str, str], *options: str) -> Path:
    """A repository with one commit of these files; none of them, and it has no commit."""
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "-q", "-b", "main", *options)
    write_files(where, files)
    if files:
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", "first")
    return where


def write_files(where: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def everything(where: Path) -> dict[str, str]:
    """Every file below `where` with its mode and content; links by where they lead."""
    found: dict[str, str] = {}
    for folder, folders, files in os.walk(where):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = oct(path.lstat().st_mode)
            key = path.relative_to(where).as_posix()
            if path.is_symlink():
                found[key] = f"{mode} -> {path.readlink()}"
            elif path.is_dir():
                found[key] = mode
            else:
                found[key] = f"{mode} {path.lstat().st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found


def made(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """What is new; everything else must be as it was."""
    assert {path: after.get(path) for path in before} == before
    return after.keys() - before.keys()
