"""Profiles of data files, made in a cage without a network and cached while the files stay the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
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
        stamps = await anyio.to_thread.run_sync(lambda: tuple(map(_stamp, selection.files)))
        key = (limits, tuple(selection.named), stamps)
        cached = _profile_cache()
        entry = cached.setdefault(key, _CachedProfile())
        cached.move_to_end(key)
        while len(cached) > _MAX_CACHED_PROFILES:
            cached.popitem(last=False)
        async with entry.making:
            if entry.profile is None:
                entry.profile = await self._read(selection, limits)
            return entry.profile

    async def _read(self, selection: DataSelection, limits: ProfileLimits) -> Profile:
        request = ProfileRequest(
            paths=tuple(file.target for file in selection.files),
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
    """Where a profile is put, once it is there; one at a time makes it, the others wait."""

    making: anyio.Lock = field(default_factory=anyio.Lock)
    profile: Profile | None = None


@cache
def _profile_cache() -> OrderedDict[Hashable, _CachedProfile]:
    """The latest profiles of this process, by what they are of."""
    return OrderedDict()


def _stamp(file: DataFile) -> Hashable:
    """Names this file exactly as it is now. Blocking."""
    try:
        found = file.source.stat()
    except OSError:
        return (file,)
    return (file, found.st_size, found.st_mtime_ns, found.st_ino)
