"""`cellwright data …`: what data files are before anybody works with them, some to begin with, and connections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import anyio
import typer

from cellwright.analyst.profile import profile_json
from cellwright.app.datasets import DATASETS, copy_dataset, dataset_named
from cellwright.app.profiling import profile_paths
from cellwright.cli.data_connections import add_commands
from cellwright.cli.notebook_options import UncontainedOption
from cellwright.cli.render import console, data_tables
from cellwright.kernel.profiler import ProfileLimits

app = typer.Typer(help="Data files and databases: what is in them, and how notebooks reach them.", no_args_is_help=True)


@app.command()
def profile(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Data files, or folders with data files.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=1, help="Sample tables that have more rows than this.")
    ] = ProfileLimits().most_rows,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=1, help="Look for no more after so long.")
    ] = ProfileLimits().seconds,
    allow_uncontained: UncontainedOption = False,
) -> None:
    """Say what data files are: columns and what they mean, gaps, oddities, keys, and how files can be joined."""
    effort = ProfileLimits(most_rows=rows, seconds=seconds)
    with data_tables.waiting(paths):
        found = anyio.run(lambda: profile_paths(paths, effort=effort, allow_uncontained=allow_uncontained))
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
