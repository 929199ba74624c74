"""`cellwright data connect|list|test|schema|files|query|statements|forget|start|stop`: data by a name."""

from __future__ import annotations

import os
import sys
import uuid
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Final, cast

import anyio
import anyio.to_thread
import typer

from cellwright.background import current_person, has_ended, running_pid
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import connection_tables, console
from cellwright.cli.render.remedies import hint_text
from cellwright.cli.result_files import check_result_file, read_rows, write_result
from cellwright.cli.secret_input import secret_from_person, secret_from_stdin
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.connections import (
    DataConnection,
    QueryLimits,
    connections_at,
    find_connection,
    remove_connection,
    store_connection,
)
from cellwright.data.estimates import costly_words, with_agreement
from cellwright.data.messages import (
    Asker,
    CostlyQuery,
    ListFiles,
    ListStatements,
    MakeWrite,
    ReadSchema,
    RehearsedWrite,
    RehearseWrite,
    RunQuery,
)
from cellwright.data.source_kinds import FILE_KINDS, SOURCE_KINDS, SQL_KINDS, UNTRIED_KINDS, SourceKind, a_connection
from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.secrets import forget_secret, keep_secret, kept_secrets
from cellwright.settings import Settings

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the connection is called.")]
_MOST_SHOWN: Final = 50


def add_commands(app: typer.Typer) -> None:
    """Put these commands among those of `cellwright data`."""
    for name, command in (
        ("connect", connect), ("list", list_command), ("test", test), ("schema", schema), ("files", files),
        ("query", query), ("statements", statements), ("forget", forget), ("start", start), ("stop", stop),
    ):  # fmt: skip
        app.command(name)(command)


