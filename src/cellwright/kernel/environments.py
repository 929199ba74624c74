"""Environments: the packages a notebook asks for in its PEP 723 header, installed once and kept.

Nothing that came out of a wheel is run on the host: wheels only, no bytecode compilation, and the environment's
interpreter is never started here, because a `.pth` file runs at interpreter start. uv is told to use *our* base
interpreter and an empty prefix; `bin/python` is added last. Whoever mounts an environment mounts it read-only.

Not here: starting anything inside an environment. That is for the cage.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread
from uv import find_uv_bin

from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.kernel.script_header import PYTHON_VERSION, ScriptHeader, bounded, requirements_for

LAYOUT_VERSION = 1
"""Part of every key: raise it when an environment built by an older Cellwright must not be used."""

_MESSAGE_LIMIT_CHARS = 1500
_OUTPUT_LIMIT_CHARS = 64 * 1024

_PASSED_VARIABLES = re.compile(
    r"(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|SSL_CLIENT_CERT|NETRC"
    r"|UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|INDEX_STRATEGY|INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)|FIND_LINKS"
    r"|OFFLINE|NATIVE_TLS|SYSTEM_CERTS|INSECURE_HOST|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|HTTP_RETRIES|EXCLUDE_NEWER)",
    re.IGNORECASE,
)
_PIP_VARIABLES = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_FIND_LINKS": "UV_FIND_LINKS",
    "PIP_CERT": "SSL_CERT_FILE",
}


Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class UvSettings:
    """How uv reaches packages: what the person configured, never what a notebook says."""

    index_url: str | None = field(default=None, repr=False)
    """The package index, in place of uv's own default."""
    extra_index_urls: tuple[str, ...] = field(default=(), repr=False)
    find_links: tuple[str, ...] = ()
    """Folders or pages with wheels, looked into besides the indexes."""
    no_index: bool = False
    """Only `find_links`."""
    offline: bool = False
    """Only what is already in uv's cache or on this machine."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The person's environment variables; of these only index, proxy and certificate settings reach uv."""
    timeout_seconds: float = 600
    """For one environment: waiting for another builder, resolving, downloading and installing together."""
    binary: Path | None = None
    """Another uv than the one installed with Cellwright."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Everything that decides what ends up in an environment."""

    requirements: tuple[str, ...]
    interpreter: Path
    python: str
    platform: str

    @property
    def key(self) -> str:
        content = [LAYOUT_VERSION, self.requirements, str(self.interpreter), self.python, self.platform]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where one environment and the things around it live in the cache."""

    cache: Path
    key: str

    @property
    def home(self) -> Path:
        return self.cache / "home"

    @property
    def finished(self) -> Path:
        return self.cache / "environments" / self.key

    @property
    def workshop(self) -> Path:
        return self.cache / "building" / self.key

    @property
    def lock(self) -> Path:
        return self.cache / "locks" / f"{self.key}.lock"


# --- what it gets ---------------------------------------------------------------------------------------------------


def _plan_for(header: ScriptHeader) -> _Plan:
    return _Plan(
        requirements=requirements_for(header),
        interpreter=Path(str(getattr(sys, "_base_executable", sys.executable))),
        python=f"{PYTHON_VERSION} {sysconfig.get_config_var('SOABI')}",
        platform=sysconfig.get_platform(),
    )


def _places_for(plan: _Plan, cache: Path) -> _Places:
    return _Places(cache=cache.absolute(), key=plan.key)


async def environment_for(
    header: ScriptHeader, *, cache: Path, uv: UvSettings, on_progress: Progress | None = None
) -> Environment:
    """The environment for a header: the kept one, or a new one that appears whole or not at all.

    Raises `UserError` where the header is at fault and `Unavailable` where trying again may help. Several processes
    may ask for the same one at once: one builds, the others wait for it.
    """
    plan = _plan_for(header)
    places = _places_for(plan, cache)
    tell = on_progress or _say_nothing
    try:
        with anyio.fail_after(uv.timeout_seconds):
            if found := await anyio.to_thread.run_sync(_find, places, plan):
                return found
            async with _sole_builder(places, tell) as lock:
                if found := await anyio.to_thread.run_sync(_find, places, plan):
                    return found
                return await _build(places, plan, uv, lock, tell)
    except TimeoutError as error:
        raise Unavailable(
            f"The notebook's packages were not ready after {uv.timeout_seconds:g} seconds.",
            hint="Try again: what was downloaded is kept.",
        ) from error
    except OSError as error:
        raise Unavailable(
            f"The notebook's packages could not be stored: {error.strerror or error}.",
            hint=f"Check space and rights in {str(cache)!r}.",
        ) from error


@contextmanager
def hold(environment: Environment) -> Generator[None]:
    """Keeps an environment from being pruned while a kernel uses it; ends with the process at the latest."""
    folder = environment.path.parent
    try:
        descriptor = os.open(folder / "in-use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _pruned(environment) from error
    try:
        # After the lock, look again: the folder may have been moved away between open and lock.
        if not _try_lock(descriptor, fcntl.LOCK_SH) or not environment.python.is_symlink():
            raise _pruned(environment)
        yield
        _stamp(folder)
    finally:
        os.close(descriptor)


async def prune(cache: Path, *, older_than: timedelta) -> tuple[str, ...]:
    """Removes environments that nobody holds or asked for in that time, and what killed builders left; says which."""
    return await anyio.to_thread.run_sync(_prune, cache, time.time() - older_than.total_seconds())


# --- the cache ------------------------------------------------------------------------------------------------------


def _find(places: _Places, plan: _Plan) -> Environment | None:
    """The finished environment, stamped as used now. A folder of that name is whole: it got there by rename."""
    environment = _environment_at(places, plan)
    if not environment.python.is_symlink() or not environment.site_packages.is_dir():
        return None
    try:
        _stamp(places.finished)
    except FileNotFoundError:
        return None
    return environment


def _environment_at(places: _Places, plan: _Plan) -> Environment:
    path = places.finished / "venv"
    return Environment(
        key=places.key,
        path=path,
        python=path / "bin" / "python",
        site_packages=_site_packages(path),
        requirements=plan.requirements,
    )


def _site_packages(prefix: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))


def _stamp(folder: Path) -> None:
    os.utime(folder / "last-used")


def _last_used(folder: Path) -> float:
    try:
        return (folder / "last-used").stat().st_mtime
    except FileNotFoundError:
        return 0


def _pruned(environment: Environment) -> Unavailable:
    return Unavailable(f"Environment {environment.key!r} was just removed.", hint="Open the notebook again.")


@asynccontextmanager
async def _sole_builder(places: _Places, tell: Progress) -> AsyncGenerator[int]:
    descriptor = await anyio.to_thread.run_sync(_open_lock, places)
    try:
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            tell("Waiting for another process that installs the same packages")
            while not _try_lock(descriptor, fcntl.LOCK_EX):  # noqa: ASYNC110  flock tells nobody when it opens
                await anyio.sleep(0.05)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_lock(places: _Places) -> int:
    (places.cache / "environments").mkdir(parents=True, exist_ok=True)
    for folder in (places.home, places.workshop.parent, places.lock.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    return os.open(places.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _clear(places: _Places) -> None:
    """Removes a half-built or damaged environment; only for whoever holds the builder's lock."""
    shutil.rmtree(places.workshop, ignore_errors=True)
    if places.finished.exists():
        places.finished.rename(places.workshop)
        shutil.rmtree(places.workshop, ignore_errors=True)


