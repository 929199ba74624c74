"""What runs in git's cage: a private repository over the shown objects, git's plumbing, one answer. Standard library.

Run as a program; descriptor 3 leads to the host. Everything it knows came in one question, everything it finds goes out
in one answer, and the cage ends with it. The private repository has settings of ours alone, so whatever the real one
says about programs (hooks, filters, monitors, pagers, helpers) is not even known here.
"""

# Runs in the cage, not in the host's event loop, with plain paths.
# ruff: noqa: PTH101, PTH103, PTH118, PTH123, PTH208

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

_HOST = 3
_PATIENCE_SECONDS = 80
_LONGEST_COMPLAINT = 1_000
_MOST_SHOWN_BYTES = 32 << 20
_NO_OBJECT = {"000000", "160000"}
"""Modes without an object here: nothing, and another repository's commit."""
_SETTINGS = {
    "bare": "false", "hooksPath": "/dev/null", "fsmonitor": "false", "untrackedCache": "false", "sshCommand": "false",
    "pager": "cat", "editor": "false", "askPass": "false", "attributesFile": "/dev/null", "excludesFile": "/dev/null",
    "bigFileThreshold": "1g", "logAllRefUpdates": "false", "multiPackIndex": "false", "commitGraph": "false",
    "quotePath": "false", "protectHFS": "true", "protectNTFS": "true", "looseCompression": "1",
}  # fmt: skip


class GitFailed(Exception):
    """Git did not do it; the message is git's."""


class Git:
    """Git over the private repository."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.project = os.environ["CELLWRIGHT_PROJECT"]
        self.directory = os.path.join(os.environ["TMPDIR"], "git")
        self._program: str = asked["git"]
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "LC_ALL": "C.UTF-8",
            "GIT_DIR": self.directory,
            "GIT_WORK_TREE": self.project,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PAGER": "cat",
            "GIT_ALLOW_PROTOCOL": "none",
        }

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """What git prints; `GitFailed` with its complaint."""
        # Into files, not into memory: they have a limit of their own, and one that is soon reached.
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complained:
            done = subprocess.run(
                [self._program, "--no-pager", *arguments],
                input=given, stdout=printed, stderr=complained, env=self._environment, cwd=self.project,
                timeout=_PATIENCE_SECONDS, check=False,
            )  # fmt: skip
            printed.seek(0)
            complained.seek(0)
            if done.returncode == 0:
                return printed.read()
            complaint = complained.read(_LONGEST_COMPLAINT).decode("utf-8", "replace").strip()
            raise GitFailed(complaint or f"git {arguments[0]} ended with {done.returncode}")

    def names(self, *arguments: str) -> list[str]:
        """What git prints with zero bytes between, as paths."""
        return [os.fsdecode(name) for name in self.run(*arguments).split(b"\0") if name]


# ── the private repository ──


def make_repository(git: Git, asked: dict[str, Any]) -> None:
    """Settings of ours, objects of theirs, a copy of their index that stands at HEAD."""
    shown = os.path.join(git.project, asked["place"])
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        os.makedirs(os.path.join(git.directory, name))
    write(git, "config", settings(asked))
    write(git, "objects/info/alternates", os.path.join(shown, "objects") + "\n")
    write(git, "HEAD", f"{asked['head']}\n" if asked["head"] else "ref: refs/heads/unborn\n")
    write(git, "info/exclude", read_shown(shown, "exclude") + f"\n/{asked['place']}/\n")
    write(git, "info/attributes", read_shown(shown, "attributes"))
    for name in os.listdir(shown):
        if name in {"index", "shallow"} or name.startswith("sharedindex."):
            # With its times: git compares them to know which files it must look at again.
            shutil.copyfile(os.path.join(shown, name), os.path.join(git.directory, name))
            shutil.copystat(os.path.join(shown, name), os.path.join(git.directory, name))
            os.chmod(os.path.join(git.directory, name), 0o600)
    if asked["head"]:
        git.run("read-tree", "--reset", asked["head"])
    else:
        git.run("read-tree", "--empty")


def settings(asked: dict[str, Any]) -> str:
    """The private repository's settings."""
    is_new_form = asked["format"] != "sha1"
    core = {**asked["core"], **_SETTINGS, "repositoryformatversion": "1" if is_new_form else "0"}
    lines = ["[core]", *(f"\t{name} = {value}" for name, value in core.items())]
    if is_new_form:
        lines += ["[extensions]", f"\tobjectFormat = {asked['format']}"]
    lines += ["[gc]", "\tauto = 0", "[submodule]", "\trecurse = false", "[diff]", "\tignoreSubmodules = all"]
    return "\n".join(lines) + "\n"


