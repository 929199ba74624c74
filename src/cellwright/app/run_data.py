"""The eyes of a run: its project's data files, and profiles of data made in a cage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

import anyio.to_thread

from cellwright.analyst.profile import Profile
from cellwright.app.data_paths import is_data
from cellwright.app.profiling import profile_named
from cellwright.kernel import KernelPool
from cellwright.sandbox import Tier
from cellwright.settings import Settings
from cellwright.tools.project_files import ProjectFiles

_DEPTH: Final = 4
_MOST: Final = 200
_UNLIKELY: Final = frozenset({".json", ".txt", ".dat", ".db"})
"""In a project such a file is a setting, a note or a cache more often than data: it has to be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CagedEyes:
    """Looks at data through a cage of its own for each question."""

    project: ProjectFiles
    pool: KernelPool
    settings: Settings
    tier: Tier

    async def data_files(self) -> tuple[Path, ...]:
        """The project's own data files, a bounded number."""
        return await anyio.to_thread.run_sync(project_data, self.project)

    async def profile(self, named: Sequence[tuple[Path, str]]) -> Profile:
        """What these files and folders are, under these names. Raises `UserError`, `Unavailable`."""
        return await profile_named(named, tier=self.tier, pool=self.pool, settings=self.settings)


def project_data(project: ProjectFiles) -> tuple[Path, ...]:
    """The data files of a project. Blocking."""
    found = (entry.path for entry in project.walk(project.root, depth=_DEPTH) if not entry.is_folder)
    return tuple(project.root / path for path in islice(filter(_is_likely, found), _MOST))


def _is_likely(path: str) -> bool:
    parts = PurePosixPath(path)
    is_hidden = any(part.startswith(".") for part in parts.parts)
    return not is_hidden and parts.suffix.lower() not in _UNLIKELY and is_data(parts.name)
