"""`cellwright data …`: what data files are before anybody works with them, some to begin with, and connections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import anyio
import typer

from cellwright.app.datasets import DATASETS, copy_dataset, dataset_named
from cellwright.app.profiling import ConnectionQuery, profile_connection, profile_words
from cellwright.background import current_person
from cellwright.cli.data_connections import add_commands
from cellwright.cli.notebook_options import UncontainedOption
from cellwright.cli.render import console, data_tables
from cellwright.errors import UserError
from cellwright.kernel.profiler import ProfileLimits
from cellwright.profiles.profile import Profile, profile_json

app = typer.Typer(help="Data files and databases: what is in them, and how notebooks reach them.", no_args_is_help=True)


@app.command()
def profile(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Data files or folders, here or as NAME:path behind a connection; with --connection, tables of it.",
        ),
    ] = None,
    connection: Annotated[
        str, typer.Option("--connection", metavar="NAME", help="Look at tables of this database instead.")
    ] = "",
    sql: Annotated[str, typer.Option("--sql", metavar="SQL", help="With --connection: at the rows of a query.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=1, help="Sample tables that have more rows than this.")
    ] = ProfileLimits().most_rows,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=1, help="Look for no more after so long.")
    ] = ProfileLimits().seconds,
    allow_uncontained: UncontainedOption = False,
) -> None:
    """Say what data files or tables are: columns and what they mean, gaps, oddities, keys, and how they join."""
    effort, named = ProfileLimits(most_rows=rows, seconds=seconds), paths or []
    if not named and not sql:
        raise UserError("Nothing is named to look at.", hint="Name data files, or --connection NAME and a table.")
    if sql and not connection:
        raise UserError("A query needs a database.", hint="Say --connection NAME, too.")

    async def look() -> Profile:
        if not connection:
            return await profile_words(
                named, person=current_person(), effort=effort, allow_uncontained=allow_uncontained
            )
        asked = ConnectionQuery(connection=connection, tables=tuple(named), statement=sql)
        return await profile_connection(
            asked, effort=effort, person=current_person(), allow_uncontained=allow_uncontained
        )

    with data_tables.waiting(named or [sql]):
        found = anyio.run(look)
    console.result(json.loads(profile_json(found)), as_json, lambda _: data_tables.profile(found))
    raise typer.Exit(0 if found.tables else 1)


@app.command()
def examples(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The set to copy; else they are listed.")] = "",
    folder: Annotated[Path, typer.Option("--into", metavar="DIR", help="Its `data` folder gets the files.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Copy a bundled data set into `data/` and say what to ask of it; nothing that is there is written over."""
    if not name:
        data_tables.examples(DATASETS, as_json)
        return
    dataset = dataset_named(name)
    data_tables.copied(dataset, copy_dataset(dataset, folder), as_json)


add_commands(app)