def _prune(cache: Path, before: float) -> tuple[str, ...]:
    folders = [*cache.glob("environments/*"), *cache.glob("building/*")]
    keys = sorted({folder.name for folder in folders})
    return tuple(key for key in keys if _prune_one(_Places(cache=cache, key=key), before))


def _prune_one(places: _Places, before: float) -> bool:
    """Whether the environment was there and was removed; leftovers of a dead builder always go."""
    builder = _open_lock(places)
    try:
        if not _try_lock(builder, fcntl.LOCK_EX):
            return False
        shutil.rmtree(places.workshop, ignore_errors=True)
        with _if_unused(places.finished, before) as unused:
            if unused:
                _clear(places)
            return unused
    finally:
        os.close(builder)


@contextmanager
def _if_unused(folder: Path, before: float) -> Generator[bool]:
    """Whether nobody holds or lately used the environment, which stays so inside the block."""
    if not folder.is_dir():
        yield False
        return
    holders = os.open(folder / "in-use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _last_used(folder) < before and _try_lock(holders, fcntl.LOCK_EX)
    finally:
        os.close(holders)


# --- building -------------------------------------------------------------------------------------------------------


async def _build(places: _Places, plan: _Plan, uv: UvSettings, lock: int, tell: Progress) -> Environment:
    try:
        await anyio.to_thread.run_sync(_prepare, places, plan)
        tell(f"Installing {len(plan.requirements)} requirements: {bounded(', '.join(plan.requirements), 200)}")
        await _run_uv(places, plan, uv, lock, tell)
        await anyio.to_thread.run_sync(_finish, places, plan)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(places.workshop, ignore_errors=True))
    return _environment_at(places, plan)


