"""`/connections/{name}/profile` and `…/files/profile`: what a table or a file is, read in a cage."""

from __future__ import annotations

from typing import Annotated, Final

import anyio
from fastapi import Query

from cellwright.app.profiling import ConnectionQuery, profile_connection, profile_remote
from cellwright.data.connections import require_way
from cellwright.data.file_paths import plain_path
from cellwright.data.remote_paths import RemotePath
from cellwright.errors import UserError
from cellwright.kernel.profiler import ProfileLimits
from cellwright.profiles import profile_view
from cellwright.profiles.profile import ColumnProfile, TableProfile, one_line
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, shared
from cellwright.server.http.routes.connections import ConnectionName, find_named
from cellwright.server.http.schemas.connection_contents import FileProfileShape
from cellwright.server.http.schemas.table_profiles import (
    ProfiledColumn,
    ProfiledValue,
    ProfileRemark,
    TableProfileShape,
)

router = ApiRouter(tags=["connections"])
_LIMITS: Final = ProfileLimits(most_rows=100_000, seconds=30)
_FEW_VALUES: Final = 10
_MOST_REMARKS: Final = 100
_MOST_TABLES: Final = 20
_AT_ONCE: Final = 2


def _turns(_: ApiResources) -> anyio.Semaphore:
    return anyio.Semaphore(_AT_ONCE)


Turns = Annotated[anyio.Semaphore, shared(_turns)]
"""A cage for each look: a few at a time."""


@router.get("/connections/{name}/profile")
async def connection_profile(
    caller: Reader,
    resources: Resources,
    turns: Turns,
    name: ConnectionName,
    table: Annotated[str, Query(min_length=1, max_length=600)],
) -> TableProfileShape:
    """What a table is: columns and what they mean, ranges, gaps, problems; masked columns stay masked."""
    asked = ConnectionQuery(connection=name, tables=(table,))
    settings, pool = resources.settings, resources.live.pool
    async with turns:
        try:
            found = await profile_connection(asked, person=caller.person, effort=_LIMITS, pool=pool, settings=settings)
        except UserError as problem:
            raise ResourceNotFound(problem.message, hint=problem.advice) from problem
    if not found.tables:
        why = "; ".join(one_line(each.why) for each in found.skipped[:3]) or "it has no columns"
        raise UserError(f"{table[:200]!r} cannot be looked at: {why}.", hint="Look at its first rows.")
    return _shape(name, found.tables[0])


@router.get("/connections/{name}/files/profile")
async def stored_file_profile(
    caller: Reader,
    resources: Resources,
    turns: Turns,
    name: ConnectionName,
    path: Annotated[str, Query(min_length=1, max_length=4_096)],
) -> FileProfileShape:
    """What a file behind a connection is, or the data files of a folder; of large ones a part is fetched."""
    require_way(await find_named(resources, name), "files")
    remote = RemotePath(connection=name, path=plain_path(path))
    async with turns:
        found = await profile_remote(
            [remote], person=caller.person, effort=_LIMITS, pool=resources.live.pool, settings=resources.settings
        )
    if not found.tables:
        why = "; ".join(one_line(each.why) for each in found.skipped[:3]) or "nothing in it is a table"
        raise UserError(f"{remote.words[:200]!r} cannot be looked at: {why}.", hint="Read it in a notebook.")
    skipped = [f"{one_line(each.path)}: {one_line(each.why)}" for each in found.skipped[:_MOST_REMARKS]]
    return FileProfileShape(
        path=remote.path,
        tables=[_shape(name, table) for table in found.tables[:_MOST_TABLES]],
        notes=[*skipped, *found.notes[:_MOST_REMARKS]],
    )


def _shape(connection: str, table: TableProfile) -> TableProfileShape:
    return TableProfileShape(
        connection=connection,
        table=table.reading.part or table.reading.path,
        rows=table.rows,
        is_counted=table.is_counted,
        looked_at=table.looked_at,
        sampling=table.sampling,
        facts=profile_view.fact_words(table),
        columns=[_column(column, table.looked_at) for column in table.columns],
        remarks=[
            ProfileRemark(column=one_line(each.column), says=each.says, severity=each.severity)
            for each in profile_view.by_severity(table.oddities)[:_MOST_REMARKS]
        ],
    )


def _column(column: ColumnProfile, rows: int) -> ProfiledColumn:
    numbers = column.numbers
    return ProfiledColumn(
        name=column.name,
        kind=column.kind,
        meaning=column.meaning,
        unit=column.unit,
        missing=column.nulls,
        distinct=column.distinct,
        is_unique=column.is_unique,
        values=profile_view.value_words(column, rows),
        common=[ProfiledValue(value=each.value, count=each.count) for each in column.common[:_FEW_VALUES]],
        histogram=list(numbers.histogram) if numbers else [],
        least=numbers.least if numbers else None,
        greatest=numbers.greatest if numbers else None,
    )
