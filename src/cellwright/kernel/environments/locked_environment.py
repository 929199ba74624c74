"""Environments addressed by their lock: resolved afresh for each check, installed once, compared before every use.

A check asks the index each time what a header comes to today; the packages are installed only for a lock that nobody
had before. One that is in use is locked, and of the others the least recently used go when they take too much room.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import json
import os
import secrets
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.kernel.environments.build import build_environment, lacking_here, sole_builder
from cellwright.kernel.environments.installed_packages import NotInstalled
from cellwright.kernel.environments.interpreters import Pythons
from cellwright.kernel.environments.lookup import failures_told, plan_for
from cellwright.kernel.environments.manifest import is_as_built
from cellwright.kernel.environments.plan import Environment, EnvironmentPlan, PackageLock
from cellwright.kernel.environments.script_header import ScriptHeader
from cellwright.kernel.environments.uv import IndexUnreachable, Progress, UvInstaller, UvSettings
from cellwright.notebook.atomic_write import write_atomically
from cellwright.sandbox.linux.descriptors import closing
from cellwright.sandbox.private_directory import private_directory

_LOCK: Final = "lock.json"
_ASKED: Final = "asked-"
KEPT_BYTES: Final = 8 << 30
"""What environments of checks may take together, hard links counted as files of their own."""


@asynccontextmanager
async def locked_environment(
    header: ScriptHeader,
    *,
    cache: Path,
    uv: UvSettings,
    pythons: Pythons | None = None,
    on_progress: Progress | None = None,
    kept_bytes: int = KEPT_BYTES,
) -> AsyncGenerator[Environment]:
    """The environment that the header resolves to now, file by file as it was built; nobody removes it meanwhile.

    Raises as `environment_for` does.
    """
    report = on_progress or (lambda text: None)
    with failures_told(cache, uv), anyio.fail_after(uv.timeout_seconds):
        asked = await plan_for(header, cache=cache, uv=uv, pythons=pythons or Pythons(), report=report)
        plan, held = await _obtain(UvInstaller(plan=asked, uv=uv, report=report))
    with closing(held):
        with failures_told(cache, uv):
            await anyio.to_thread.run_sync(_note_asked, plan, asked)
        await anyio.to_thread.run_sync(make_room, plan, kept_bytes)
        yield plan.environment(plan.lock.source if plan.lock is not None else "index")


@asynccontextmanager
async def last_environment(
    header: ScriptHeader, *, cache: Path, uv: UvSettings, pythons: Pythons | None = None
) -> AsyncGenerator[Environment | None]:
    """The one this header came to when it was last resolved, file by file as it was built; None if it is not here."""
    with failures_told(cache, uv):
        asked = await plan_for(header, cache=cache, uv=uv, pythons=pythons or Pythons(), report=_say_nothing)
        plan = await anyio.to_thread.run_sync(_last_plan, asked)
        held = await _hold(plan, _say_nothing) if plan is not None else None
    if plan is None or plan.lock is None or held is None:
        yield None
        return
    with closing(held):
        yield plan.environment(plan.lock.source)


def _say_nothing(text: str) -> None:
    """What is only tried is not told."""


def _note_asked(plan: EnvironmentPlan, asked: EnvironmentPlan) -> None:
    """What came of what was asked for, noted beside the environment, so that both go together. Blocking."""
    assert plan.lock is not None
    if not (plan.finished / _LOCK).exists():
        write_atomically(plan.finished / _LOCK, json.dumps([plan.lock.source, plan.lock.text]).encode())
    (plan.finished / f"{_ASKED}{asked.key}").touch()


def _last_plan(asked: EnvironmentPlan) -> EnvironmentPlan | None:
    """Blocking."""
    notes = (asked.cache / "locked").glob(f"*/{_ASKED}{asked.key}")
    try:
        home = max(notes, key=lambda note: note.stat().st_mtime_ns).parent
        kept = json.loads((home / _LOCK).read_bytes())
    except (OSError, ValueError):
        return None
    match kept:
        case ["index" | "cache" | "installed" as source, str() as text]:
            plan = replace(asked, lock=PackageLock(text=text, source=source, cache=asked.cache / "uv"))
            # Whoever changed the lock has no environment by its name.
            return plan if plan.finished == home else None
        case _:
            return None


async def _obtain(installer: UvInstaller) -> tuple[EnvironmentPlan, int]:
    """By the index where it answers, else by what is here. Raises the index's own failure if that is not enough."""
    asked, caches, problem = installer.plan, installer.caches, None
    attempts = [(caches[0], False)] * (not installer.uv.is_offline) + [(one, True) for one in caches]
    for cache, is_offline in attempts:
        try:
            lock = await _resolve(installer, cache, is_offline=is_offline)
            return replace(asked, lock=lock), await _hold_or_build(replace(asked, lock=lock), installer)
        except IndexUnreachable as error:
            problem = problem or error
            if not is_offline:
                installer.report("The package index cannot be reached: looking on this machine")
        except UserError as error:
            if not is_offline:
                raise
            problem = problem or error
    plan = replace(asked, lock=await anyio.to_thread.run_sync(_installed_lock, installer))
    try:
        return plan, await _hold_or_build(plan, installer)
    except NotInstalled as missing:
        raise lacking_here(missing, problem) from missing


