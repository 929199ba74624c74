"""Profiles of data files, made in a cage without a network and cached while the files stay the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import anyio
import anyio.to_thread

from cellwright.analyst.data_search import DataSelection, mounts, rebase, search
from cellwright.analyst.profile import Profile, ProfileRequest, with_paths, with_remarks
from cellwright.data.files import DataFile
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.data_cage import DataCage
from cellwright.sandbox.spec import Tier

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiler:
    """Says what data files are; they are read at this tier and nowhere else."""

    pool: KernelPool
    tier: Tier

    async def profile(self, files: Iterable[DataFile], limits: ProfileLimits | None = None) -> Profile:
        """What these files, and the data files in these folders, are, each called by its `place`.

        `UserError` for one that is not there, `Unavailable` if no cage answers.
        """
        selection = await anyio.to_thread.run_sync(search, [*files])
        found = await self._cached(selection, limits or ProfileLimits()) if selection.files else Profile()
        return with_remarks(found, skipped=selection.skipped, notes=selection.notes)

    async def _cached(self, selection: DataSelection, limits: ProfileLimits) -> Profile:
        key = await anyio.to_thread.run_sync(_key, selection, limits)
        async with _profile_cache().entry(key) as entry:
            if entry.profile is None:
                entry.profile = await self._read(selection, limits)
            return entry.profile

    async def _read(self, selection: DataSelection, limits: ProfileLimits) -> Profile:
        request = ProfileRequest(
            paths=tuple(file.target for file in selection.named),
            most_rows=limits.most_rows,
            most_files=limits.most_files,
            seconds=limits.seconds,
        )
        cage = DataCage(zygote=await self.pool.zygote(), tier=self.tier)
        found = await cage.profile(mounts(selection.files), request)
        places = {file.target: file.place for file in selection.named}
        return with_paths(found, lambda path: rebase(path, places) or path)


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

    entries: OrderedDict[Hashable, _CachedProfile] = field(default_factory=OrderedDict[Hashable, _CachedProfile])

    @asynccontextmanager
    async def entry(self, key: Hashable) -> AsyncGenerator[_CachedProfile]:
        """The entry of this profile; only one at a time has it while it is empty."""
        entry = self.entries.setdefault(key, _CachedProfile())
        self.entries.move_to_end(key)
        while entry.profile is None and entry.is_free is not None:
            await entry.is_free.wait()
        if entry.profile is not None:
            yield entry
            return
        entry.is_free = anyio.Event()
        try:
            yield entry
        finally:
            entry.is_free.set()
            entry.is_free = None
            self._tidy()

    def _tidy(self) -> None:
        empty = [key for key, entry in self.entries.items() if entry.profile is None and entry.is_free is None]
        for key in empty:
            del self.entries[key]
        while len(self.entries) > _MAX_CACHED_PROFILES:
            self.entries.popitem(last=False)


@cache
def _profile_cache() -> _ProfileCache:
    return _ProfileCache()


def _key(selection: DataSelection, limits: ProfileLimits) -> Hashable:
    """Names these files exactly as they are now. Blocking."""
    return limits, tuple(selection.named), tuple(map(_stamp, selection.files))


def _stamp(file: DataFile) -> Hashable:
    try:
        found = file.source.stat()
    except OSError:
        return (file,)
    return (file, found.st_size, found.st_mtime_ns, found.st_ino)
