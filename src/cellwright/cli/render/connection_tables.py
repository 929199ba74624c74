"""How connections, what databases show and what was sent to them look in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cellwright.cli.render import console
from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.estimates import count_words
from cellwright.data.messages import FileList, QueryResult, RehearsedWrite
from cellwright.profiles.profile import one_line

_UNTRIED: Final = "It was never tried against the service: say what you see."
_MOST_TABLES: Final = 200
_LONGEST_VALUE: Final = 80


def connected(view: Mapping[str, Any]) -> None:
    """A connection that was just named, and what trying it showed."""
    kept = {"": "without a secret", "command": "its secret told by a command"}
    secret = f", {kept.get(view['secret'], 'its secret in the ' + view['secret'])}"
    console.note(f"{view['name']} leads to {view['leads_to']} ({view['kind']}{secret}).")
    if view["is_untried"]:
        console.note(_UNTRIED)
    if view["tried"] is not None:
        tried(view["tried"] | {"connection": view["name"]})
    if (problem := view["problem"]) is not None:
        console.people.print(f"[red]It cannot be opened:[/] {escape(problem['message'])}", soft_wrap=True)
        if problem["hint"]:
            console.people.print(f"[cyan]hint:[/] {escape(problem['hint'])}", soft_wrap=True)


def tried(view: Mapping[str, Any]) -> None:
    """What trying a connection showed."""
    tables = "" if view["tables"] is None else f", {view['tables']:,} tables"
    line = f"{view['connection']}: {view['server']}{tables}, {view['seconds']:g} s"
    console.results.print(f"[green]✓[/] {escape(one_line(line, 200))}")
    for notice in view.get("notices", ()):
        console.people.print(f"[yellow]![/] {escape(one_line(notice, 200))}", soft_wrap=True)


def connections(rows: Sequence[Mapping[str, Any]]) -> None:
    """Which there are."""
    if not rows:
        console.note("No connections. `cellwright data connect NAME --kind postgres …` adds one.")
        return
    table = console.table("name", "kind", "leads to", "user", "writer", "secret", whole=("name",))
    for row in rows:
        words = (row["name"], row["kind"], row["leads_to"], row["user"], row["writer"], row["secret"])
        table.add_row(*(escape(word or "–") for word in words))
    console.results.print(table)


def catalogue(found: Catalogue, *, is_whole: bool) -> None:
    """Tables; with all their columns if few were asked for."""
    if is_whole:
        for each in found.tables:
            _whole_table(each)
        return
    table = console.table("table", "rows", "columns", right=("rows",))
    for each in found.tables[:_MOST_TABLES]:
        rows = "" if each.rows is None else f"{each.rows:,}"
        names = one_line(", ".join(column.name for column in each.columns), 120)
        table.add_row(_shown(each.qualified), rows, _shown(names))
    console.results.print(table)
    if len(found.tables) > _MOST_TABLES:
        console.note(f"{len(found.tables) - _MOST_TABLES:,} more; --search finds some, --json has all.")


def files(found: FileList) -> None:
    """Files and folders, with sizes and times as far as the server says them."""
    if not found.entries:
        console.note("Nothing is there.")
        return
    table = console.table("path", "bytes", "changed", right=("bytes",), whole=("path",))
    for each in found.entries:
        size = "folder" if each.is_folder else "–" if each.size is None else f"{each.size:,}"
        table.add_row(_shown(each.path), size, _shown(each.modified[:19].replace("T", " ")))
    console.results.print(table)
    if found.is_cut:
        console.note("There are more: name a folder in it.")


def _whole_table(table: CatalogueTable) -> None:
    rows = "" if table.rows is None else f", about {table.rows:,} rows"
    about = f"  {one_line(table.comment, 200)}" if table.comment else ""
    console.results.print(Text(f"{one_line(table.qualified, 200)} ({table.kind}{rows}){about}", style="bold"))
    made = console.table("column", "type", "", "")
    for column in table.columns:
        marks = [mark for mark, is_there in (("key", column.is_key), ("masked", column.is_masked)) if is_there]
        made.add_row(_shown(column.name), _shown(column.type), " ".join(marks), _shown(column.comment))
    console.results.print(made)
    for key in table.foreign_keys:
        console.line(f"  {', '.join(key.columns)} → {key.table} ({', '.join(key.target)})")


def rows(found: QueryResult, shown: Sequence[Sequence[Any]]) -> None:
    """The first rows of a result."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, type_ in found.columns:
        is_number = any(word in type_ for word in ("int", "float", "double", "decimal"))
        table.add_column(_shown(name), justify="right" if is_number else "left", overflow="fold")
    for row in shown:
        table.add_row(*(_shown("–" if value is None else str(value)) for value in row))
    console.results.print(table)
    more = f"; the first {len(shown)} are shown" if found.rows > len(shown) else ""
    console.note(f"{count_words(found.rows, 'row')}{more}, {found.seconds:g} s.")
    for notice in found.notices:
        console.note(notice)


def statements(lines: Sequence[Mapping[str, Any]]) -> None:
    """What was sent, the latest first."""
    if not lines:
        console.note("Nothing was sent yet.")
        return
    table = console.table("when", "connection", "what came of it", "how much", "who", "statement", right=("how much",))
    for line in lines:
        status = f" {line['status']}" if line["status"] else ""
        outcome = f"{line['outcome']}{status}" + (f": {line['why']}" if line["why"] else "")
        who = line["run"] or line["person"]
        table.add_row(
            line["at"][:19].replace("T", " "), _shown(line["connection"]), _shown(outcome), _how_much(line),
            _shown(who), _shown(line["statement"]),
        )  # fmt: skip
    console.results.print(table)


def _how_much(line: Mapping[str, Any]) -> str:
    """Rows of a query; of requests and files bytes."""
    if line["rows"] is not None:
        return count_words(line["rows"], "row")
    return "" if line["bytes"] is None else count_words(line["bytes"], "byte")


def written(view: Mapping[str, Any]) -> None:
    """What came of a write."""
    if view["outcome"] == "unknown":
        console.note("It was sent, and nobody knows whether it was done. Look; it is not sent again.")
        return
    rows_changed = "" if view["rows"] is None else f": {view['rows']:,} rows"
    console.note(f"Done{rows_changed}.")


def rehearsal_words(name: str, rehearsed: RehearsedWrite) -> str:
    """What a person is asked before a write."""
    much = "nobody can say beforehand how many rows" if rehearsed.rows is None else f"{rehearsed.rows:,} rows"
    return f"This changes {much} in {name} ({', '.join(rehearsed.tables)}):\n{rehearsed.statement}"


def _shown(text: str) -> str:
    return escape(one_line(text, _LONGEST_VALUE))