async def _resolve(installer: UvInstaller, cache: Path, *, is_offline: bool) -> PackageLock:
    installer.report(f"packages: resolving {len(installer.plan.requirements)} requirements")
    with private_directory("resolve") as folder:
        requirements = folder / "requirements.in"
        await anyio.Path(requirements).write_text("\n".join(installer.plan.requirements) + "\n")
        text = await installer.resolve(requirements, cache, is_offline=is_offline)
    return PackageLock(text=text, source="cache" if is_offline else "index", cache=cache)


def _installed_lock(installer: UvInstaller) -> PackageLock:
    """What is installed with us stands for what will be taken of it."""
    ours = sorted(f"{one.name}=={one.version}" for one in importlib.metadata.distributions() if one.name)
    text = "\n".join([*installer.plan.requirements, "# of:", *ours])
    return PackageLock(text=text, source="installed", cache=installer.caches[0])


async def _hold_or_build(plan: EnvironmentPlan, installer: UvInstaller) -> int:
    """A descriptor under which nobody removes the environment, which is there and as it was built."""
    if (held := await _hold(plan, installer.report)) is not None:
        return held
    async with sole_builder(plan, installer.report) as lock:
        if (held := await _hold(plan, installer.report)) is not None:
            return held
        await build_environment(plan, installer.uv, lock, installer.report)
        held = await _hold(plan, lambda text: None)
    if held is None:
        raise Unavailable("The notebook's packages changed while they were installed.", hint="Try again.")
    return held


async def _hold(plan: EnvironmentPlan, report: Progress) -> int | None:
    # Shielded: a descriptor nobody takes would keep the environment for as long as this process lives.
    with anyio.CancelScope(shield=True):
        held = await anyio.to_thread.run_sync(_open_kept, plan)
        if held is None or await anyio.to_thread.run_sync(is_as_built, plan.finished, plan.key):
            if held is not None:
                report("packages: kept from an earlier check, and as they were built")
            return held
        os.close(held)
    report("packages: what was kept from an earlier check was changed since; it is built anew")
    return None


def _open_kept(plan: EnvironmentPlan) -> int | None:
    use = plan.finished / "last-used"
    try:
        held = os.open(use, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        # Whoever removed it had the lock before us; its name then means another one, or nothing.
        if os.path.samestat(os.fstat(held), use.stat()):
            os.utime(use)
            return held
    except OSError:
        pass
    os.close(held)
    return None


def make_room(plan: EnvironmentPlan, kept_bytes: int) -> None:
    """Remove the least recently used until the rest takes no more than this; never one that is in use. Blocking."""
    for left in plan.build_directory.parent.glob("removed-*"):
        shutil.rmtree(left, ignore_errors=True)
    kept = [(use.stat().st_mtime_ns, use.parent, _size(use.parent)) for use in plan.finished.parent.glob("*/last-used")]
    total = sum(size for _, _, size in kept)
    for _, home, size in sorted(kept):
        if total <= kept_bytes:
            return
        if _remove(home, plan.build_directory.parent):
            total -= size


def _size(home: Path) -> int:
    try:
        return int(json.loads((home / "environment.json").read_bytes())["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _remove(home: Path, graveyard: Path) -> bool:
    """Out of its place in one step, while nobody uses it; whether that was so."""
    try:
        held = os.open(home / "last-used", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    with closing(held):
        gone = graveyard / f"removed-{secrets.token_hex(8)}"
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            home.rename(gone)
        except OSError:
            return False
    shutil.rmtree(gone, ignore_errors=True)
    return True
