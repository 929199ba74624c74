"""Lint, format, floors and types, for `make check` and beside the tests of `make test`: `python -m tests.checks`.

Each checker's output is printed whole when it fails. What a checker last found right is remembered by a hash of all it
reads, so that a person waits for types only after a change; CI forgets (`CI=true`), and so does `--cold`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
STAMPS = ROOT / ".venv" / ".checked"
READ = (".py", ".pyi", ".toml")
"""The kinds of files a checker may read; a new one is read however it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program that finds nothing wrong when it ends with 0."""

    name: str
    command: tuple[str, ...]


CHECKERS = (
    Checker(name="lint", command=("ruff", "check", ".")),
    Checker(name="format", command=("ruff", "format", "--check", ".")),
    Checker(name="floors", command=("lint-imports", "--no-logo")),
    Checker(name="types", command=("pyrefly", "check", "--summary=none")),
)


def listed(root: Path) -> list[Path] | None:
    """What git knows or would take up, and the pins: all that decides what a checker says; None without git."""
    found = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        check=False,
        capture_output=True,
        text=True,
    )
    if found.returncode:
        return None
    return [
        root / name
        for name in sorted(found.stdout.split("\0"))
        if name.endswith(READ) or name.startswith("requirements/")
    ]


def digest(files: Sequence[Path], command: Sequence[str], python: str = sys.version) -> str:
    """Changes when a file comes, goes or changes, and with the interpreter or the command."""
    whole = hashlib.sha256(repr((python, tuple(command))).encode())
    for path in files:
        content = path.read_bytes() if path.is_file() else b"gone"
        whole.update(f"{path}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def run(
    checkers: Sequence[Checker], files: Sequence[Path], *, stamps: Path | None, cwd: Path, tools: Path = BIN
) -> bool:
    """Whether all found nothing wrong; without `stamps` each really runs."""
    is_right = True
    for checker in checkers:
        now = digest(files, checker.command)
        stamp = stamps and stamps / checker.name
        if stamp and stamp.is_file() and stamp.read_text(encoding="utf-8") == now:
            _say(f"{checker.name}: nothing changed since it was right")
            continue
        began = time.monotonic()
        ran = subprocess.run(
            [tools / checker.command[0], *checker.command[1:]],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        took = f"{time.monotonic() - began:.0f} s"
        if ran.returncode:
            is_right = False
            _say(f"{checker.name}: FAILED ({took}): {' '.join(checker.command)}\n{ran.stdout}{ran.stderr}")
            continue
        _say(f"{checker.name}: right ({took})")
        if stamp:
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(now, encoding="utf-8")
    return is_right


def stamps_of(environment: Mapping[str, str], words: Sequence[str]) -> Path | None:
    """Where what was right is remembered; nowhere in CI."""
    return None if environment.get("CI") or "--cold" in words else STAMPS


def _say(text: str) -> None:
    sys.stdout.write(text.rstrip() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    files = listed(ROOT)
    stamps = None if files is None else stamps_of(os.environ, sys.argv[1:])
    sys.exit(0 if run(CHECKERS, files or [], stamps=stamps, cwd=ROOT) else 1)
