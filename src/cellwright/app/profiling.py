"""Profiles of the data a person or a run names.

In one cage without a network, and cached while the files stay the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

import anyio
import anyio.to_thread

from cellwright.analyst.profile import Profile, ProfileRequest, with_paths, with_remarks
from cellwright.app.data_selection import (
    DataSelection,
    ProfileInput,
    is_data_file,
    profile_mounts,
    select_data,
    shown_path,
)
from cellwright.app.notebooks import contained, open_pool
from cellwright.kernel import KernelPool
from cellwright.kernel.process.data_cage import DataCage
from cellwright.sandbox import Tier, probe
from cellwright.settings import Settings
from cellwright.tools.project_files import ProjectFiles

_MAX_CACHED_PROFILES: Final = 32
"""Profiles that are remembered, the latest asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLimits:
    """How closely to look."""

    most_rows: int = 200_000
    """Larger tables are sampled."""
    most_files: int = 60
    seconds: float = 60.0
    """It stops looking for more after so long, and says so."""


async def profile_paths(
    paths: Sequence[str | Path],
    *,
    folder: Path | None = None,
    effort: ProfileLimits | None = None,
    tier: Tier | None = None,
    allow_uncontained: bool = False,
    pool: KernelPool | None = None,
    settings: Settings | None = None,
) -> Profile:
    """What these files, and the data files in these folders, are; paths are relative to `folder`, or to where we stand.

    `UserError` for a path that is not there, `RefusedByPolicy` where nothing can contain a reader (tier D), unless
    `allow_uncontained` says otherwise, `Unavailable` if no cage answers.
    """
    stand = folder or Path()
    named = [(stand / path, Path(path).as_posix()) for path in paths]
    tier = contained(tier, await anyio.to_thread.run_sync(probe), allow_uncontained=allow_uncontained)
    return await profile_named(named, effort=effort, tier=tier, pool=pool, settings=settings)


async def profile_named(
    named: Iterable[tuple[Path, str]],
    *,
    tier: Tier,
    effort: ProfileLimits | None = None,
    pool: KernelPool | None = None,
    settings: Settings | None = None,
) -> Profile:
    """The same, of places under names of their own, such as those a notebook's code has; at a tier that was allowed."""
    chosen = await anyio.to_thread.run_sync(select_data, list(named))
    return await profile_selection(chosen, tier=tier, effort=effort, pool=pool, settings=settings)


async def profile_selection(
    chosen: DataSelection,
    *,
    tier: Tier,
    effort: ProfileLimits | None = None,
    pool: KernelPool | None = None,
    settings: Settings | None = None,
) -> Profile:
    """The same, of files that were chosen already."""
    effort = effort or ProfileLimits()
    found = Profile()
    if chosen.files:
        key = await anyio.to_thread.run_sync(_key, chosen, effort)
        found = await _profile(chosen, effort, key, tier, pool, settings)
    return with_remarks(found, skipped=chosen.skipped, notes=chosen.notes)


async def _profile(
    chosen: DataSelection,
    effort: ProfileLimits,
    key: Hashable,
    tier: Tier,
    pool: KernelPool | None,
    settings: Settings | None,
) -> Profile:
    async with _profile_cache().place(key) as place:
        if place.profile is None:
            mounts, asked, names = profile_mounts(chosen)
            question = ProfileRequest(
                paths=asked, most_rows=effort.most_rows, most_files=effort.most_files, seconds=effort.seconds
            )
            async with _pool(pool, settings) as own_pool:
                cage = DataCage(zygote=await own_pool.zygote(), tier=tier)
                told = await cage.profile(mounts, question)
            place.profile = with_paths(told, lambda path: shown_path(path, names))
        return place.profile


@asynccontextmanager
async def _pool(pool: KernelPool | None, settings: Settings | None) -> AsyncGenerator[KernelPool]:
    if pool is not None:
        yield pool
        return
    async with open_pool(settings) as own:
        yield own


# ── never twice ──


@dataclass(slots=True)
class _CachedProfile:
    """Where a profile is put, once it is there."""

    profile: Profile | None = None
    is_free: anyio.Event | None = None
    """Set when whoever makes the profile is done with it; None: nobody does."""


@dataclass(slots=True)
class _ProfileCache:
    """The latest profiles of this process, by what they are of."""

    places: OrderedDict[Hashable, _CachedProfile] = field(default_factory=OrderedDict[Hashable, _CachedProfile])

    @asynccontextmanager
    async def place(self, key: Hashable) -> AsyncGenerator[_CachedProfile]:
        """The place of this profile; only one at a time has it while it is empty."""
        place = self.places.setdefault(key, _CachedProfile())
        self.places.move_to_end(key)
        while place.profile is None and place.is_free is not None:
            await place.is_free.wait()
        if place.profile is not None:
            yield place
            return
        place.is_free = anyio.Event()
        try:
            yield place
        finally:
            place.is_free.set()
            place.is_free = None
            self._tidy()

    def _tidy(self) -> None:
        empty = [key for key, place in self.places.items() if place.profile is None and place.is_free is None]
        for key in empty:
            del self.places[key]
        while len(self.places) > _MAX_CACHED_PROFILES:
            self.places.popitem(last=False)


@cache
def _profile_cache() -> _ProfileCache:
    return _ProfileCache()


def _key(chosen: DataSelection, effort: ProfileLimits) -> Hashable:
    """Names these files exactly as they are now. Blocking."""
    return (effort, tuple((root.shown, tuple(map(_stamp, root.files))) for root in chosen.roots))


def _stamp(file: ProfileInput) -> Hashable:
    try:
        found = file.source.stat()
    except OSError:
        return (file.shown, file.source)
    return (file.shown, file.source, found.st_size, found.st_mtime_ns, found.st_ino)


_MAX_DEPTH: Final = 4
_MAX_FILES: Final = 200
_AMBIGUOUS_SUFFIXES: Final = frozenset({".json", ".txt", ".dat", ".db"})
"""In a project such a file is a setting, a note or a cache more often than data: it has to be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CagedDataReader:
    """Looks at data through a cage of its own for each question."""

    project: ProjectFiles
    pool: KernelPool
    settings: Settings
    tier: Tier

    async def data_files(self) -> tuple[Path, ...]:
        """The project's own data files, a bounded number."""
        return await anyio.to_thread.run_sync(project_data_files, self.project)

    async def profile(self, named: Sequence[tuple[Path, str]]) -> Profile:
        """What these files and folders are, under these names. Raises `UserError`, `Unavailable`."""
        return await profile_named(named, tier=self.tier, pool=self.pool, settings=self.settings)


def project_data_files(project: ProjectFiles) -> tuple[Path, ...]:
    """The data files of a project. Blocking."""
    found = (entry.path for entry in project.walk(project.root, depth=_MAX_DEPTH) if not entry.is_folder)
    return tuple(project.root / path for path in islice(filter(_is_likely, found), _MAX_FILES))


def _is_likely(path: str) -> bool:
    parts = PurePosixPath(path)
    is_hidden = any(part.startswith(".") for part in parts.parts)
    return not is_hidden and parts.suffix.lower() not in _AMBIGUOUS_SUFFIXES and is_data_file(parts.name)
