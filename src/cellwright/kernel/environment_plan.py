"""Which environment a header asks for, and where it lives in the cache: values, worked out without touching a disk."""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cellwright.kernel.script_header import PYTHON_VERSION, ScriptHeader, requirements_for

LAYOUT_VERSION = 1
"""Part of every key: raise it when an environment built by an older Cellwright must not be used."""


_OUR_PYTHON: Final = f"{PYTHON_VERSION} {sysconfig.get_config_var('SOABI')}"

PackageSource = Literal["index", "cache", "installed"]
"""Where the packages of an environment came from. index: resolved by uv, from the package index. cache: the same from
uv's cache alone. installed: what is installed with Cellwright and fits, and for the rest uv's cache. The last two only
while no index can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A complete environment on disk, in the layout of a virtual environment."""

    key: str
    path: Path
    """The prefix: the only folder a cage needs to see."""
    python: Path
    """A link to our own base interpreter. Start it only in a cage."""
    site_packages: Path
    requirements: tuple[str, ...]
    source: PackageSource = "index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that decides what ends up in an environment."""

    requirements: tuple[str, ...]
    interpreter: Path
    python: str
    platform: str

    @property
    def is_for_our_python(self) -> bool:
        """Whether what is installed with Cellwright would also run in it."""
        return self.interpreter == _our_interpreter() and self.python == _OUR_PYTHON

    @property
    def key(self) -> str:
        """The same for whoever asks for the same."""
        content = [LAYOUT_VERSION, self.requirements, str(self.interpreter), self.python, self.platform]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where one environment and the things around it live in the cache."""

    cache: Path
    key: str

    @property
    def home(self) -> Path:
        """An empty home folder for uv."""
        return self.cache / "home"

    @property
    def finished(self) -> Path:
        """The environment and the record of its use; whole whenever it is there."""
        return self.cache / "environments" / self.key

    @property
    def record(self) -> Path:
        """What the finished environment was made of."""
        return self.finished / "environment.json"

    @property
    def workshop(self) -> Path:
        """Where it is built."""
        return self.cache / "building" / self.key

    @property
    def lock(self) -> Path:
        """Held by whoever builds or removes it."""
        return self.cache / "locks" / f"{self.key}.lock"


def plan_for(header: ScriptHeader) -> Plan:
    """What a header asks for, on this machine and for our own interpreter."""
    return Plan(
        requirements=requirements_for(header),
        interpreter=_our_interpreter(),
        python=_OUR_PYTHON,
        platform=sysconfig.get_platform(),
    )


def _our_interpreter() -> Path:
    return Path(str(getattr(sys, "_base_executable", sys.executable)))


def places_for(plan: Plan, cache: Path) -> Places:
    """Where the planned environment lives in this cache."""
    return Places(cache=cache.absolute(), key=plan.key)


def environment_at(places: Places, plan: Plan, source: PackageSource = "index") -> Environment:
    """The environment as it is once it is finished."""
    path = places.finished / "venv"
    return Environment(
        key=places.key,
        path=path,
        python=path / "bin" / "python",
        site_packages=site_packages_in(path),
        requirements=plan.requirements,
        source=source,
    )


def site_packages_in(prefix: Path) -> Path:
    """Where the packages of the environment at `prefix` are."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))
