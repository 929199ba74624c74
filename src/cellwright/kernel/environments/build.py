"""Building an environment: packages out of wheels in a new folder, which is put in its place by one rename.

Nothing that came out of a wheel is run on the host: wheels only, no bytecode compilation, and the environment's
interpreter is never started here, because a `.pth` file runs at interpreter start. uv is told to use a *base*
interpreter (ours, or an installed one that the header asks for) and an empty prefix; `bin/python` is added last.
Whoever mounts an environment mounts it read-only, so each kernel would compile every module again, and nothing out
of a wheel is compiled on the host: where it has the very same files as we do, it gets the bytecode of ours.

It is built from an empty prefix, packages, that bytecode, the interpreter last, then one rename. Packages come from the
index; while that cannot be reached, from uv's cache, and last from what is installed with us.

Not here: starting anything inside an environment. That is for the cage.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.metadata
import importlib.util
import json
import os
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from packaging.utils import canonicalize_name

from cellwright.errors import CellwrightError, Defect, Unavailable, UserError
from cellwright.kernel.environments.installed_packages import (
    NotInstalled,
    installed_distributions,
    link_distribution,
    missing_distributions,
    open_to_all,
)
from cellwright.kernel.environments.interpreters import Interpreter
from cellwright.kernel.environments.manifest import write_manifest
from cellwright.kernel.environments.plan import Environment, EnvironmentPlan, PackageLock, PackageSource
from cellwright.kernel.environments.script_header import bounded
from cellwright.kernel.environments.uv import IndexUnreachable, Progress, UvInstaller, UvSettings
from cellwright.remedies import hint_after
from cellwright.sandbox.linux.descriptors import closing

_HEADER_BYTES: Final = 16
# By PEP 552: bytecode that goes by a hash of its source, which nobody need check. A time would not fit: each of the
# two files has its own.
_UNCHECKED_HEADER: Final = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
_NEVER_IMPORTED: Final = frozenset({"tests", "testing"})


def lend_bytecode(site_packages: Path) -> int:
    """Give an environment of our own Python the bytecode that we have for its files; for how many. Blocking."""
    return sum(
        _lend(ours, site_packages)
        for theirs in importlib.metadata.distributions(path=[str(site_packages)])
        if (ours := _of_ours(theirs)) is not None
    )


def _of_ours(theirs: Distribution) -> Distribution | None:
    if "Name" not in theirs.metadata or not theirs.metadata["Name"]:
        return None
    try:
        ours = importlib.metadata.distribution(theirs.metadata["Name"])
    except importlib.metadata.PackageNotFoundError:
        return None
    return ours if ours.version == theirs.version else None


def _lend(ours: Distribution, site_packages: Path) -> int:
    lent = 0
    for file in ours.files or ():
        if file.suffix != ".py" or ".." in file.parts or not _NEVER_IMPORTED.isdisjoint(file.parts):
            continue
        source, copy = Path(str(file.locate())), site_packages / file
        bytecode = _read_plain_file(Path(importlib.util.cache_from_source(str(source))))
        if (
            bytecode.startswith(importlib.util.MAGIC_NUMBER)
            and _read_plain_file(copy) == _read_plain_file(source) != b""
        ):
            target = Path(importlib.util.cache_from_source(str(copy)))
            if target.parent.is_symlink() or target.parent.is_file() or target.is_dir():
                continue
            target.parent.mkdir(exist_ok=True)
            target.parent.chmod(0o755)
            # A wheel may bring its own, whose other name is in uv's cache.
            target.unlink(missing_ok=True)
            target.write_bytes(_UNCHECKED_HEADER + bytecode[_HEADER_BYTES:])
            target.chmod(0o644)
            lent += 1
    return lent


def _read_plain_file(path: Path) -> bytes:
    """Nothing where there is no plain file."""
    return path.read_bytes() if path.is_file() and not path.is_symlink() else b""


async def build_environment(plan: EnvironmentPlan, uv: UvSettings, lock: int, report: Progress) -> Environment:
    """A new environment, in its place whole or not at all; only for the sole builder, who holds `lock`."""
    try:
        await anyio.to_thread.run_sync(_prepare, plan)
        report(f"Installing {len(plan.requirements)} requirements: {bounded(', '.join(plan.requirements), 200)}")
        installer = UvInstaller(plan=plan, uv=uv, lock=lock, report=report)
        source = await (_fill(installer) if plan.lock is None else _fill_locked(installer, plan.lock))
        await anyio.to_thread.run_sync(_finish, plan, source)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(plan.build_directory, ignore_errors=True))
    return plan.environment(source)


async def _fill_locked(installer: UvInstaller, lock: PackageLock) -> PackageSource:
    """Install what the lock names, each file by its hash. Raises `NotInstalled` where that is here no longer."""
    if lock.source == "installed":
        await _gather(installer)
    else:
        requirements = installer.plan.build_directory / "requirements.txt"
        await installer.install(requirements, lock.cache, is_offline=lock.source == "cache", is_locked=True)
    return lock.source


async def _fill(installer: UvInstaller) -> PackageSource:
    """Install the packages; where from. Raises the index's own failure if nothing else has them either."""
    requirements, caches = installer.plan.build_directory / "requirements.txt", installer.caches
    problem: CellwrightError | None = None
    if not installer.uv.is_offline:
        try:
            await installer.install(requirements, caches[0], is_offline=False)
        except IndexUnreachable as error:
            problem = error
            installer.report("The package index cannot be reached: looking on this machine")
        else:
            return "index"
    for cache in caches:
        await anyio.to_thread.run_sync(_prepare, installer.plan)
        try:
            await installer.install(requirements, cache, is_offline=True)
        except (IndexUnreachable, UserError) as error:
            problem = problem or error
        else:
            return "cache"
    await anyio.to_thread.run_sync(_prepare, installer.plan)
    try:
        await _gather(installer)
    except NotInstalled as missing:
        raise lacking_here(missing, problem) from missing
    return "installed"


