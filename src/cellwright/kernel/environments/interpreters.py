"""Interpreters: which Python runs a notebook. Ours wherever the header allows it; else the nearest installed one.

The choice is made from values. Finding what is installed means starting it, as uv does, and only what the person or
the system put on a path that nobody else can write to is started. Nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

import anyio
import anyio.to_thread
from packaging.markers import default_environment
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from cellwright.errors import Unavailable, UserError
from cellwright.remedies import remedy

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
    fitting = [(Version(version), path) for path, version in found.items() if allows(requires_python, version)]
    ranks = {
        path: (version.minor, version.is_prerelease, -version.micro, str(path))
        for version, path in fitting
        if version.release[:2] >= OLDEST and version.major == OLDEST[0]
    }
    return sorted(ranks, key=ranks.__getitem__)


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
            hint=remedy(
                "use_own_python",
                lead="Change `requires-python` in the notebook's header, or",
                python=f"Cellwright's own Python {pythons.ours.version}",
            ),
        )
    others = sorted({version for version in found if version != pythons.ours.version}, key=Version)
    also = f" (installed are also {', '.join(others)})" if others else ""
    return UserError(
        f"The notebook requires Python {requires_python}: Cellwright runs on Python {pythons.ours.version}, "
        f"and no installed one fits{also}.",
        hint=remedy(
            "use_own_python",
            lead=f"Install one with `{uv} python install {wanted}` and try again; or",
            python=f"Python {pythons.ours.version}",
        ),
    )


_SEARCH_SECONDS: Final = 60
_MOST_DIRECTORIES: Final = 200
_SHIMS: Final = "shims"
"""pyenv, asdf and mise call the directory of their scripts so: which Python those start is decided by project files."""
_QUESTION: Final = """
import json, os, platform, sys, sysconfig
lib = [os.path.join(sys.base_prefix, name) for name in ("lib", sys.platlibdir)]
lib += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
if sysconfig.get_config_var("Py_ENABLE_SHARED"):
    lib.append(sysconfig.get_config_var("LIBDIR"))
