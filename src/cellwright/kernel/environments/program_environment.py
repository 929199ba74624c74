"""The environment of a program that is no notebook: the packages that are named for it, and nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.kernel.environments.additions import distributions_in
from cellwright.kernel.environments.build import build_environment, sole_builder
from cellwright.kernel.environments.interpreters import our_interpreter
from cellwright.kernel.environments.lookup import failures_told, find_environment
from cellwright.kernel.environments.plan import Environment, EnvironmentPlan
from cellwright.kernel.environments.uv import Progress, UvSettings


async def program_environment(
    packages: Sequence[str], *, cache: Path, uv: UvSettings, on_progress: Progress | None = None
) -> Environment:
    """The environment with these packages on our own Python: the kept one, or a new one.

    Raises `UserError` where the packages are at fault and `Unavailable` where trying again may help.
    """
    report = on_progress or (lambda text: None)
    with failures_told(cache, uv):
        home = Path(await anyio.Path(cache).absolute())
        await anyio.Path(home / "home").mkdir(parents=True, exist_ok=True, mode=0o700)
        plan = EnvironmentPlan(cache=home, requirements=tuple(sorted(packages)), interpreter=our_interpreter())
        with anyio.fail_after(uv.timeout_seconds):
            if found := await anyio.to_thread.run_sync(find_environment, plan):
                return found
            async with sole_builder(plan, report) as lock:
                if found := await anyio.to_thread.run_sync(find_environment, plan):
                    return found
                return await build_environment(plan, uv, lock, report)


def pinned_packages(environment: Environment) -> tuple[str, ...]:
    """All that is in it, each with its version: built of these, it is the same again. Blocking."""
    return tuple(
        f"{name}=={version}" for name, version in sorted(distributions_in([environment.site_packages]).items())
    )
