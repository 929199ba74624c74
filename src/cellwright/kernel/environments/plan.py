"""Which environment a header asks for, and where it lives in the cache: values, worked out without touching a disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cellwright.kernel.environments.interpreters import Interpreter, our_interpreter

LAYOUT_VERSION = 1
"""Part of every key: raise it when an environment built by an older Cellwright must not be used."""


PackageSource = Literal["index", "cache", "installed"]
"""Where the packages of an environment came from. index: resolved by uv, from the package index. cache: the same from
uv's cache alone. installed: what is installed with Cellwright and fits, and for the rest uv's cache. The last two only
while no index can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLock:
    """What a header's requirements came to when they were resolved."""

    text: str
    """Every package with its version and the hashes its file may have; of `installed`, names and versions."""
    source: PackageSource
    """Where it was resolved from."""
    cache: Path
    """The cache of uv that was used for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A complete environment on disk, in the layout of a virtual environment."""

    key: str
    path: Path
    """The prefix: the only folder a cage needs to see."""
    python: Path
    """A link to the interpreter. Start it only in a cage."""
    interpreter: Interpreter
    site_packages: Path
    requirements: tuple[str, ...]
    source: PackageSource = "index"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPlan:
    """Everything that decides what ends up in an environment, and where it lives in the cache."""

    cache: Path
    requirements: tuple[str, ...]
    interpreter: Interpreter
    lock: PackageLock | None = None
    """None: whatever is newest when it is built."""

    @property
    def python(self) -> str:
        """Version and ABI."""
        return f"{self.interpreter.version} {self.interpreter.soabi}"

    @property
    def is_for_our_python(self) -> bool:
        """Whether what is installed with Cellwright would also run in it."""
        return self.interpreter == our_interpreter()

    @property
    def key(self) -> str:
        """The same for whoever asks for the same."""
        python = self.interpreter
        asked: Sequence[str] = self.requirements if self.lock is None else ["lock", self.lock.text]
        content = [LAYOUT_VERSION, asked, str(python.executable), self.python, python.platform]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    @property
    def home(self) -> Path:
        """An empty home folder for uv."""
        return self.cache / "home"

    @property
    def finished(self) -> Path:
        """The environment and the record of its use; whole whenever it is there."""
        return self.cache / ("environments" if self.lock is None else "locked") / self.key

    @property
    def record(self) -> Path:
        """What the finished environment was made of."""
        return self.finished / "environment.json"

    @property
    def build_directory(self) -> Path:
        """Where it is built."""
        return self.cache / "building" / self.key

    @property
    def lock_file(self) -> Path:
        """Held by whoever builds or removes it."""
        return self.cache / "locks" / f"{self.key}.lock"

    def environment(self, source: PackageSource) -> Environment:
        """The environment as it is once it is finished."""
        path = self.finished / "venv"
        return Environment(
            key=self.key,
            path=path,
            python=path / "bin" / "python",
            interpreter=self.interpreter,
            site_packages=path / self.interpreter.site_packages,
            requirements=self.requirements,
            source=source,
        )
