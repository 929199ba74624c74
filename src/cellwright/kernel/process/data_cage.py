"""Profiles of data files: read by a program in a cage that sees these files and nothing else, without a network."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from cellwright.analyst.profile import (
    MAX_BYTES,
    Join,
    Profile,
    ProfileRequest,
    SkippedFile,
    TableProfile,
    question_json,
    read_profile,
)
from cellwright.errors import Unavailable
from cellwright.kernel.process.one_shot import run_one_shot
from cellwright.kernel.process.provisioner import CAGE_UID
from cellwright.kernel.process.zygote import Zygote, package_paths
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import CageSpec, DataMount, Limits, Tier
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

    async def _ask(self, files: Sequence[DataMount], question: ProfileRequest) -> Profile:
        seconds = question.seconds * 1.5 + _GRACE_SECONDS
        with private_directory("profile") as nowhere:
            spec = _spec(nowhere, files, tier=self.tier, limits=self.limits)
            data = await run_one_shot(
                self.zygote, spec, profiler_command(), question_json(question), most_bytes=MAX_BYTES, seconds=seconds
            )
        return read_profile(data)

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
        together = await self._together(list(profiles), rest) if lost else None
        profile = together or merge_profiles(list(profiles.values()))
        return replace(profile, skipped=(*profile.skipped, *lost))

    async def _together(self, files: Sequence[DataMount], question: ProfileRequest) -> Profile | None:
        try:
            return await self._ask(files, question)
        except Unavailable:
            return None


def merge_profiles(profiles: Sequence[Profile]) -> Profile:
    """Profiles that were made one by one as one; what is between their tables is not known."""
    tables: list[TableProfile] = []
    joins: list[Join] = []
    for profile in profiles:
        names = _free_names(profile.tables, {table.name for table in tables})
        tables += [replace(table, name=names[table.name]) for table in profile.tables]
        joins += [replace(join, left=names[join.left], right=names[join.right]) for join in profile.joins]
    return Profile(
        tables=tuple(tables),
        joins=tuple(joins),
        skipped=tuple(skipped for profile in profiles for skipped in profile.skipped),
        notes=tuple(dict.fromkeys(note for profile in profiles for note in profile.notes)),
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


def _spec(nowhere: Path, files: Sequence[DataMount], *, tier: Tier, limits: Limits) -> CageSpec:
    """A cage with an empty project in which the files stand, read-only."""
    return CageSpec(
        name=f"cellwright-profile-{os.getpid()}",
        tier=tier,
        project=str(nowhere),
        files="drop",
        data=tuple(files),
        software=tuple(dict.fromkeys([sys.base_prefix, sys.prefix, *package_paths()])),
        limits=limits,
        uid=CAGE_UID,
        environment=_ENVIRONMENT,
        protected=(),
    )


def profiler_command() -> list[str]:
    """What is executed: our interpreter and packages, and nothing a person has set."""
    return [sys.executable, "-I", "-S", "-B", str(_PROGRAM), *package_paths()]
