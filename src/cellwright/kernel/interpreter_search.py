"""Finding installed interpreters, as uv finds them, and asking the chosen one what it is. Nothing is downloaded.

Asking means starting: uv starts every candidate to learn its version, on the host. So only places that no notebook can
write to are searched: not the project, no virtual environment, no directory open to everybody, no shim that reads a
`.python-version`. uv gets an empty working directory and none of the person's variables.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from cellwright.errors import Unavailable
from cellwright.kernel.interpreters import Interpreter, Pythons, in_order, is_ours_allowed, none_fits

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
        places = [directory, *programs]
        return not any(_is_within(place, avoid) or _is_open_to_all(place) for place in places)
    except (OSError, RuntimeError):
        return False


def _is_within(place: Path, avoid: Iterable[Path]) -> bool:
    names = {Path(os.path.abspath(place)), place.resolve()}  # noqa: PTH100  as it is called, links and all
    return any(name.is_relative_to(folder.resolve()) for name in names for folder in avoid)


def _is_open_to_all(place: Path) -> bool:
    return bool(place.resolve().stat().st_mode & stat.S_IWOTH)


async def _installed(path: Sequence[str], pythons: Pythons, *, home: Path, cache: Path, uv: str) -> dict[Path, str]:
    """Every CPython there is, with its version, by its real path."""
    managed = pythons.managed
    if managed is None or _is_within(managed, pythons.avoid):
        managed = home / "no-pythons"
    command = [uv, "python", "list", "--only-installed", "--output-format=json", "--no-config", "--no-python-downloads"]
    command += ["--offline", "--color=never", f"--cache-dir={cache}"]
    variables = {"PATH": os.pathsep.join(path), "HOME": str(home), "UV_PYTHON_INSTALL_DIR": str(managed)}
    said = await _output_of(command, home, variables)
    try:
        listed = cast("list[dict[str, Any]]", json.loads(said or b"[]"))
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
    said = await _output_of([str(executable), "-I", "-S", "-B", "-c", _QUESTION], home, {"PATH": "/usr/bin:/bin"})
    if said is None:
        return None
    try:
        told = cast("dict[str, Any]", json.loads(said))
        libraries = [str(one) for one in told.pop("libraries")]
        real = Path(str(told.pop("executable")))
        there = await anyio.to_thread.run_sync(lambda: [one for one in libraries if Path(one).is_dir()])
        shown = dict.fromkeys([str(real), *there])
        return Interpreter(executable=real, software=tuple(shown), **{name: str(value) for name, value in told.items()})
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
            hint="Try again; `--python ours` looks for none.",
        ) from error
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _command_for_uv(pythons: Pythons) -> str:
    """How the person calls uv: by its name where their shell finds it, else by where ours is."""
    return "uv" if any((Path(folder) / "uv").is_file() for folder in pythons.path) else find_uv_bin()