def write(git: Git, path: str, text: str) -> None:
    """A file of the private repository."""
    with open(os.path.join(git.directory, path), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def read_shown(shown: str, name: str) -> str:
    """A text that was shown, or nothing."""
    try:
        with open(os.path.join(shown, name), encoding="utf-8", errors="surrogateescape") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


# ── what changed ──


def is_below(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these or lies in one."""
    return any(path == place or path.startswith(place + "/") for place in places)


def look(git: Git, asked: dict[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
    """What differs from HEAD and can be committed; and what cannot, with reasons."""
    where = [asked["prefix"]] if asked["prefix"] else ["."]
    hidden = set(asked["hidden"])
    secret = [path for path in git.names("ls-files", "-z", "--", *where) if is_hidden(path, hidden)]
    if secret:
        git.run("update-index", "--skip-worktree", "-z", "--stdin", given=os.fsencode("\0".join(secret)))
    said = git.names(
        "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames", "--",
        *where,
    )  # fmt: skip
    found = [entry for entry in map(read_status, said) if not is_hidden(entry[0], hidden)]
    if asked["paths"]:
        found = [entry for entry in found if is_below(entry[0].rstrip("/"), asked["paths"])]
    if len(found) > asked["limits"]["changes"]:
        raise GitFailed(f"{len(found)} files differ, more than {asked['limits']['changes']}. Name fewer paths.")
    return sort_out(git, found, asked["limits"])


def is_hidden(path: str, hidden: set[str]) -> bool:
    """Whether a path is a secret or lies in a directory that is."""
    parts = path.rstrip("/").split("/")
    return any("/".join(parts[:end]) in hidden for end in range(1, len(parts) + 1))


def read_status(line: str) -> list[str]:
    """One line of git's status as path and kind."""
    if line.startswith("? "):
        return [line[2:], "new"]
    number, states, rest = line.split(" ", 2)
    path = rest.split(" ", 8)[-1] if number == "u" else rest.split(" ", 6)[-1]
    return [path, "deleted" if states[1] == "D" else "changed"]


def sort_out(git: Git, found: list[list[str]], limits: dict[str, int]) -> tuple[list[list[str]], list[list[str]]]:
    """Leave out other repositories, files that need a program to be stored, and files that are too long."""
    filters = filters_of(git, [path for path, _ in found])
    good: list[list[str]] = []
    skipped: list[list[str]] = []
    total = 0
    for path, kind in found:
        reason = reason_against(git, path, kind, filters, limits)
        if not reason and kind != "deleted":
            total += os.lstat(os.path.join(git.project, path)).st_size
            if total > limits["bytes"] // 2:
                reason = "too much for one commit; name fewer paths"
        if reason:
            skipped.append([path, reason])
        else:
            good.append([path, kind])
    return good, skipped


def filters_of(git: Git, paths: list[str]) -> dict[str, str]:
    """Which files are stored through a program."""
    given = os.fsencode("".join(f"{path}\0" for path in paths))
    said = git.run("check-attr", "-z", "--stdin", "filter", given=given).split(b"\0")
    return {
        os.fsdecode(path): value.decode("utf-8", "replace")
        for path, value in zip(said[0::3], said[2::3], strict=False)
        if value not in {b"unspecified", b"unset", b""}
    }


def reason_against(git: Git, path: str, kind: str, filters: dict[str, str], limits: dict[str, int]) -> str:
    """Why a file cannot be committed from here; empty if it can."""
    if path.endswith("/"):
        return "a repository of its own"
    if path in filters:
        return f"stored through the filter {filters[path]!r}, a program that is not run here"
    if kind == "deleted":
        return ""
    try:
        size = os.lstat(os.path.join(git.project, path)).st_size
    except OSError as error:
        return error.strerror or "cannot be read"
    return f"longer than {limits['file'] >> 20} MB" if size > limits["file"] else ""


# ── answers ──


def stage(git: Git, changes: list[list[str]]) -> str:
    """Put the changes into the private index; the tree it then stands for."""
    gone = [path for path, kind in changes if kind == "deleted"]
    there = [path for path, kind in changes if kind != "deleted"]
    given = os.fsencode("".join(f"{path}\0" for path in (*gone, *there)))
    if given:
        git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", given=given)
    return git.run("write-tree", "--missing-ok").decode().strip()


def patch(git: Git, asked: dict[str, Any]) -> str:
    """What is staged, as a patch."""
    against = asked["head"] or empty_tree(git)
    text = git.run(
        "diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--stat", "--patch", against
    )
    most = asked["limits"]["patch"]
    return text[:most].decode("utf-8", "replace") + ("\n… cut here\n" if len(text) > most else "")


def empty_tree(git: Git) -> str:
    """The name of the tree without entries."""
    return git.run("hash-object", "-t", "tree", "/dev/null").decode().strip()


def both_sides(git: Git, asked: dict[str, Any], tree: str) -> tuple[list[str], list[str]]:
    """The objects behind what changed: those of the tree, and those of the last commit with the commit itself."""
    head = asked["head"]
    before = git.run("rev-parse", f"{head}^{{tree}}").decode().strip() if head else empty_tree(git)
    if before == tree:
        return [], [head] if head else []
    new, known, shown = [tree], [head, before] if head else [], []
    said = git.names("diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", before, tree)
    for line in said[0::2]:
        old_mode, mode, old, name, _ = line.lstrip(":").split(" ")
        if mode not in _NO_OBJECT:
            new.append(name)
        if old_mode not in _NO_OBJECT:
            (known if old_mode == "040000" else shown).append(old)
    if asked["want"] == "tree":
        known += short_enough(git, shown, asked["limits"]["shown"])
    return list(dict.fromkeys(new)), list(dict.fromkeys(known))


def short_enough(git: Git, names: list[str], most_bytes: int) -> list[str]:
    """Those a person can be shown: not too long each, and not too many. The rest, and what is missing, is left out."""
    left = _MOST_SHOWN_BYTES
    kept: list[str] = []
    said = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", given="\n".join(names).encode()).decode()
    for line in said.splitlines():
        name, _, size = line.partition(" ")
        if size.isdigit() and int(size) <= min(most_bytes, left):
            kept.append(name)
            left -= int(size)
    return kept


def contents(git: Git, names: list[str]) -> tuple[list[list[Any]], list[bytes]]:
    """Kind and length of each object, and the content."""
    data = git.run("cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode()) if names else b""
    listed: list[list[Any]] = []
    bodies: list[bytes] = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        name, kind, *size = data[at:end].decode().split(" ")
        if not size:
            raise GitFailed(f"The object {name} is {kind}.")
        listed.append([kind, int(size[0])])
        bodies.append(data[end + 1 : end + 1 + int(size[0])])
        at = end + 2 + int(size[0])
    return listed, bodies


def answer(asked: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Do what was asked."""
    git = Git(asked)
    make_repository(git, asked)
    if asked["want"] == "commit":
        listed, bodies = contents(git, [asked["commit"]])
        return {"changes": [], "skipped": [], "tree": asked["commit"], "known": listed}, bodies
    changes, skipped = look(git, asked)
    said: dict[str, Any] = {"changes": changes, "skipped": skipped}
    bodies: list[bytes] = []
    if asked["want"] != "status":
        said["tree"] = stage(git, changes)
        new, known = both_sides(git, asked, said["tree"])
        said["objects"], bodies = contents(git, new)
        said["known"], old_bodies = contents(git, known)
        bodies += old_bodies
        if sum(map(len, bodies)) > asked["limits"]["bytes"]:
            raise GitFailed("The changes are too much for one commit. Name fewer paths.")
    if asked["want"] == "diff":
        said["patch"] = patch(git, asked)
    return said, bodies


def main() -> None:
    """One question, one answer."""
    host = socket.socket(fileno=_HOST)
    with host, host.makefile("rb") as reading:
        asked = json.loads(reading.read())
        bodies: list[bytes] = []
        try:
            said, bodies = answer(asked)
        except subprocess.TimeoutExpired:
            said = {"failed": f"it took longer than {_PATIENCE_SECONDS} s. Name fewer paths."}
        except (GitFailed, OSError, ValueError) as error:
            said = {"failed": str(error)}
        header = json.dumps(said).encode()
        host.sendall(struct.pack(">I", len(header)) + header)
        for body in bodies:
            host.sendall(body)


if __name__ == "__main__":
    main()
