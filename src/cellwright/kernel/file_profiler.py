"""Profiles of files behind connections, without fetching all of them: what a local file's says, made in the same cage.

Of Parquet the footers are fetched and some row groups, of texts the beginning and some pieces, and of many files of one
kind a few. How much that was is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, TypeVar

import anyio
from msgspec.structs import replace

from cellwright.data.files import is_data_file
from cellwright.data.messages import FileEntry, ListFiles, StatFile
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import UserError
from cellwright.kernel.fetched_files import FileFetch, StandIn, StoredFiles
from cellwright.kernel.profiler import DataCage, ProfileLimits, Profiler
from cellwright.profiles.data_search import natural
from cellwright.profiles.profile import (
    ParquetPlan,
    Profile,
    ProfileRequest,
    SkippedFile,
    TableProfile,
    one_line,
    with_paths,
    with_remarks,
)
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import DataMount

Item = TypeVar("Item")
_MOST_FILES: Final = 2_000
_MOST_CLOSE: Final = 12
"""Files of one folder and kind that are looked at closely, where they are many or large."""
_FEW_FILES: Final = 60
_FEW_BYTES: Final = 16 << 20
"""So many of one folder and kind, and so large together, are all looked at closely."""
_MOST_HEADS: Final = 500
"""Texts beside those whose first lines are looked at."""
_FOLDER: Final = "remote"
_PIECES: Final = "the beginning and some pieces of the file"
_FETCH_SHARE: Final = 0.5
"""Of the time, for footers and for samples each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProfiler:
    """Says what files and folders of connections are, as `Profiler` does of local ones."""

    profiler: Profiler
    source: StoredFiles

    async def profile(self, named: Sequence[RemotePath], limits: ProfileLimits | None = None) -> Profile:
        """What these files, and the data files in these folders, are, each called by its address.

        `UserError` for one that is not there; what the server said if it cannot be asked; `Unavailable` if no cage
        answers.
        """
        limits = limits or ProfileLimits()
        with private_directory("remote-files") as folder:
            fetch = FileFetch(source=self.source, folder=folder / _FOLDER)
            found, skipped = list[StandIn](), list[SkippedFile]()
            for remote in named:
                files, cut = await self._files(remote)
                found += files
                skipped += cut
            looking = _Look(
                cage=DataCage(zygote=await self.profiler.pool.zygote(), tier=self.profiler.tier),
                mount=DataMount(source=str(folder / _FOLDER), target=_FOLDER),
                fetch=fetch,
                limits=limits,
            )
            (folder / _FOLDER).mkdir()
            profile = await looking.at(found)
        skipped += [
            SkippedFile(path=file.remote.address, why=one_line(f"it was not fetched: {problem.message}"))
            for file, problem in fetch.lost
        ]
        return with_remarks(profile, skipped=skipped, notes=[_fetched_words(found, fetch.requests)])

    async def _files(self, remote: RemotePath) -> tuple[list[StandIn], list[SkippedFile]]:
        """What is looked at, and what is left out as there is too much of it."""
        entry = await self.source.stat(StatFile(connection=remote.connection, path=remote.path))
        if not entry.is_folder:
            return [_stand_in(remote, entry)], []
        asked = ListFiles(connection=remote.connection, path=remote.path, recursive=True)
        listed = await self.source.entries(asked)
        data = [each for each in listed.entries if _may_be_data(each, remote)]
        if not data:
            raise UserError(f"No data file is in {remote.words!r}.", hint="Name a folder with CSV or Parquet in it.")
        data.sort(key=lambda each: natural(each.path))
        chosen = data[:_MOST_FILES]
        if any(each.size is None for each in chosen):
            chosen = [await self._sized(remote, each) for each in _spread(chosen, _FEW_FILES)]
        files = [_stand_in(RemotePath(connection=remote.connection, path=each.path), each) for each in chosen]
        cut = SkippedFile(
            path=remote.address, why=f"of the {len(data):,} data files in it {len(files):,} were looked at"
        )
        return files, [cut] if len(files) < len(data) else []

    async def _sized(self, remote: RemotePath, entry: FileEntry) -> FileEntry:
        return await self.source.stat(StatFile(connection=remote.connection, path=entry.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look at files that are fetched in parts."""

    cage: DataCage
    mount: DataMount
    fetch: FileFetch
    limits: ProfileLimits

    async def at(self, files: Sequence[StandIn]) -> Profile:
        places = {f"{_FOLDER}/{file.target}": file.remote.address for file in files}
        return with_paths(await self._profile(files), lambda path: places.get(path, path))

    async def _profile(self, files: Sequence[StandIn]) -> Profile:
        until = anyio.current_time() + self.limits.seconds * _FETCH_SHARE
        parquet = await self.fetch.footers([file for file in files if file.is_parquet], until)
        plans, skipped = await self._plans(parquet)
        close, groups = await self._row_groups(parquet, plans)
        others, beside, left = _few_of_each([file for file in files if not file.is_parquet])
        until = anyio.current_time() + self.limits.seconds * _FETCH_SHARE
        close = [*close, *await self.fetch.samples(others, until), *await self.fetch.heads(beside, until)]
        skipped = (*skipped, *(_not_looked_at(file) for file in left))
        if not close:
            return Profile(skipped=skipped)
        request = ProfileRequest(
            paths=tuple(f"{_FOLDER}/{file.target}" for file in close),
            most_rows=self.limits.most_rows,
            most_files=len(close),
            seconds=self.limits.seconds,
            groups=groups,
        )
        profile = await self.cage.profile([self.mount], request)
        told = _whole_tables(profile.tables, close, parquet, plans)
        return replace(profile, tables=tuple(told), skipped=(*profile.skipped, *skipped))

    async def _plans(self, files: Sequence[StandIn]) -> tuple[dict[str, ParquetPlan], tuple[SkippedFile, ...]]:
        if not files:
            return {}, ()
        request = ProfileRequest(
            paths=tuple(f"{_FOLDER}/{file.target}" for file in files),
            most_rows=max(1, self.limits.most_rows // min(len(files), _MOST_CLOSE)),
            is_plan=True,
            seconds=self.limits.seconds,
        )
        found = await self.cage.plan([self.mount], request)
        return {plan.path: plan for plan in found.plans}, found.skipped

    async def _row_groups(
        self, files: Sequence[StandIn], plans: Mapping[str, ParquetPlan]
    ) -> tuple[list[StandIn], dict[str, tuple[int, ...]]]:
        """Of some files of each shape the row groups that the cage wanted, if they are where a file has bytes."""
        by_shape = dict[object, list[StandIn]]()
        for file in files:
            if (plan := plans.get(f"{_FOLDER}/{file.target}")) is not None:
                by_shape.setdefault((PurePosixPath(file.target).parent, plan.columns), []).append(file)
        close, groups = list[StandIn](), dict[str, tuple[int, ...]]()
        for alike in by_shape.values():
            for file in _spread(alike, max(1, _MOST_CLOSE // len(by_shape))):
                path = f"{_FOLDER}/{file.target}"
                wanted = [group for group in plans[path].groups if group.start < group.stop <= file.size]
                await self.fetch.ranges(file, [(group.start, group.stop) for group in wanted])
                groups[path] = tuple(group.number for group in wanted)
                close.append(file)
        return close, groups


def _whole_tables(
    tables: Sequence[TableProfile],
    close: Sequence[StandIn],
    parquet: Sequence[StandIn],
    plans: Mapping[str, ParquetPlan],
) -> list[TableProfile]:
    """The tables as all of their files are, of which a part was looked at: each file belongs to one of them."""
    told, taken = list[TableProfile](), {path for table in tables for path in _paths(table)}
    for table in tables:
        mine = [file for file in close if _path(file) in _paths(table)]
        if any(file.is_part for file in mine):
            told.append(_estimated(table, mine))
            continue
        beside = [_path(file) for file in parquet if _path(file) not in taken and _is_alike(file, table, plans)]
        taken.update(beside)
        told.append(_with_files_beside(table, beside, parquet, plans) if beside else table)
    return told


def _estimated(table: TableProfile, mine: Sequence[StandIn]) -> TableProfile:
    size, here = sum(file.size for file in mine), sum(file.fetched for file in mine)
    rows = int(table.rows * size / max(1, here))
    sampling = f"the beginnings and some pieces of {len(mine):,} files" if len(mine) > 1 else _PIECES
    return replace(table, rows=rows, is_counted=False, sampling=sampling, bytes=size)


def _is_alike(file: StandIn, table: TableProfile, plans: Mapping[str, ParquetPlan]) -> bool:
    """Whether it is of the same folder and has the same columns."""
    first, path = plans.get(_paths(table)[0]), _path(file)
    is_there = PurePosixPath(path).parent == PurePosixPath(_paths(table)[0]).parent
    return is_there and first is not None and path in plans and plans[path].columns == first.columns


def _with_files_beside(
    table: TableProfile, beside: Sequence[str], parquet: Sequence[StandIn], plans: Mapping[str, ParquetPlan]
) -> TableProfile:
    whole = {*_paths(table), *beside}
    files = tuple(_path(file) for file in parquet if _path(file) in whole)
    rows = sum(plans[path].rows for path in files)
    sampling = f"{table.looked_at:,} of {rows:,} rows, from {len(_paths(table)):,} of {len(files):,} files"
    size = sum(file.size for file in parquet if _path(file) in whole)
    return replace(table, rows=rows, sampling=sampling, files=files, bytes=size)


def _paths(table: TableProfile) -> tuple[str, ...]:
    return table.files or (table.reading.path,)


def _path(file: StandIn) -> str:
    return f"{_FOLDER}/{file.target}"


def _stand_in(remote: RemotePath, entry: FileEntry) -> StandIn:
    target = f"{remote.connection}/{entry.path}"
    return StandIn(remote=remote, size=entry.size or 0, version=entry.version, target=target)


def _may_be_data(entry: FileEntry, remote: RemotePath) -> bool:
    inside = entry.path[len(remote.path) :].lstrip("/")
    return not entry.is_folder and is_data_file(inside, "folder") and entry.size != 0


def _few_of_each(files: Sequence[StandIn]) -> tuple[list[StandIn], list[StandIn], list[StandIn]]:
    """Of many of one folder and kind some from all over; texts whose first lines are looked at; the others."""
    alike = dict[object, list[StandIn]]()
    for file in files:
        alike.setdefault((PurePosixPath(file.target).parent, file.suffix), []).append(file)
    close, beside, left = list[StandIn](), list[StandIn](), list[StandIn]()
    for each in alike.values():
        is_small = len(each) <= _FEW_FILES and sum(file.size for file in each) <= _FEW_BYTES
        chosen = each if is_small else _spread(each, _MOST_CLOSE)
        close += chosen
        for file in [file for file in each if file not in chosen]:
            (beside if file.is_lines and len(beside) < _MOST_HEADS else left).append(file)
    return close, beside, left


def _not_looked_at(file: StandIn) -> SkippedFile:
    return SkippedFile(path=f"{_FOLDER}/{file.target}", why="it was not looked at: there are many of its kind")


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    if len(items) <= most:
        return list(items)
    return [items[round(step * (len(items) - 1) / max(1, most - 1))] for step in range(most)]


def _fetched_words(files: Sequence[StandIn], requests: int) -> str:
    fetched, size = sum(file.fetched for file in files), sum(file.size for file in files)
    counted = (
        f"{len(files):,} file{'' if len(files) == 1 else 's'}, with {requests:,} request{'' if requests == 1 else 's'}"
    )
    return f"Fetched {fetched:,} bytes of {size:,} in {counted}."
