"""Environments: the packages a notebook asks for in its PEP 723 header, installed once and kept."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.kernel.environments.build import build_environment, sole_builder
from cellwright.kernel.environments.installed_packages import satisfies_all
from cellwright.kernel.environments.interpreters import Interpreter, Pythons, allows, interpreter_for, is_ours_allowed
from cellwright.kernel.environments.plan import Environment, EnvironmentPlan, PackageSource
from cellwright.kernel.environments.script_header import ScriptHeader, requirements_for
from cellwright.kernel.environments.uv import Progress, UvSettings

__all__ = ["Environment", "PackageSource", "UvSettings", "environment_for"]


def is_satisfied_by_ours(header: ScriptHeader, pythons: Pythons) -> bool:
    """Whether Cellwright's own Python and packages are what the header asks for: then it needs no other. Blocking.

    There is more than it asks for, which a check would not let pass: that has an environment of nothing else.
    """
    return is_ours_allowed(header.requires_python, pythons) and satisfies_all(requirements_for(header, pythons.ours))


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
    with failures_told(cache, uv):
        plan = await plan_for(header, cache=cache, uv=uv, pythons=pythons or Pythons(), report=report)
        with anyio.fail_after(uv.timeout_seconds):
            if found := await anyio.to_thread.run_sync(find_environment, plan):
                return found
            async with sole_builder(plan, report) as lock:
                if found := await anyio.to_thread.run_sync(find_environment, plan):
                    return found
                return await build_environment(plan, uv, lock, report)


async def plan_for(
    header: ScriptHeader, *, cache: Path, uv: UvSettings, pythons: Pythons, report: Progress
) -> EnvironmentPlan:
    """What this header asks for, here."""
    home = Path(await anyio.Path(cache).absolute())
    interpreter = await _interpreter(header, home, uv, pythons, report)
    return EnvironmentPlan(cache=home, requirements=requirements_for(header, interpreter), interpreter=interpreter)


@contextmanager
def failures_told(cache: Path, uv: UvSettings) -> Generator[None]:
    """What goes wrong with clock and disk meanwhile, as `Unavailable`."""
    try:
        yield
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


def find_environment(plan: EnvironmentPlan) -> Environment | None:
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
