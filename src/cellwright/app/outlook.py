"""What an agent sees of a studio without asking: data files with their first lines, and what its code may use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

import anyio.to_thread

from cellwright.agents.context import Part, Rank
from cellwright.agents.surroundings import FileSight, Seen, Sight, limits_text, preview_file
from cellwright.app.notebooks import data_mounts
from cellwright.app.toolboxes import Bench
from cellwright.notebook import clip
from cellwright.sandbox import DataMount

_DEPTH: Final = 4
_MOST: Final = 200
_DATA: Final = frozenset(
    {
        ".csv",
        ".tsv",
        ".json",
        ".jsonl",
        ".ndjson",
        ".parquet",
        ".feather",
        ".arrow",
        ".xlsx",
        ".xls",
        ".db",
        ".sqlite",
        ".duckdb",
    }
)
_UNCONTAINED: Final = """\
Nothing contains the notebook's code here (tier D): it can do whatever the person can.
- network: nobody can be asked about hosts, so reach none: no downloads, no APIs, no `pip install`
- files: use those of the project and nothing else
- no browser, no display, no input(): nobody is there to type"""


async def data_sights(bench: Bench) -> list[Sight]:
    """The project's data files as they are now, and data from elsewhere; none where there is no data."""
    found, mounts = await anyio.to_thread.run_sync(lambda: (_data_files(bench), _mounts(bench)))
    files: list[Sight] = [FileSight(bench.project.root, found)] if found else []
    return [*files, MountSight(mounts)] if mounts else files


class MountSight:
    """Data from elsewhere, under the names the notebook's code has for it."""

    def __init__(self, mounts: Sequence[DataMount]) -> None:
        self._mounts = tuple(mounts)

    async def look(self, tokens: int) -> Seen:
        """A preview of each file; of a folder what is in it."""
        texts = await anyio.to_thread.run_sync(lambda: [_preview(mount) for mount in self._mounts])
        text = clip("\n\n".join(texts), tokens)
        return Seen(parts=(Part(name="data", text=text, rank=Rank.ASSIGNMENT, least_tokens=100),))


def limits_in_words(bench: Bench) -> str:
    """What the notebook's code may use, said before it fails."""
    if bench.tier == "D":
        return _UNCONTAINED
    hosts = ["hosts that are approved; a cell that wants another fails, and leave for it is asked"]
    return limits_text(bench.limits, hosts=hosts if bench.way_out is not None else (), files=bench.files.mode)


def _data_files(bench: Bench) -> list[str]:
    project = bench.project
    found = (entry.path for entry in project.walk(project.root, depth=_DEPTH) if not entry.is_folder)
    return list(islice((path for path in found if PurePosixPath(path).suffix.lower() in _DATA), _MOST))


def _mounts(bench: Bench) -> tuple[DataMount, ...]:
    beside = bench.notebook.path.resolve().parent.relative_to(bench.project.root)
    return data_mounts(bench.files.data, beside)


def _preview(mount: DataMount) -> str:
    source = Path(mount.source)
    if not source.is_dir():
        return f"{mount.target}{preview_file(source.parent, source.name).removeprefix(source.name)}"
    inside = sorted(path.name for path in islice(source.iterdir(), _MOST) if not path.name.startswith("."))
    return f"{mount.target}/: a folder, read-only, with {', '.join(inside) or 'nothing'}"
