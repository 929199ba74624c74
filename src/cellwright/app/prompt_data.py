"""What an agent sees of a studio without asking: a profile of its data, and what its code may use."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

import anyio
import anyio.to_thread

from cellwright.agents.prompt.context_providers import ContextProvider, DataContext, NamedData, limits_text
from cellwright.analyst.profile import Profile
from cellwright.app.data_selection import is_data_file
from cellwright.app.notebooks import data_mounts
from cellwright.app.profiling import ProfileLimits, profile_named
from cellwright.app.toolset import ToolContext
from cellwright.errors import CellwrightError

_log = logging.getLogger(__name__)
_MAX_DEPTH: Final = 4
_MAX_FILES: Final = 200
_MAX_PROFILED_FILES: Final = 12
"""Files of the project that are profiled; the others are named."""
_PROFILE_LIMITS: Final = ProfileLimits(most_rows=100_000, most_files=40, seconds=12)
_PROFILE_TIMEOUT_SECONDS: Final = 45
_UNCONTAINED: Final = """\
Nothing contains the notebook's code here (tier D): it can do whatever the person can.
- network: nobody can be asked about hosts, so reach none: no downloads, no APIs, no `pip install`
- files: use those of the project and nothing else
- no browser, no display, no input(): nobody is there to type"""


async def data_sights(bench: ToolContext) -> list[ContextProvider]:
    """The project's data files and data from elsewhere, profiled as they are now; none where there is no data."""
    named, others = await anyio.to_thread.run_sync(lambda: _named(bench))
    return [DataContext(named, _LatestProfile(bench, named).latest, others=others)] if named else []


class _LatestProfile:
    """The profile of a studio's data as long as one can be had in time: an agent neither waits for it nor fails."""

    def __init__(self, bench: ToolContext, named: Sequence[NamedData]) -> None:
        self._bench = bench
        self._named = tuple(named)
        self._is_given_up = False

    async def latest(self) -> Profile | None:
        """As the files are now; None once it has failed: it would fail, and cost as much, in every step."""
        if self._is_given_up:
            return None
        bench = self._bench
        places = await anyio.to_thread.run_sync(self._places)
        try:
            with anyio.fail_after(_PROFILE_TIMEOUT_SECONDS):
                return await profile_named(places, effort=_PROFILE_LIMITS, tier=bench.tier, pool=bench.pool)
        except (CellwrightError, TimeoutError) as error:
            _log.info("No profile of the data: %s", error)
            self._is_given_up = True
            return None

    def _places(self) -> list[tuple[Path, str]]:
        return [(each.source, each.shown) for each in self._named if each.source.exists()]


def describe_limits(bench: ToolContext) -> str:
    """What the notebook's code may use, said before it fails."""
    if bench.tier == "D":
        return _UNCONTAINED
    hosts = ["hosts that are approved; a cell that wants another fails, and leave for it is asked"]
    return limits_text(bench.limits, hosts=hosts if bench.way_out is not None else (), files=bench.files.mode)


def _named(bench: ToolContext) -> tuple[list[NamedData], list[str]]:
    """What was given from elsewhere first, then the files nearest to the notebook; and the names of all others."""
    folder = bench.notebook.path.resolve().parent
    root = bench.project.root
    given = [
        NamedData(source=Path(mount.source), shown=_seen_from(folder, root / mount.target))
        for mount in data_mounts(bench.files.data, bench.notebook.path, root)
    ]
    found = sorted((root / path for path in _data_files(bench)), key=lambda path: _distance(folder, path))
    own = [NamedData(source=path, shown=_seen_from(folder, path)) for path in found]
    return [*given, *own[:_MAX_PROFILED_FILES]], [each.shown for each in own[_MAX_PROFILED_FILES:]]


def _data_files(bench: ToolContext) -> list[str]:
    project = bench.project
    found = (entry.path for entry in project.walk(project.root, depth=_MAX_DEPTH) if not entry.is_folder)
    return list(islice((path for path in found if is_data_file(path) and not _is_prose(path)), _MAX_FILES))


def _is_prose(path: str) -> bool:
    """Text that may be anything: a person who means it as data names it."""
    return PurePosixPath(path).suffix.lower() == ".txt"


def _seen_from(folder: Path, path: Path) -> str:
    """As the notebook's code calls it."""
    return Path(os.path.relpath(path, folder)).as_posix()


def _distance(folder: Path, path: Path) -> tuple[int, str]:
    name = _seen_from(folder, path)
    return name.count("/"), name
