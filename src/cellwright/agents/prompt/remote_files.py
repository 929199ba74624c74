"""What an agent sees of files behind connections: their profile, and how a cell reads them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

import anyio

from cellwright.agents.prompt.context_providers import DATA_SHARE, ContextView, Onlooker
from cellwright.agents.prompt.prompt import PromptPart, Rank
from cellwright.agents.role import Sight
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import CellwrightError
from cellwright.kernel.file_profiler import FileProfiler
from cellwright.kernel.profiler import ProfileLimits
from cellwright.profiles.profile import Profile
from cellwright.profiles.profile_text import profile_text

_LIMITS: Final = ProfileLimits(most_rows=100_000, seconds=20)
_TIMEOUT_SECONDS: Final = 90
_HOW_TO_READ: Final = """\
Files behind connections: `import cellwright_cells as cellwright` and `{name} = cellwright.files("{name}")` in a cell, a
file system of fsspec's; `cellwright://{name}/PATH` below is the file at PATH in it. pandas reads that address as it is.
For polars, pyarrow and DuckDB: `pyarrow.dataset.dataset("PATH", filesystem={name})`, of which
`.to_table(columns=[…])` or `pl.scan_pyarrow_dataset(…)` reads only what is needed; polars takes no such address."""
_BUCKETS: Final = """\
In {names} a PATH begins with the bucket, and S3's own libraries work without keys, as `pl.read_parquet("s3://BUCKET/…")`
and `boto3.client("s3")`."""
_ANYBODY: Final = Onlooker()
logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class RemoteFilesContext:
    """Files and folders behind connections that were named for the work. They are looked at once."""

    shows: ClassVar[Sight] = "data"
    named: Sequence[RemotePath]
    profiler: FileProfiler
    buckets: Collection[str] = ()
    """Connections that are object stores by S3's protocol."""
    _texts: dict[RemotePath, Profile | str] = field(default_factory=dict[RemotePath, "Profile | str"])

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """Always with the same share of what the onlooker may read: it stands before the history."""
        room = int(onlooker.context_tokens * DATA_SHARE) // len(self.named)
        told = [_HOW_TO_READ.format(name=self.named[0].connection)]
        if names := sorted({each.connection for each in self.named}.intersection(self.buckets)):
            told[0] += "\n" + _BUCKETS.format(names=", ".join(names))
        for remote in self.named:
            found = await self._looked_at(remote)
            said = found if isinstance(found, str) else profile_text(found, tokens=room, goal=onlooker.goal)
            told.append(f"{remote.words}:\n{said}")
        text = "\n\n".join(told)
        return ContextView(parts=(PromptPart(name="files", text=text, rank=Rank.ASSIGNMENT, least_tokens=100),))

    async def _looked_at(self, remote: RemotePath) -> Profile | str:
        if remote not in self._texts:
            try:
                with anyio.fail_after(_TIMEOUT_SECONDS):
                    self._texts[remote] = await self.profiler.profile([remote], _LIMITS)
            except TimeoutError:
                self._texts[remote] = "It could not be looked at in time: list it in a cell."
            except CellwrightError as error:
                logger.info("No profile of %s: %s", remote.words, error)
                self._texts[remote] = f"It cannot be read now. {error.message} {error.hint}"
        return self._texts[remote]