def _prepare(places: _Places, plan: _Plan) -> None:
    _clear(places)
    prefix = places.workshop / "venv"
    prefix.mkdir(parents=True)
    # A kernel may run under another user, whatever umask we have.
    for folder in (places.workshop, prefix):
        folder.chmod(0o755)
    if sys.platlibdir != "lib":
        (prefix / sys.platlibdir).symlink_to("lib")
    (places.workshop / "requirements.txt").write_text("\n".join(plan.requirements) + "\n")


async def _run_uv(places: _Places, plan: _Plan, uv: UvSettings, lock: int, tell: Progress) -> None:
    process = await _start_uv(places, plan, uv, lock)
    try:
        output = await _follow(process, tell)
        code = await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            _kill_group(process)
            await process.aclose()
    if code != 0:
        raise _failure(plan, output, code)


async def _start_uv(places: _Places, plan: _Plan, uv: UvSettings, lock: int) -> anyio.abc.Process:
    try:
        # uv inherits the lock: if we are killed, nobody touches the workshop before the orphan is done with it.
        return await anyio.open_process(
            _uv_command(places, plan, uv),
            cwd=places.home,
            env=_uv_variables(places, uv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(lock,),
            umask=0o022,
        )
    except OSError as error:
        raise Unavailable(
            f"uv could not be started: {error}.", hint="Install Cellwright again: uv is one of its packages."
        ) from error


def _uv_command(places: _Places, plan: _Plan, uv: UvSettings) -> list[str]:
    command = [
        str(uv.binary or find_uv_bin()),
        "pip",
        "install",
        "--no-config",
        "--no-build",
        "--no-sources",
        "--color=never",
        "--no-progress",
    ]
    command += ["--no-python-downloads", "--no-managed-python", f"--python={plan.interpreter}"]
    command += [f"--prefix={places.workshop / 'venv'}", f"--cache-dir={places.cache / 'uv'}"]
    command += [f"--requirements={places.workshop / 'requirements.txt'}"]
    return command + ["--no-index"] * uv.no_index + ["--offline"] * uv.offline


def _uv_variables(places: _Places, uv: UvSettings) -> dict[str, str]:
    """uv's whole environment. Addresses go here, not on the command line, where anyone can read their passwords."""
    theirs = {_PIP_VARIABLES[name]: value for name, value in uv.variables.items() if name in _PIP_VARIABLES}
    if "UV_FIND_LINKS" in theirs:
        theirs["UV_FIND_LINKS"] = ",".join(theirs["UV_FIND_LINKS"].split())
    theirs |= {name: value for name, value in uv.variables.items() if _PASSED_VARIABLES.fullmatch(name)}
    if uv.index_url is not None:
        theirs["UV_DEFAULT_INDEX"] = uv.index_url
    if uv.extra_index_urls:
        theirs["UV_INDEX"] = " ".join(uv.extra_index_urls)
    if uv.find_links:
        theirs["UV_FIND_LINKS"] = ",".join(uv.find_links)
    return theirs | {"PATH": "/usr/bin:/bin", "HOME": str(places.home)}


async def _follow(process: anyio.abc.Process, tell: Progress) -> str:
    """Everything uv said, bounded, telling its progress line by line."""
    assert process.stderr is not None
    output = pending = ""
    async for chunk in process.stderr:
        text = chunk.decode(errors="replace")
        output += text[: _OUTPUT_LIMIT_CHARS - len(output)]
        *lines, pending = (pending + text)[-_OUTPUT_LIMIT_CHARS:].split("\n")
        for line in lines:
            if line.lstrip().startswith(("Resolved", "Downloading", "Downloaded", "Prepared", "Installed")):
                tell(bounded(line, 200))
    return output


def _kill_group(process: anyio.abc.Process) -> None:
    # Only while uv is unreaped is the number of its group certain to be still its own.
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _failure(plan: _Plan, output: str, code: int) -> CellwrightError:
    """uv's own words, as an error sorted by who can act."""
    start = re.search(r"^\s*(error:|×)", output, re.MULTILINE)
    said = bounded(output[start.start() :] if start else output, _MESSAGE_LIMIT_CHARS)
    if re.search(r"No space left on device|Disk quota exceeded|os error 28\b", said):
        return Unavailable(f"The disk is full: {said}", hint="Make room, then open the notebook again.")
    if re.search(r"network was disabled|error sending request|Failed to fetch|dns error|timed out|Connection re", said):
        return Unavailable(
            f"The package index cannot be reached: {said}", hint="Check the network and the index, then try again."
        )
    ours = " and ".join(one for one in plan.requirements if re.match(r"(marimo|msgspec)==", one))
    if re.search(r"No solution found|Failed to resolve", said):
        return UserError(
            f"The notebook's packages cannot be installed together with Cellwright's {ours}: {said}",
            hint="Change `dependencies` in the notebook's header. Only wheels are installed: a source build would run "
            "code on this machine.",
        )
    if re.search(r"wheel is invalid|Failed to (install|download|extract)|(Couldn't|Failed to) parse", said):
        return UserError(
            f"A package of the notebook is broken: {said}", hint="Ask for another version in the notebook's header."
        )
    return Unavailable(f"uv ended with {code}: {said}", hint="Try again; the notebook was not opened.")


def _finish(places: _Places, plan: _Plan) -> None:
    """Makes the prefix a virtual environment and puts it in its place in one step."""
    prefix = places.workshop / "venv"
    try:
        _add_interpreter(prefix, plan.interpreter)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise UserError(
            f"A package of the notebook puts something else where {Path(str(error.filename)).name!r} belongs.",
            hint="Remove the package that is not a Python library from the notebook's header.",
        ) from error
    for script in (prefix / "bin").iterdir():
        _make_relocatable(script, plan.interpreter)
    record = {"requirements": plan.requirements, "python": plan.python, "platform": plan.platform}
    (places.workshop / "environment.json").write_text(json.dumps(record, indent=1) + "\n")
    (places.workshop / "last-used").touch()
    places.workshop.rename(places.finished)


def _add_interpreter(prefix: Path, interpreter: Path) -> None:
    # Whatever wheels put in these places is unlinked, never written to: its other name is in uv's cache.
    (prefix / ".lock").unlink(missing_ok=True)
    links = prefix / "bin"
    if links.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "a link", str(links))
    links.mkdir(exist_ok=True)
    links.chmod(0o755)
    for name in ("python", "python3", f"python{sys.version_info.major}.{sys.version_info.minor}"):
        (links / name).unlink(missing_ok=True)
        (links / name).symlink_to(interpreter)
    settings = prefix / "pyvenv.cfg"
    settings.unlink(missing_ok=True)
    settings.write_text(
        f"home = {interpreter.parent}\ninclude-system-site-packages = false\nversion = {PYTHON_VERSION}\n"
    )
    settings.chmod(0o644)


def _make_relocatable(script: Path, interpreter: Path) -> None:
    """Lets a console script find `python` beside itself: uv wrote our base interpreter, which lacks the packages."""
    first = f"#!{interpreter}\n".encode()
    if script.is_symlink() or not script.is_file():
        return
    content = script.read_bytes()
    if content.startswith(first):
        beside = b'#!/bin/sh\n\'\'\'exec\' "$(dirname -- "$(realpath -- "$0")")/python" "$0" "$@"\n\' \'\'\'\n'
        script.unlink()
        script.write_bytes(beside + content.removeprefix(first))
        script.chmod(0o755)


# --- words ----------------------------------------------------------------------------------------------------------


def _say_nothing(text: str) -> None:
    """Progress nobody asked for."""
