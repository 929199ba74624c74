"""Profiles of the data a person names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from cellwright.app.notebook_connections import NotebookConnections
from cellwright.app.notebooks import contained, open_pool
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import connections_at, find_connection
from cellwright.data.files import DataFile
from cellwright.data.messages import Asker
from cellwright.data.remote_paths import RemotePath, read_remote_path
from cellwright.errors import UserError
from cellwright.kernel.file_profiler import FileProfiler
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import ProfileLimits, Profiler, merge_profiles
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.profiles.profile import Profile
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Tier
from cellwright.settings import Settings


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
    files = await anyio.to_thread.run_sync(_files, paths, folder or Path())
    tier = contained(tier, await anyio.to_thread.run_sync(probe), allow_uncontained=allow_uncontained)
    async with AsyncExitStack() as stack:
        own_pool = pool or await stack.enter_async_context(open_pool(settings))
        return await Profiler(pool=own_pool, tier=tier).profile(files, effort)


async def profile_words(
    words: Sequence[str],
    *,
    person: str,
    folder: Path | None = None,
    effort: ProfileLimits | None = None,
    allow_uncontained: bool = False,
    pool: KernelPool | None = None,
    settings: Settings | None = None,
) -> Profile:
    """What files are that a person names: paths of this machine, and files behind connections (`NAME:path`).

    Raises as `profile_paths` does, and what a server says.
    """
    settings = settings or Settings.read()
    found = await anyio.to_thread.run_sync(remote_data, words, folder or Path(), settings.home)
    paths, remote = [word for word in words if word not in found], list(found.values())
    async with AsyncExitStack() as stack:
        own_pool = pool or await stack.enter_async_context(open_pool(settings))
        profiles = list[Profile]()
        if paths:
            profiles.append(
                await profile_paths(
                    paths, folder=folder, effort=effort, allow_uncontained=allow_uncontained, pool=own_pool
                )
            )
        if remote:
            profiles.append(
                await profile_remote(
                    remote,
                    person=person,
                    effort=effort,
                    allow_uncontained=allow_uncontained,
                    pool=own_pool,
                    settings=settings,
                )
            )
    return profiles[0] if len(profiles) == 1 else merge_profiles(profiles)


async def profile_remote(
    remote: Sequence[RemotePath],
    *,
    person: str,
    pool: KernelPool,
    settings: Settings,
    effort: ProfileLimits | None = None,
    allow_uncontained: bool = False,
) -> Profile:
    """What files behind connections are; of large ones a part is fetched. Raises as `profile_words` does."""
    tier = contained(None, await anyio.to_thread.run_sync(probe), allow_uncontained=allow_uncontained)
    client = BrokerClient(launch=settings.broker_launch())
    source = NotebookConnections(client=client, asker=Asker(person=person), cache=None)
    profiler = FileProfiler(profiler=Profiler(pool=pool, tier=tier), source=source.files)
    return await profiler.profile(remote, effort)


def remote_data(words: Sequence[str], folder: Path, home: Path) -> dict[str, RemotePath]:
    """Those of the words that mean files behind connections; one that a file here is called is that file. Blocking."""
    elsewhere = [word for word in words if not _is_here(folder / word)]
    connections = connections_at(home) if elsewhere else {}
    found = {word: read_remote_path(word, connections) for word in elsewhere}
    return {word: remote for word, remote in found.items() if remote is not None}


def _is_here(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A name that no file can have.
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionQuery:
    """What of a named database is to be looked at: tables, or the rows of a statement."""

    connection: str
    tables: tuple[str, ...] = ()
    statement: str = ""


async def profile_connection(
    asked: ConnectionQuery,
    *,
    person: str,
    effort: ProfileLimits | None = None,
    allow_uncontained: bool = False,
    pool: KernelPool | None = None,
    settings: Settings | None = None,
) -> Profile:
    """What tables, or the rows of a query, of a named database are; for a person who may read it.

    `UserError` for a connection or table that is not there, `RefusedByPolicy` for what may not be asked or where
    nothing can contain a reader, `Unavailable` if no server or no cage answers.
    """
    if bool(asked.tables) == bool(asked.statement):
        raise UserError("Either tables or a query can be looked at.", hint="Name one of them.")
    settings = settings or Settings.read()
    await anyio.to_thread.run_sync(find_connection, settings.home, asked.connection)
    tier = contained(None, await anyio.to_thread.run_sync(probe), allow_uncontained=allow_uncontained)
    client = BrokerClient(launch=settings.broker_launch())
    source = NotebookConnections(client=client, asker=Asker(person=person), cache=None)
    async with AsyncExitStack() as stack:
        own_pool = pool or await stack.enter_async_context(open_pool(settings))
        profiler = TableProfiler(profiler=Profiler(pool=own_pool, tier=tier), source=source)
        if asked.statement:
            return await profiler.profile_query(asked.connection, asked.statement, effort)
        return await profiler.profile_named({asked.connection: asked.tables}, limits=effort)


def _files(paths: Sequence[str | Path], folder: Path) -> list[DataFile]:
    """Each in a place of its own, which is the one it was named with where a cage can have that. Blocking."""
    typed = [Path(path).as_posix() for path in paths]
    taken = {place.split("/")[0] for place in typed if _is_plain(place)}
    files: list[DataFile] = []
    for place in typed:
        source = (folder / place).resolve()
        endings = ("", *map("-{}".format, range(2, len(typed) + 2)))
        free = (source.name + ending for ending in endings if source.name + ending not in taken)
        target = place if _is_plain(place) else next(free)
        taken.add(target)
        files.append(DataFile(name=source.name, source=source, place=place, target=target, is_folder=source.is_dir()))
    return files


def _is_plain(place: str) -> bool:
    return all(part not in {"", ".", ".."} for part in place.split("/"))
