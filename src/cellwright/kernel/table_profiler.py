"""Profiles of tables and queries of named databases: what the profile of a file says, made in the same cage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import anyio.to_thread
from msgspec.structs import replace

from cellwright.data.catalogue import CatalogueTable
from cellwright.data.files import DataFile
from cellwright.data.messages import ReadSchema
from cellwright.errors import CellwrightError, UserError
from cellwright.kernel.fetched_tables import FetchedTable, TableFetch, TableSource
from cellwright.kernel.profiler import ProfileLimits, Profiler
from cellwright.profiles.data_search import DataSelection, search
from cellwright.profiles.foreign_keys import KeyPair, with_foreign_keys
from cellwright.profiles.profile import (
    LONGEST_NAME,
    Oddity,
    Profile,
    SkippedFile,
    TableProfile,
    one_line,
    with_remarks,
)
from cellwright.sandbox.private_directory import private_directory

TablesByConnection = Mapping[str, Sequence[CatalogueTable]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProfiler:
    """Says what tables and queries of connections are, as `Profiler` does of files."""

    profiler: Profiler
    source: TableSource

    async def profile_named(
        self,
        names: Mapping[str, Sequence[str]],
        *,
        files: Sequence[DataFile] = (),
        limits: ProfileLimits | None = None,
    ) -> Profile:
        """What the tables of these names are, by connection. `UserError` for one that is not there."""
        tables = {connection: await self._find(connection, wanted) for connection, wanted in names.items()}
        return await self.profile_tables(tables, files=files, limits=limits)

    async def _find(self, connection: str, names: Sequence[str]) -> list[CatalogueTable]:
        catalogue = await self.source.schema(ReadSchema(connection=connection, tables=tuple(names)))
        found = [catalogue.table(name) for name in names]
        if missing := [name for name, table in zip(names, found, strict=True) if table is None]:
            raise UserError(
                f"{connection!r} has no table {missing[0][:200]!r}.",
                hint="Its schema lists those there are.",
            )
        return list({table.qualified: table for table in found if table is not None}.values())

    async def profile_tables(
        self,
        tables: TablesByConnection,
        *,
        files: Sequence[DataFile] = (),
        limits: ProfileLimits | None = None,
        is_counted: bool = False,
    ) -> Profile:
        """What these tables are, and these files beside them. A table that cannot be fetched is named with its reason.

        `UserError` for a file that is not there, `Unavailable` if no cage answers; what the database said, if none of
        the tables could be fetched.
        """
        limits = limits or ProfileLimits()
        with private_directory("rows") as folder:
            fetched, lost = list[FetchedTable](), list[tuple[str, CellwrightError]]()
            for connection, each in tables.items():
                fetch = TableFetch(
                    source=self.source, connection=connection, folder=folder, limits=limits, is_counted=is_counted
                )
                for number, table in enumerate(each):
                    try:
                        fetched.append(await fetch.table(table, number))
                    except CellwrightError as problem:
                        lost.append((f"{connection} {table.qualified}", problem))
            if lost and not fetched:
                raise lost[0][1]
            selection = await anyio.to_thread.run_sync(search, [*files])
            found = await self._read(fetched, selection, limits)
        skipped = [SkippedFile(path=_plain(name), why=one_line(problem.message)) for name, problem in lost]
        return with_remarks(found, skipped=skipped)

    async def profile_query(self, connection: str, statement: str, limits: ProfileLimits | None = None) -> Profile:
        """What the rows of a query are; of a long result, the first ones."""
        limits = limits or ProfileLimits()
        with private_directory("rows") as folder:
            fetch = TableFetch(source=self.source, connection=connection, folder=folder, limits=limits)
            return await self._read([await fetch.query(statement)], DataSelection(), limits)

    async def _read(self, fetched: Sequence[FetchedTable], selection: DataSelection, limits: ProfileLimits) -> Profile:
        """All of them together, so that joins are found between them."""
        files = [each.file for each in fetched]
        chosen = DataSelection(named=[*selection.named, *files], files=[*selection.files, *files])
        found = await self.profiler.read(chosen, limits) if chosen.files else Profile()
        found = with_remarks(found, skipped=selection.skipped, notes=selection.notes, others=selection.others)
        return told_as_tables(found, fetched)


def told_as_tables(profile: Profile, fetched: Sequence[FetchedTable]) -> Profile:
    """The profile of files as that of the tables they were fetched from, with what the catalogue knows of them."""
    sources = {each.file.place: each for each in fetched}
    taken = {table.name for table in profile.tables if table.reading.path not in sources}
    often = Counter(each.table.name for each in fetched if each.table is not None)
    names = dict[str, str]()
    for table in profile.tables:
        if (source := sources.get(table.reading.path)) is not None:
            names[table.name] = _name(source, taken, often)
            taken.add(names[table.name])
    by_source = {
        (each.reading.path, each.reading.part): names[table.name]
        for table in profile.tables
        if (each := sources.get(table.reading.path)) is not None
    }
    told = replace(
        profile,
        tables=tuple(_told(table, sources.get(table.reading.path), names) for table in profile.tables),
        joins=tuple(
            replace(join, left=names.get(join.left, join.left), right=names.get(join.right, join.right))
            for join in profile.joins
        ),
        pair_joins=tuple(
            replace(pair, left=names.get(pair.left, pair.left), right=names.get(pair.right, pair.right))
            for pair in profile.pair_joins
        ),
        skipped=tuple(replace(each, path=_place(sources, each.path)) for each in profile.skipped),
    )
    return with_foreign_keys(told, _key_pairs(fetched, by_source))


def _told(table: TableProfile, source: FetchedTable | None, names: Mapping[str, str]) -> TableProfile:
    if source is None:
        return table
    masked = [column.name for column in source.table.columns if column.is_masked] if source.table is not None else []
    hidden = [
        Oddity(
            kind="not-read", column=name[:LONGEST_NAME], says="It is masked: nobody sees its values.", severity="note"
        )
        for name in masked
    ]
    return replace(
        table,
        name=names[table.name],
        reading=source.reading,
        rows=max(source.rows, table.looked_at),
        is_counted=source.is_counted,
        sampling=source.sampling or table.sampling,
        bytes=0,
        oddities=(*table.oddities, *hidden),
    )


def _name(source: FetchedTable, taken: set[str], often: Mapping[str, int]) -> str:
    """The table's own name where it is the only one of it, else with its schema, else with its connection."""
    if source.table is None:
        return "query"
    table = source.table
    whole = f"{source.reading.path}.{table.qualified}"
    names = [*([table.name] if often[table.name] == 1 else []), table.qualified, whole]
    short = [name[:LONGEST_NAME] for name in names]
    return next((name for name in short if name not in taken), f"{source.reading.path}_{len(taken)}")


def _key_pairs(fetched: Sequence[FetchedTable], names: Mapping[tuple[str, str], str]) -> Iterator[KeyPair]:
    for source in fetched:
        path = source.reading.path
        for key in source.table.foreign_keys if source.table is not None else ():
            here, there = names.get((path, source.reading.part)), names.get((path, key.table))
            if here is not None and there is not None and len(key.columns) == len(key.target) == 1:
                yield KeyPair(table=here, column=key.columns[0], target=there, target_column=key.target[0])


def _place(sources: Mapping[str, FetchedTable], path: str) -> str:
    source = sources.get(path)
    return path if source is None else _plain(f"{source.reading.path} {source.reading.part}".rstrip())


def _plain(name: str) -> str:
    """A name that can stand where paths do."""
    return one_line(name, LONGEST_NAME).replace("/", "_")
