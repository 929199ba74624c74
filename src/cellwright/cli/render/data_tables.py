"""How a profile and the bundled data sets look in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from cellwright.app.datasets import Dataset
from cellwright.cli.render import console as render
from cellwright.profiles import profile_view
from cellwright.profiles.profile import Profile, TableProfile, one_line
from cellwright.profiles.profile_view import join_words, oddity_words, shown

_MARKS = {"problem": "[red]![/]", "warning": "[yellow]![/]", "note": "[dim]·[/]"}
_MOST_COLUMNS = 60
_MOST_ODDITIES = 40
_LEAST_WIDTH = 100
_LONGEST_NAMES = 100


@contextmanager
def waiting(named: Sequence[str]) -> Generator[None]:
    """A sign of life while files or tables are read, for somebody who watches a terminal."""
    if not render.people.is_terminal:
        yield
        return
    names = one_line(", ".join(named), _LONGEST_NAMES)
    columns = (SpinnerColumn(), TextColumn("{task.description}", style="dim"), TimeElapsedColumn())
    with Progress(*columns, console=render.people, transient=True) as progress:
        progress.add_task(f"Reading {escape(names)} in a cage", total=None)
        yield


def profile(found: Profile) -> None:
    """All that was found: each table with its columns, then what is between them, then what was left out."""
    console = _console()
    for table in found.tables:
        _table(table, console)
    if joins := [*found.pair_joins, *found.joins]:
        console.print("[bold]Joins[/]")
        for join in joins:
            console.print(f"  {escape(join_words(join, found))}", soft_wrap=True)
    for skipped in found.skipped:
        render.people.print(
            f"[yellow]not read:[/] {escape(shown(skipped.path))} ({escape(skipped.why)})", soft_wrap=True
        )
    for note in found.notes:
        render.note(note)


def examples(datasets: Sequence[Dataset], as_json: bool) -> None:
    """Which data sets there are."""
    if as_json:
        render.as_json({"examples": [asdict(dataset) for dataset in datasets]})
        return
    for dataset in datasets:
        _console().print(f"[bold]{dataset.id}[/]  {escape(dataset.title)}", soft_wrap=True)
    render.note(f"`cellwright data examples {datasets[0].id}` copies one into data/.")


def copied(dataset: Dataset, files: Sequence[Path], as_json: bool) -> None:
    """Where its files are now, and a goal it has an answer to."""
    words = [option for file in files for option in ("--data", str(file))]
    command = ["cellwright", "run", dataset.question, *words, "--model", "analyst"]
    if as_json:
        render.as_json({"files": [str(file) for file in files], "command": command})
        return
    for file in files:
        _console().print(escape(str(file)), soft_wrap=True)
    render.note(f"Ask of it, without a model or a key:\n  {shlex.join(command)}")


def _console() -> Console:
    """Standard output as it is now; a file or a pipe is given room for a table."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=max(console.width, _LEAST_WIDTH))


def _table(table: TableProfile, console: Console) -> None:
    console.print(f"[bold]{escape(profile_view.head_words(table))}[/]", soft_wrap=True)
    for fact in profile_view.fact_words(table):
        console.print(f"  [dim]{escape(fact)}[/]", soft_wrap=True)
    console.print(_columns(table))
    if len(table.columns) > _MOST_COLUMNS:
        console.print(f"  [dim]and {len(table.columns) - _MOST_COLUMNS:,} more columns: --json has them[/]")
    for oddity in profile_view.by_severity(table.oddities)[:_MOST_ODDITIES]:
        console.print(f"  {_MARKS[oddity.severity]} {escape(oddity_words(oddity))}", soft_wrap=True)
    if len(table.oddities) > _MOST_ODDITIES:
        console.print(f"  [dim]and {len(table.oddities) - _MOST_ODDITIES:,} more oddities: --json has them[/]")
    console.print()


def _columns(profiled: TableProfile) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("column", "what", "missing", "values", "shape"):
        table.add_column(title, justify="right" if title == "missing" else "left", overflow="fold")
    for column in profiled.columns[:_MOST_COLUMNS]:
        name, what, missing, values, shape = profile_view.column_cells(column, profiled.looked_at)
        table.add_row(escape(f"  {name}"), escape(what), missing, escape(values), f"[cyan]{shape}[/]")
    return table