def lacking_here(missing: NotInstalled, problem: CellwrightError | None) -> CellwrightError:
    """Why an environment is not to be had: what kept the index from giving it, and what this machine lacks."""
    if not isinstance(problem, IndexUnreachable):
        return problem or Defect("No cache was looked into.")
    lacks = f"Without an index this machine lacks {bounded(str(missing), 200)}."
    return Unavailable(problem.message, hint=hint_after(lacks, problem.advice))


async def _gather(installer: UvInstaller) -> None:
    """Link what is installed with us, and take the rest from uv's caches, until nothing is lacking."""
    interpreter = installer.plan.interpreter
    if not installer.plan.is_for_our_python:
        raise NotInstalled(f"packages for Python {interpreter.version}")
    prefix = installer.plan.build_directory / "venv"
    packages = prefix / interpreter.site_packages
    while wanted := await anyio.to_thread.run_sync(missing_distributions, packages, installer.plan.requirements):
        ours = await anyio.to_thread.run_sync(installed_distributions, wanted)
        names = {canonicalize_name(distribution.name) for distribution in ours}
        # First what may not be had: linking takes longer than finding that out.
        for name, requirements in wanted.items():
            if name not in names:
                await _take_from_cache(installer, [str(one) for one in requirements])
        for distribution in ours:
            await anyio.to_thread.run_sync(link_distribution, distribution, prefix, packages, interpreter.executable)
    await anyio.to_thread.run_sync(open_to_all, prefix)
    installer.report(f"Made of what is installed here: {', '.join(installer.plan.requirements)}")


async def _take_from_cache(installer: UvInstaller, requirements: Sequence[str]) -> None:
    """One distribution, without what it needs in turn: that may be installed with us."""
    file = installer.plan.build_directory / "one.txt"
    await anyio.to_thread.run_sync(file.write_text, "\n".join(requirements) + "\n")
    try:
        for cache in installer.caches:
            with suppress(IndexUnreachable, UserError):
                return await installer.install(file, cache, is_offline=True, has_dependencies=False)
    finally:
        await anyio.to_thread.run_sync(file.unlink)
    raise NotInstalled(" and ".join(requirements))


