"""Interpreters: which Python runs a notebook, as values. Ours wherever the header allows it; else the nearest one.

Not here: finding and starting them. That is `interpreter_search`.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from packaging.markers import default_environment
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cellwright.errors import UserError

PythonChoice = Literal["header", "ours"]
"""header: one that the notebook's `requires-python` allows. ours: Cellwright's own, whatever the header says."""

PYTHON_VERSION: Final = ".".join(str(part) for part in sys.version_info[:3])
OLDEST: Final = (3, 11)
"""What the guest and marimo run on."""
_KNOWN_MINORS: Final = range(11, 20)
_MOST_PATCHES: Final = 40
"""No Python had more patch releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """One installed CPython, as far as environments and cages must know it."""

    executable: Path
    version: str
    """`3.12.1`; a release candidate has its suffix."""
    soabi: str
    platform: str
    platlibdir: str
    site_packages: str
    """Where packages lie below a prefix."""
    software: tuple[str, ...]
    """What a cage must see of it, read-only: its executable and its libraries."""

    @property
    def short_version(self) -> str:
        """`3.12`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def markers(self) -> dict[str, str]:
        """What conditions in requirements are decided by: as here, but for this Python."""
        versions = {
            "python_version": self.short_version,
            "python_full_version": self.version,
            "implementation_version": self.version,
        }
        return {name: str(value) for name, value in default_environment().items()} | versions


def our_interpreter() -> Interpreter:
    """The one Cellwright runs on."""
    return Interpreter(
        executable=Path(str(getattr(sys, "_base_executable", sys.executable))),
        version=PYTHON_VERSION,
        soabi=str(sysconfig.get_config_var("SOABI")),
        platform=sysconfig.get_platform(),
        platlibdir=sys.platlibdir,
        site_packages=sysconfig.get_path("purelib", "venv", {"base": "."}),
        # The cage's init is forked from our zygote, so ours is visible in every cage anyway.
        software=(sys.base_prefix,),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pythons:
    """Which interpreters a notebook may get: what the person chose, and where theirs are installed."""

    choice: PythonChoice = "header"
    path: tuple[str, ...] = ()
    """Directories of the person's `PATH`."""
    managed: Path | None = None
    """Where uv keeps the interpreters it installed."""
    versions: tuple[Path, ...] = ()
    """Directories with one installation in each entry, as pyenv keeps them."""
    avoid: tuple[Path, ...] = ()
    """Nothing in here is ever started: a notebook could have put it there."""
    ours: Interpreter = field(default_factory=our_interpreter)


def allows(requires_python: str, version: str) -> bool:
    """Whether a header's `requires-python` allows this version. Release candidates count as what they precede."""
    return SpecifierSet(requires_python).contains(version, prereleases=True)


def is_ours_allowed(requires_python: str, pythons: Pythons) -> bool:
    """Whether nothing else has to be looked for."""
    return pythons.choice == "ours" or allows(requires_python, pythons.ours.version)


def in_order(requires_python: str, found: Mapping[Path, str]) -> list[Path]:
    """Of installed executables and their versions those that fit, best first.

    The oldest minor version comes first: it has the most wheels. Of that the newest patch, then by path, so that two
    processes choose the same.
    """
    fitting = [
        (Version(version), path)
        for path, version in found.items()
        if _is_able(version) and allows(requires_python, version)
    ]
    return [path for _, path in sorted(fitting, key=lambda one: (one[0].minor, _newest(one[0]), str(one[1])))]


def _is_able(version: str) -> bool:
    return Version(version).release[:2] >= OLDEST and Version(version).major == OLDEST[0]


def _newest(version: Version) -> tuple[bool, int]:
    return version.is_prerelease, -version.micro


def installable(requires_python: str) -> str | None:
    """What to ask uv for to get a Python that fits: `3.12`, or `3.12.4` where only some patches fit; None: nothing."""
    for minor in _KNOWN_MINORS:
        patches = [patch for patch in range(_MOST_PATCHES) if allows(requires_python, f"3.{minor}.{patch}")]
        if patches:
            return f"3.{minor}" if patches[-1] == _MOST_PATCHES - 1 else f"3.{minor}.{patches[-1]}"
    return None


def none_fits(requires_python: str, found: Iterable[str], pythons: Pythons, uv: str) -> UserError:
    """Why the notebook cannot run, and how to get the Python it asks for."""
    wanted = installable(requires_python)
    oldest = ".".join(map(str, OLDEST))
    if wanted is None:
        return UserError(
            f"The notebook requires Python {requires_python}, and notebooks run on Python {oldest} or newer.",
            hint="Change `requires-python` in the notebook's header, or try it on Cellwright's own Python "
            f"{pythons.ours.version} with `--python ours`.",
        )
    others = sorted({version for version in found if version != pythons.ours.version}, key=Version)
    also = f" (installed are also {', '.join(others)})" if others else ""
    return UserError(
        f"The notebook requires Python {requires_python}: Cellwright runs on Python {pythons.ours.version}, "
        f"and no installed one fits{also}.",
        hint=f"Install one with `{uv} python install {wanted}` and try again; "
        f"or run it on Python {pythons.ours.version} all the same with `--python ours`.",
    )