print(json.dumps({
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "version": platform.python_version(),
    "soabi": str(sysconfig.get_config_var("SOABI")),
    "platform": sysconfig.get_platform(),
    "platlibdir": sys.platlibdir,
    "site_packages": sysconfig.get_path("purelib", "venv", {"base": "."}),
    "libraries": [one for one in lib if one],
}))
"""


async def interpreter_for(
    requires_python: str, pythons: Pythons, *, home: Path, cache: Path, uv: str = ""
) -> Interpreter:
    """The Python to run a notebook on: ours if it fits or the person says so, else the nearest installed one.

    `home` is an empty directory, `cache` is uv's. Raises `UserError`, which says how to get one, or `Unavailable`.
    """
    if is_ours_allowed(requires_python, pythons):
        return pythons.ours
    path = await anyio.to_thread.run_sync(lambda: list(search_path(pythons)))
    found = await _installed(path, pythons, home=home, cache=cache, uv=uv or find_uv_bin())
    for executable in in_order(requires_python, found):
        interpreter = await _ask(executable, home)
        if interpreter is not None and not _is_within(interpreter.executable, pythons.avoid):
            return interpreter
    raise none_fits(requires_python, found.values(), pythons, _command_for_uv(pythons))


def search_path(pythons: Pythons) -> Iterator[str]:
    """The directories whose `python*` may be started, in the order they are searched. Blocking."""
    installations = (entry / "bin" for folder in pythons.versions for entry in _entries(folder))
    for directory in [*map(Path, pythons.path), *installations][:_MOST_DIRECTORIES]:
        if directory.is_absolute() and directory.name != _SHIMS and _is_sound(directory, pythons.avoid):
            yield str(directory)


def _entries(folder: Path) -> Sequence[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return ()


def _is_sound(directory: Path, avoid: Sequence[Path]) -> bool:
    """Whether nobody but the person and the system decides what `python` in here is."""
    try:
        real = directory.resolve(strict=True)
        programs = list(directory.glob("python*"))
        if not programs or (real.parent / "pyvenv.cfg").exists() or (directory.parent / "pyvenv.cfg").exists():
            return False
        # What everybody may write to is nobody's decision.
        return not any(
            _is_within(path, avoid) or path.resolve().stat().st_mode & stat.S_IWOTH for path in (directory, *programs)
        )
    except (OSError, RuntimeError):
        return False


def _is_within(place: Path, avoid: Iterable[Path]) -> bool:
    names = {Path(os.path.abspath(place)), place.resolve()}  # noqa: PTH100  as it is called, links and all
    return any(name.is_relative_to(folder.resolve()) for name in names for folder in avoid)


async def _installed(path: Sequence[str], pythons: Pythons, *, home: Path, cache: Path, uv: str) -> dict[Path, str]:
    """Every CPython there is, with its version, by its real path."""
    managed = pythons.managed
    if managed is None or _is_within(managed, pythons.avoid):
        managed = home / "no-pythons"
    command = [uv, "python", "list", "--only-installed", "--output-format=json", "--no-config", "--no-python-downloads"]
    command += ["--offline", "--color=never", f"--cache-dir={cache}"]
    variables = {"PATH": os.pathsep.join(path), "HOME": str(home), "UV_PYTHON_INSTALL_DIR": str(managed)}
    output = await _output_of(command, home, variables)
    try:
        listed = cast("list[dict[str, Any]]", json.loads(output or b"[]"))
        return await anyio.to_thread.run_sync(lambda: dict(_usable(listed, pythons)))
    except (ValueError, TypeError, KeyError) as error:
        raise Unavailable("uv did not say which Pythons are installed.", hint="Try again.") from error


def _usable(listed: Iterable[dict[str, Any]], pythons: Pythons) -> Iterator[tuple[Path, str]]:
    for one in listed:
        path, version = Path(str(one["path"])), str(one["version"])
        is_plain = one["implementation"] == "cpython" and one["variant"] == "default"
        if is_plain and _is_version(version) and not _is_within(path, pythons.avoid):
            yield path.resolve(), version


def _is_version(text: str) -> bool:
    try:
        return len(Version(text).release) >= 3
    except InvalidVersion:
        return False


async def _ask(executable: Path, home: Path) -> Interpreter | None:
    """What this interpreter is; None if it does not say. `-I -S`: nothing but its own library is loaded."""
    output = await _output_of([str(executable), "-I", "-S", "-B", "-c", _QUESTION], home, {"PATH": "/usr/bin:/bin"})
    if output is None:
        return None
    try:
        raw = cast("dict[str, Any]", json.loads(output))
        libraries = [str(one) for one in raw.pop("libraries")]
        real = Path(str(raw.pop("executable")))
        there = await anyio.to_thread.run_sync(lambda: [one for one in libraries if Path(one).is_dir()])
        shown = dict.fromkeys([str(real), *there])
        return Interpreter(executable=real, software=tuple(shown), **{name: str(value) for name, value in raw.items()})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


async def _output_of(command: list[str], home: Path, variables: dict[str, str]) -> bytes | None:
    """What a program printed; None if it failed."""
    try:
        with anyio.fail_after(_SEARCH_SECONDS):
            done = await anyio.run_process(
                command, cwd=home, env=variables, check=False, stderr=subprocess.DEVNULL, start_new_session=True
            )
    except TimeoutError as error:
        raise Unavailable(
            f"{Path(command[0]).name} gave no answer within {_SEARCH_SECONDS} seconds while looking for a Python.",
            hint=remedy("use_own_python", lead="Try again, or", python="Cellwright's own Python"),
        ) from error
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _command_for_uv(pythons: Pythons) -> str:
    """How the person calls uv: by its name where their shell finds it, else by where ours is."""
    return "uv" if any((Path(folder) / "uv").is_file() for folder in pythons.path) else find_uv_bin()
