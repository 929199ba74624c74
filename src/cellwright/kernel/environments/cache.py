"""Kept environments: found again, held while they are used, removed when nobody wants them; one builder at a time."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.kernel.environments.plan import (
    Environment,
    EnvironmentPaths,
    EnvironmentPlan,
    PackageSource,
    environment_at,
)
from cellwright.kernel.environments.uv import Progress
from cellwright.sandbox.linux.descriptors import closing, opened


def find_environment(places: EnvironmentPaths, plan: EnvironmentPlan) -> Environment | None:
    """The finished environment, stamped as used now. A folder of that name is whole: it got there by rename."""
    environment = environment_at(places, plan, _source(places))
    if not environment.python.is_symlink() or not environment.site_packages.is_dir():
        return None
    try:
        _stamp(places.finished)
    except FileNotFoundError:
        return None
    return environment


def _source(places: EnvironmentPaths) -> PackageSource:
    try:
        match json.loads(places.record.read_bytes()):
            case {"source": "cache" | "installed" as source}:
                return source
            case _:
                return "index"
    except (OSError, ValueError):
        return "index"


@contextmanager
def hold_environment(environment: Environment) -> Generator[None]:
    """Keeps an environment from being pruned while a kernel uses it; ends with the process at the latest."""
    folder = environment.path.parent
    try:
        descriptor = os.open(folder / "in-use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _pruned(environment) from error
    with closing(descriptor):
        # After the lock, look again: the folder may have been moved away between open and lock.
        if not _try_lock(descriptor, fcntl.LOCK_SH) or not environment.python.is_symlink():
            raise _pruned(environment)
        yield
        _stamp(folder)


async def prune_environments(cache: Path, *, older_than: timedelta) -> tuple[str, ...]:
    """Removes environments that nobody holds or asked for in that time, and what killed builders left; says which."""
    return await anyio.to_thread.run_sync(_prune, cache, time.time() - older_than.total_seconds())


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
async def sole_builder(places: EnvironmentPaths, tell: Progress) -> AsyncGenerator[int]:
    """The right to build this environment, once nobody else has it: the descriptor of its lock."""
    descriptor = await anyio.to_thread.run_sync(_open_lock, places)
    with closing(descriptor):
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            tell("Waiting for another process that installs the same packages")
            while not _try_lock(descriptor, fcntl.LOCK_EX):  # noqa: ASYNC110  flock tells nobody when it opens
                await anyio.sleep(0.05)
        yield descriptor


def _open_lock(places: EnvironmentPaths) -> int:
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


def clear_environment(places: EnvironmentPaths) -> None:
    """Removes a half-built or damaged environment; only for whoever holds the builder's lock."""
    shutil.rmtree(places.workshop, ignore_errors=True)
    if places.finished.exists():
        places.finished.rename(places.workshop)
        shutil.rmtree(places.workshop, ignore_errors=True)


def _prune(cache: Path, before: float) -> tuple[str, ...]:
    folders = [*cache.glob("environments/*"), *cache.glob("building/*")]
    keys = sorted({folder.name for folder in folders})
    return tuple(key for key in keys if _prune_one(EnvironmentPaths(cache=cache, key=key), before))


def _prune_one(places: EnvironmentPaths, before: float) -> bool:
    """Whether the environment was there and was removed; leftovers of a dead builder always go."""
    builder = _open_lock(places)
    with closing(builder):
        if not _try_lock(builder, fcntl.LOCK_EX):
            return False
        shutil.rmtree(places.workshop, ignore_errors=True)
        with _if_unused(places.finished, before) as unused:
            if unused:
                clear_environment(places)
            return unused


@contextmanager
def _if_unused(folder: Path, before: float) -> Generator[bool]:
    """Whether nobody holds or lately used the environment, which stays so inside the block."""
    if not folder.is_dir():
        yield False
        return
    with opened(folder / "in-use", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC) as holders:
        yield _last_used(folder) < before and _try_lock(holders, fcntl.LOCK_EX)
