"""Profiles of data files, cached while the files stay the same.

They are read by a program in a cage that sees these files and nothing else, without a network.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from msgspec.structs import replace

from cellwright.data.files import DataFile
from cellwright.errors import Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.one_shot import run_one_shot_in_nothing
from cellwright.kernel.process.zygote import Zygote
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.profiles.data_search import DataSelection, mounts, rebase, search
from cellwright.profiles.profile import (
    MAX_BYTES,
    MOST_ROWS,
    Join,
    PairJoin,
    ParquetPlans,
    Profile,
    ProfileRequest,
    SkippedFile,
    TableProfile,
    question_json,
    read_plans,
    read_profile,
    with_paths,
    with_remarks,
)
from cellwright.sandbox.spec import DataMount, Limits, Tier
from cellwright_guest import wire

PROFILE_LIMITS: Final = Limits(memory_mb=4096, processes=128, open_files=2048, disk_mb=64, inodes=20_000, tmp_mb=1024)
_PROGRAM: Final = Path(wire.__file__).with_name("profiling") / "main.py"
_GRACE_SECONDS: Final = 20.0
"""Beyond its own deadline: the program has to load, and to end what it is at."""
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "HOME": "/home/cell", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCage:
    """Where profiles are made."""

    zygote: Zygote
    tier: Tier = "A"
    limits: Limits = field(default=PROFILE_LIMITS)

    async def profile(self, files: Sequence[DataMount], question: ProfileRequest) -> Profile:
        """What the files are. A file that takes its reader down is left out and named, the others are profiled.

        The targets of `files` are where the program finds them; the paths of `question` are of those.
        `Unavailable` if there is no cage to be had, or nothing could be read.
        """
        try:
            return await self._ask(files, question)
        except Unavailable as error:
            profiles = await self._one_by_one(files, question) if len(files) > 1 and self.zygote.is_alive else None
            if profiles is None:
                raise error from None
            return profiles

    async def plan(self, files: Sequence[DataMount], question: ProfileRequest) -> ParquetPlans:
        """What the footers of Parquet files say of which nothing else is there. `Unavailable` if no cage answers."""
        return read_plans(await self._answer(files, question))

    async def _ask(self, files: Sequence[DataMount], question: ProfileRequest) -> Profile:
        profile = read_profile(await self._answer(files, question))
        if any(table.reading.format == "connection" for table in profile.tables):
            raise Unavailable("What came out of the cage speaks of a database.", hint="Report it if it happens again.")
        return profile

    async def _answer(self, files: Sequence[DataMount], question: ProfileRequest) -> bytes:
        survey = question.survey_seconds * 1.5 if question.words is not None else 0
        seconds = question.seconds * 1.5 + survey + _GRACE_SECONDS
        return await run_one_shot_in_nothing(
            self.zygote,
            "profile",
            profiler_command(),
            question_json(question),
            most_bytes=MAX_BYTES,
            seconds=seconds,
            tier=self.tier,
            data=tuple(files),
            software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, *package_paths()])),
            limits=self.limits,
            environment=_ENVIRONMENT,
        )

    async def _one_by_one(self, files: Sequence[DataMount], question: ProfileRequest) -> Profile | None:
        """Which of them could not be borne, found out within the time there is; then the others once more, together.

        None if none could be.
        """
        until = time.monotonic() + question.seconds
        profiles: dict[DataMount, Profile] = {}
        lost: list[SkippedFile] = []
        for file in files:
            if time.monotonic() > until:
                lost.append(SkippedFile(path=file.target, why="there was no time left to read it"))
                continue
            alone = replace(question, paths=(file.target,), seconds=max(1.0, until - time.monotonic()))
            try:
                profiles[file] = await self._ask([file], alone)
            except Unavailable as error:
                lost.append(SkippedFile(path=file.target, why=f"reading it failed: {error.message}"))
        if not profiles:
            return None
        gone = {skipped.path for skipped in lost}
        rest = replace(question, paths=tuple(path for path in question.paths if path not in gone))
        profile = merge_profiles(list(profiles.values()))
        if lost:
            with suppress(Unavailable):
                profile = await self._ask(list(profiles), rest)
        return replace(profile, skipped=(*profile.skipped, *lost))


def merge_profiles(profiles: Sequence[Profile]) -> Profile:
    """Profiles that were made one by one as one; what is between their tables is not known."""
    tables: list[TableProfile] = []
    joins: list[Join] = []
    pairs: list[PairJoin] = []
    for profile in profiles:
        names = _free_names(profile.tables, {table.name for table in tables})
        tables += [replace(table, name=names[table.name]) for table in profile.tables]
        joins += [replace(join, left=names[join.left], right=names[join.right]) for join in profile.joins]
        pairs += [replace(pair, left=names[pair.left], right=names[pair.right]) for pair in profile.pair_joins]
    return Profile(
        tables=tuple(tables),
        joins=tuple(joins),
        pair_joins=tuple(pairs),
        skipped=tuple(skipped for profile in profiles for skipped in profile.skipped),
        notes=tuple(dict.fromkeys(note for profile in profiles for note in profile.notes)),
        shapes=tuple(shape for profile in profiles for shape in profile.shapes),
        others=tuple(other for profile in profiles for other in profile.others),
    )


def _free_names(tables: Sequence[TableProfile], taken: set[str]) -> Mapping[str, str]:
    names: dict[str, str] = {}
    for table in tables:
        name, number = table.name, 1
        while name in taken:
            number += 1
            name = f"{table.name}_{number}"
        names[table.name] = name
        taken.add(name)
    return names


def profiler_command() -> list[str]:
    """What is executed: our interpreter and packages, and nothing a person has set."""
    return [sys.executable, "-I", "-S", "-B", str(_PROGRAM), *package_paths()]


_MAX_CACHED_PROFILES: Final = 32
"""Profiles that are remembered, the latest asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLimits:
    """How closely to look."""

    most_rows: int = MOST_ROWS
    """Larger tables are sampled."""
    most_files: int = 60
    seconds: float = 60.0
    """It stops looking for more after so long, and says so."""
    words: tuple[str, ...] | None = None
    """What the goal is about: of more than `most_files` only those that speak of it are read closely, the others by
    shape. None: the first ones are read closely, and the others not at all."""


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
        return with_remarks(found, skipped=selection.skipped, notes=selection.notes, others=selection.others)

    async def read(self, selection: DataSelection, limits: ProfileLimits) -> Profile:
        """What these files are, nothing remembered: for files that are there for this once."""
        request = ProfileRequest(
            paths=tuple(file.target for file in selection.files),
            most_rows=limits.most_rows,
            most_files=limits.most_files,
            seconds=limits.seconds,
            words=limits.words,
        )
        cage = DataCage(zygote=await self.pool.zygote(), tier=self.tier)
        found = await cage.profile(mounts(selection.files), request)
        places = {file.target: file.place for file in selection.named}
        return with_paths(found, lambda path: rebase(path, places) or path)

    async def _cached(self, selection: DataSelection, limits: ProfileLimits) -> Profile:
        if len(selection.files) <= limits.most_files and limits.words is not None:
            # All are read closely, whatever the goal: one profile serves every goal.
            limits = dataclasses.replace(limits, words=None)
        stamps = await anyio.to_thread.run_sync(lambda: tuple(map(_stamp, selection.files)))
        key = (limits, tuple(selection.named), stamps)
        cached = _profile_cache()
        entry = cached.setdefault(key, _CachedProfile())
        cached.move_to_end(key)
        while len(cached) > _MAX_CACHED_PROFILES:
            cached.popitem(last=False)
        async with entry.making:
            if entry.profile is None:
                entry.profile = await self.read(selection, limits)
            return entry.profile


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