def _prepare(plan: EnvironmentPlan) -> None:
    shutil.rmtree(plan.build_directory, ignore_errors=True)
    if plan.finished.exists():
        # A damaged one: out of its place in one step, and gone with what a killed builder left.
        plan.finished.rename(plan.build_directory)
        shutil.rmtree(plan.build_directory, ignore_errors=True)
    prefix = plan.build_directory / "venv"
    prefix.mkdir(parents=True)
    # A kernel may run under another user, whatever umask we have.
    for folder in (plan.build_directory, prefix):
        folder.chmod(0o755)
    if (libraries := plan.interpreter.platlibdir) != "lib":
        (prefix / libraries).symlink_to("lib")
    wanted = plan.lock.text if plan.lock is not None else "\n".join(plan.requirements) + "\n"
    (plan.build_directory / "requirements.txt").write_text(wanted)


def _finish(plan: EnvironmentPlan, source: PackageSource) -> None:
    """Makes the prefix a virtual environment and puts it in its place in one step."""
    prefix = plan.build_directory / "venv"
    try:
        _add_interpreter(prefix, plan.interpreter)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise UserError(
            f"A package of the notebook puts something else where {Path(str(error.filename)).name!r} belongs.",
            hint="Remove the package that is not a Python library from the notebook's header.",
        ) from error
    for script in (prefix / "bin").iterdir():
        _make_relocatable(script, plan.interpreter.executable)
    if plan.is_for_our_python:
        lend_bytecode(prefix / plan.interpreter.site_packages)
    # A check trusts nothing that it cannot compare.
    size = write_manifest(plan.build_directory, plan.key) if plan.lock is not None else None
    record = {
        "requirements": plan.requirements,
        "python": plan.python,
        "platform": plan.interpreter.platform,
        "source": source,
        "bytes": size,
    }
    (plan.build_directory / plan.record.name).write_text(json.dumps(record, indent=1) + "\n")
    (plan.build_directory / "last-used").touch()
    plan.build_directory.rename(plan.finished)


def _add_interpreter(prefix: Path, interpreter: Interpreter) -> None:
    # Whatever wheels put there is unlinked, never written to: its other name is in uv's cache.
    (prefix / ".lock").unlink(missing_ok=True)
    links = prefix / "bin"
    if links.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "a link", str(links))
    links.mkdir(exist_ok=True)
    links.chmod(0o755)
    for name in ("python", "python3", f"python{interpreter.short_version}"):
        (links / name).unlink(missing_ok=True)
        (links / name).symlink_to(interpreter.executable)
    settings = prefix / "pyvenv.cfg"
    settings.unlink(missing_ok=True)
    settings.write_text(
        f"home = {interpreter.executable.parent}\ninclude-system-site-packages = false\n"
        f"version = {interpreter.version}\n"
    )
    settings.chmod(0o644)


def _make_relocatable(script: Path, interpreter: Path) -> None:
    """Lets a console script find `python` beside itself: uv wrote the base interpreter, which lacks the packages."""
    first = f"#!{interpreter}\n".encode()
    if script.is_symlink() or not script.is_file():
        return
    content = script.read_bytes()
    if content.startswith(first):
        beside = b'#!/bin/sh\n\'\'\'exec\' "$(dirname -- "$(realpath -- "$0")")/python" "$0" "$@"\n\' \'\'\'\n'
        script.unlink()
        script.write_bytes(beside + content.removeprefix(first))
        script.chmod(0o755)


@asynccontextmanager
async def sole_builder(plan: EnvironmentPlan, report: Progress) -> AsyncGenerator[int]:
    """The right to build this environment, once nobody else has it: the descriptor of its lock."""
    descriptor = await anyio.to_thread.run_sync(_open_lock, plan)
    with closing(descriptor):
        if not _try_lock(descriptor):
            report("Waiting for another process that installs the same packages")
            while not _try_lock(descriptor):  # noqa: ASYNC110  flock tells nobody when it opens
                await anyio.sleep(0.05)
        yield descriptor


def _open_lock(plan: EnvironmentPlan) -> int:
    plan.finished.parent.mkdir(parents=True, exist_ok=True)
    for folder in (plan.home, plan.build_directory.parent, plan.lock_file.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    return os.open(plan.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
