"""Environments: the packages a notebook asks for in its PEP 723 header, installed once and kept.

Nothing that came out of a wheel is run on the host: wheels only, no bytecode compilation, and the environment's
interpreter is never started here, because a `.pth` file runs at interpreter start. uv is told to use a *base*
interpreter (ours, or an installed one that the header asks for) and an empty prefix; `bin/python` is added last.
Whoever mounts an environment mounts it read-only.

Not here: starting anything inside an environment. That is for the cage.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.kernel.environments.build import build_environment
from cellwright.kernel.environments.interpreters import Interpreter, Pythons, allows, interpreter_for
from cellwright.kernel.environments.plan import Environment, EnvironmentPlan, PackageSource
from cellwright.kernel.environments.script_header import ScriptHeader, requirements_for
from cellwright.kernel.environments.uv import Progress, UvSettings
from cellwright.sandbox.linux.descriptors import closing

__all__ = ["Environment", "PackageSource", "UvSettings", "environment_for"]


async def environment_for(
    header: ScriptHeader,
    *,
    cache: Path,
    uv: UvSettings,
    pythons: Pythons | None = None,
    on_progress: Progress | None = None,
) -> Environment:
    """The environment for a header: the kept one, or a new one that appears whole or not at all.

    Raises `UserError` where the header is at fault and `Unavailable` where trying again may help. Several processes
    may ask for the same one at once: one builds, the others wait for it.
    """
    report = on_progress or (lambda text: None)
    try:
        home = Path(await anyio.Path(cache).absolute())
        interpreter = await _interpreter(header, home, uv, pythons or Pythons(), report)
        requirements = requirements_for(header, interpreter)
        plan = EnvironmentPlan(cache=home, requirements=requirements, interpreter=interpreter)
        with anyio.fail_after(uv.timeout_seconds):
            if found := await anyio.to_thread.run_sync(_find, plan):
                return found
            async with _sole_builder(plan, report) as lock:
                if found := await anyio.to_thread.run_sync(_find, plan):
                    return found
                return await build_environment(plan, uv, lock, report)
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


async def _interpreter(
    header: ScriptHeader, cache: Path, uv: UvSettings, pythons: Pythons, report: Progress
) -> Interpreter:
    await anyio.Path(cache / "home").mkdir(parents=True, exist_ok=True, mode=0o700)
    found = await interpreter_for(
        header.requires_python, pythons, home=cache / "home", cache=cache / "uv", uv=str(uv.binary or "")
    )
    if found != pythons.ours:
        report(f"Python {found.version}, because the notebook's header asks for {header.requires_python}")
    elif not allows(header.requires_python, found.version):
        report(f"Python {found.version} as you said, although the header asks for {header.requires_python}")
    return found


def _find(plan: EnvironmentPlan) -> Environment | None:
    """The finished environment, stamped as used now. A folder of that name is whole: it got there by rename."""
    environment = plan.environment(_source(plan))
    if not environment.python.is_symlink() or not environment.site_packages.is_dir():
        return None
    try:
        os.utime(plan.finished / "last-used")
    except FileNotFoundError:
        return None
    return environment


def _source(plan: EnvironmentPlan) -> PackageSource:
    try:
        match json.loads(plan.record.read_bytes()):
            case {"source": "cache" | "installed" as source}:
                return source
            case _:
                return "index"
    except (OSError, ValueError):
        return "index"


@asynccontextmanager
async def _sole_builder(plan: EnvironmentPlan, report: Progress) -> AsyncGenerator[int]:
    """The right to build this environment, once nobody else has it: the descriptor of its lock."""
    descriptor = await anyio.to_thread.run_sync(_open_lock, plan)
    with closing(descriptor):
        if not _try_lock(descriptor):
            report("Waiting for another process that installs the same packages")
            while not _try_lock(descriptor):  # noqa: ASYNC110  flock tells nobody when it opens
                await anyio.sleep(0.05)
        yield descriptor


def _open_lock(plan: EnvironmentPlan) -> int:
    (plan.cache / "environments").mkdir(parents=True, exist_ok=True)
    for folder in (plan.home, plan.build_directory.parent, plan.lock.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    return os.open(plan.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