def connect(
    name: NameArgument,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help=f"One of: {', '.join(SOURCE_KINDS)}.")] = "",
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Where the server is.")] = "",
    port: Annotated[str, typer.Option("--port", metavar="N", help="Its port, if it is not the usual one.")] = "",
    database: Annotated[str, typer.Option("--database", metavar="NAME", help="The database there.")] = "",
    user: Annotated[str, typer.Option("--user", metavar="USER", help="As whom; best one that can only read.")] = "",
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Where an API or a file server is.")] = "",
    path: Annotated[
        str,
        typer.Option("--path", metavar="FILE", help="The file of a database; a folder of a server."),
    ] = "",
    tls: Annotated[str, typer.Option("--tls", metavar="MODE", help="off, prefer, require or verify.")] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="Anything else it takes: `account=…`.")
    ] = None,
    secret_command: Annotated[
        str, typer.Option("--secret-command", metavar="COMMAND", help="Prints the secret: `op read op://…`.")
    ] = "",
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")] = False,
    no_secret: Annotated[bool, typer.Option("--no-secret", help="The server wants none.")] = False,
    file: Annotated[bool, typer.Option("--file", help="Keep it in a file only you can read, not the keyring.")] = False,
    writer: Annotated[
        str | None,
        typer.Option("--writer", metavar="USER", help="As whom approved changes are made; its secret is asked for."),
    ] = None,
    mask: Annotated[
        list[str] | None, typer.Option("--mask", metavar="TABLE.COLUMN", help="A column nobody sees the values of.")
    ] = None,
    rows: Annotated[int | None, typer.Option("--rows", metavar="N", min=1, help="Most rows of one result.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", min=1, help="Longest query.")] = None,
    for_project: Annotated[
        list[Path] | None, typer.Option("--for-project", metavar="DIR", help="Only notebooks there may use it.")
    ] = None,
    test_it: Annotated[bool, typer.Option("--test/--no-test", help="Try it right away.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Name a database, bucket or API, or change one: what it leads to, and its secret, which is never an argument."""
    settings = Settings.read()
    home = settings.ready_home()
    known = connections_at(home).get(name)
    if (kind or (known and known.kind)) in FILE_KINDS and path:
        path = str(Path(path).expanduser().absolute())
    options = {"host": host, "port": port, "database": database, "user": user, "tls": tls, "url": url, "path": path}
    given = {key: value for key, value in options.items() if value} | dict(_pair(word) for word in option or ())
    connection = _changed(known, name, kind, _with_whole_paths(given))
    if rows is not None and connection.kind not in SQL_KINDS:
        raise UserError(f"{a_connection(connection.kind)} has no rows.", hint="Leave --rows out; --seconds it has.")
    is_kept_or_none = _is_kept_or_none(bool(secret_command), stdin=stdin and not writer, no_secret=no_secret)
    connection = replace(
        connection,
        secret_command=tuple(secret_command.split()) or (() if is_kept_or_none else connection.secret_command),
        writer=connection.writer if writer is None else writer,
        masked=connection.masked if mask is None else tuple(mask),
        limits=QueryLimits(
            rows=rows or connection.limits.rows,
            megabytes=connection.limits.megabytes,
            seconds=seconds or connection.limits.seconds,
        ),
        projects=connection.projects
        if for_project is None
        else tuple(str(folder.expanduser().resolve()) for folder in for_project),
    )
    store_connection(home, connection)
    if secret_command:
        # What is kept would go first.
        forget_secret(home, connection.secret_name)
    kept = _keep_secret(home, connection, stdin=stdin, no_secret=no_secret, file=file, is_new_writer=bool(writer))
    view = anyio.run(_connected, settings, connection, kept, test_it)
    console.result(view, as_json, connection_tables.connected)
    raise typer.Exit(0 if view["problem"] is None else 1)


def list_command(as_json: JsonOption = False) -> None:
    """List the connections there are: where each leads, as whom, and where its secret is kept."""
    home = Settings.read().home
    kept = kept_secrets(home)
    rows = [connection_view(each, kept.get(each.secret_name, "")) for each in connections_at(home).values()]
    console.result({"connections": rows}, as_json, lambda _: connection_tables.connections(rows))


def test(name: NameArgument, as_json: JsonOption = False) -> None:
    """Open a connection anew and look what is there; exit 1 with what is wrong if it cannot be opened."""
    settings = Settings.read()
    find_connection(settings.home, name)
    tried = anyio.run(_client(settings).try_connection, name)
    console.result(asdict(tried) | {"connection": name}, as_json, connection_tables.tried)


def schema(
    name: NameArgument,
    tables: Annotated[list[str] | None, typer.Argument(metavar="[TABLE]...", help="Only these, with columns.")] = None,
    search: Annotated[str, typer.Option("--search", metavar="WORDS", help="Tables that fit these words.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Read it from the server again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show tables, columns and keys of a connection."""
    settings = Settings.read()
    asked = ReadSchema(connection=name, tables=tuple(tables) if tables else None, fresh=fresh)
    found = anyio.run(_client(settings).schema, asked)
    if search:
        from cellwright.data.table_choice import choose_tables

        found = replace(found, tables=tuple(choose_tables(found, search, most=20).tables))
    if tables and not found.tables:
        raise UserError(f"{name!r} has no table {tables[0]!r}.", hint=f"`cellwright data schema {name}` lists them.")
    console.result(
        asdict(found), as_json, lambda _: connection_tables.catalogue(found, is_whole=bool(tables or search))
    )


def files(
    name: NameArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="A folder in it; a bucket's name comes first.")] = "",
    below: Annotated[bool, typer.Option("--below", help="Everything below it, not only what is in it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the files of a bucket or file server."""
    asked = ListFiles(connection=name, path=path, recursive=below, asker=_me())
    found = anyio.run(_client(Settings.read()).files, asked)
    console.result(asdict(found) | {"connection": name}, as_json, lambda _: connection_tables.files(found))


def query(
    name: NameArgument,
    statement: Annotated[str, typer.Argument(metavar="SQL", help="One statement; `-` reads it from standard input.")],
    write: Annotated[
        bool, typer.Option("--write", help="It changes data: you see what it does, then say yes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: make the change, or read much.")] = False,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="So many rows at most.")] = 1000,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all rows to a .csv, .jsonl or .arrow file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a connection something, or with --write change something there after a rehearsal."""
    settings = Settings.read()
    text = sys.stdin.read() if statement == "-" else statement
    if out is not None:
        check_result_file(out)
    if write:
        console.result(_write(settings, name, text, yes=yes, as_json=as_json), as_json, connection_tables.written)
        return
    form = "arrow" if out is not None and out.suffix == ".arrow" else "json"
    asked = RunQuery(connection=name, statement=text, rows=None if out else rows, form=form, asker=_me())
    found = anyio.run(_client(settings).query, asked)
    if isinstance(found, CostlyQuery):
        _agree(costly_words(found), yes=yes, as_json=as_json)
        found = anyio.run(_client(settings).query, with_agreement(asked, found))
    assert not isinstance(found, CostlyQuery)
    with os.fdopen(found.descriptor, "rb") as result:
        if out is not None:
            write_result(result, [column for column, _ in found.columns], out)
            console.result({"rows": found.rows, "file": str(out)}, as_json, f"{found.rows:,} rows in {out}.")
            return
        shown = read_rows(result)
    view = {"columns": found.columns, "rows": shown, "notices": found.notices, "seconds": found.seconds}
    console.result(view, as_json, lambda _: connection_tables.rows(found, shown[:_MOST_SHOWN]))


def statements(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Of this connection; else of all.")] = "",
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, max=1000, help="So many, the latest first.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Show what was sent and what was refused: by whom, which tables, columns and files, how many rows and bytes."""
    asked = ListStatements(connection=name, most=most)
    found = [asdict(line) for line in anyio.run(_client(Settings.read()).statements, asked)]
    console.result({"statements": found}, as_json, lambda _: connection_tables.statements(found))


def forget(name: NameArgument, as_json: JsonOption = False) -> None:
    """Take a connection and its secrets away. What was done through it stays in the record."""
    settings = Settings.read()
    connection = find_connection(settings.home, name)
    removed = [*forget_secret(settings.home, connection.secret_name)]
    removed += forget_secret(settings.home, connection.writer_secret_name)
    remove_connection(settings.home, name)
    anyio.run(_client(settings).secrets_changed, name)
    note = f"{name} is forgotten" + (f", and its secret removed from the {removed[0]}." if removed else ".")
    console.result({"connection": name, "removed_from": removed}, as_json, note)


def start(as_json: JsonOption = False) -> None:
    """Start the data broker, which holds the secrets of connections, if it does not run."""
    settings = Settings.read()
    anyio.run(_client(settings).statements, ListStatements(most=1))
    pid = running_pid(broker_at(settings.home))
    console.result({"running": pid is not None, "pid": pid}, as_json, f"The data broker runs (pid {pid}).")


def stop(as_json: JsonOption = False) -> None:
    """End the data broker; queries that run are cancelled, and the next one starts it anew."""
    settings = Settings.read()
    pid = running_pid(broker_at(settings.home))
    was_running = anyio.run(_client(settings).stop)
    ended = pid is None or has_ended(broker_at(settings.home), pid, 10)
    note = "The data broker has ended." if was_running and ended else "No data broker runs."
    console.result({"was_running": was_running, "ended": ended}, as_json, note)


# ── what is typed ──


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise UserError(f"{word!r} is no option.", hint="Write --option KEY=VALUE.")
    if key in {"password", "secret", "token", "key"}:
        raise UserError(
            "A secret is never an argument: others can read those.", hint="Leave it out; you will be asked."
        )
    return key, value


def _with_whole_paths(given: dict[str, str]) -> dict[str, str]:
    """Files of this machine as the broker finds them, wherever it was started."""
    whole = dict(given)
    if whole.get("tls_ca"):
        whole["tls_ca"] = str(Path(whole["tls_ca"]).expanduser().absolute())
    if (document := whole.get("openapi", "")).startswith("file:"):
        file = Path(document.removeprefix("file:")).expanduser().absolute()
        if not file.is_file():
            raise UserError(f"There is no file {str(file)!r}.", hint="Name the OpenAPI document as file:PATH.")
        whole["openapi"] = f"file:{file}"
    return whole


def _changed(known: DataConnection | None, name: str, kind: str, given: dict[str, str]) -> DataConnection:
    if kind and kind not in SOURCE_KINDS:
        raise UserError(f"Unknown kind {kind!r}.", hint=f"One of: {', '.join(SOURCE_KINDS)}.")
    if known is None and not kind:
        raise UserError(
            f"No connection is called {name!r} yet.", hint=f"Say --kind, one of: {', '.join(SOURCE_KINDS)}."
        )
    if known is not None and (not kind or kind == known.kind):
        # What is given as nothing is taken away.
        return replace(known, options={key: value for key, value in {**known.options, **given}.items() if value})
    if known is not None:
        raise UserError(
            f"There is a connection {name!r} already, of the kind {known.kind}: it leads to {known.place}.",
            hint=f"Choose another name, or take that one away first: `cellwright data forget {name}`.",
        )
    return DataConnection(name=name, kind=cast("SourceKind", kind), options=given)


def _is_kept_or_none(is_told: bool, *, stdin: bool, no_secret: bool) -> bool:
    """Whether no command tells the secret from now on: what is given takes the place of what was."""
    given = {"--secret-command": is_told, "--stdin": stdin, "--no-secret": no_secret}
    if len(several := [option for option, is_there in given.items() if is_there]) > 1:
        raise UserError(f"A secret comes one way, not by {' and '.join(several)}.", hint="Say one of them.")
    return stdin or no_secret


def _keep_secret(
    home: Path, connection: DataConnection, *, stdin: bool, no_secret: bool, file: bool, is_new_writer: bool
) -> str:
    """Ask for what is to be kept; where the connection's secret is now, in a word."""
    if connection.kind in FILE_KINDS:
        return ""
    place = "file" if file else None
    if is_new_writer and (stdin or sys.stdin.isatty()):
        question = f"Secret of the writer {connection.writer}"
        value = secret_from_stdin("a secret") if stdin else secret_from_person(question)
        keep_secret(home, connection.writer_secret_name, value.rstrip("\r\n"), place)
    if connection.secret_command:
        return "command"
    if no_secret:
        forget_secret(home, connection.secret_name)
        return ""
    known = kept_secrets(home).get(connection.secret_name)
    if stdin and not is_new_writer:
        return keep_secret(home, connection.secret_name, secret_from_stdin("a secret").rstrip("\r\n"), place)
    if not sys.stdin.isatty():
        # A script that only changes an option: what is kept stays, and a variable may hand one over.
        return known or ""
    value = secret_from_person(f"Secret of {connection.name}{', empty keeps it' if known else ''}")
    return keep_secret(home, connection.secret_name, value, place) if value else known or ""


def _agree(what: str, *, yes: bool, as_json: bool) -> None:
    if yes:
        return
    if as_json or not console.is_interactive():
        raise RefusedByPolicy(what, hint="Say --yes if that is meant.")
    console.note(what)
    if not typer.confirm("Go on?"):
        raise RefusedByPolicy("Nothing was done.", hint="You said no.")


# ── what is asked ──


def _client(settings: Settings) -> BrokerClient:
    return BrokerClient(launch=settings.broker_launch())


def _me() -> Asker:
    return Asker(person=current_person())


async def _connected(settings: Settings, connection: DataConnection, kept: str, test_it: bool) -> dict[str, Any]:
    client = _client(settings)
    await client.secrets_changed(connection.name)
    view = connection_view(connection, kept) | {"problem": None, "tried": None}
    if not test_it:
        return view
    try:
        return view | {"tried": asdict(await client.try_connection(connection.name))}
    except CellwrightError as problem:
        return view | {"problem": {"message": problem.message, "hint": hint_text(problem.advice)}}


def _write(settings: Settings, name: str, text: str, *, yes: bool, as_json: bool) -> dict[str, Any]:
    client = _client(settings)
    rehearsed: RehearsedWrite = anyio.run(client.rehearse, RehearseWrite(connection=name, statement=text, asker=_me()))
    _agree(connection_tables.rehearsal_words(name, rehearsed), yes=yes, as_json=as_json)
    made = anyio.run(
        client.write, MakeWrite(id=uuid.uuid4().hex, connection=name, statement=rehearsed.statement, asker=_me())
    )
    return asdict(made) | {"connection": name, "statement": rehearsed.statement, "rehearsed_rows": rehearsed.rows}


def connection_view(connection: DataConnection, kept: str) -> dict[str, Any]:
    """A connection as plain JSON values, without any secret."""
    return {
        "name": connection.name,
        "kind": connection.kind,
        "leads_to": connection.place,
        "user": connection.options.get("user") or connection.options.get("access_key_id", ""),
        "writer": connection.writer,
        "secret": "command" if connection.secret_command else kept,
        "masked": list(connection.masked),
        "projects": list(connection.projects),
        "is_untried": connection.kind in UNTRIED_KINDS,
    }
