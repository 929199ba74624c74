"""`cellwright tools list|add|allow|remove`: servers whose tools agents may call."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import anyio
import typer

from cellwright.app.tool_registry import (
    add_server,
    allow_tools,
    find_proposal,
    forget_server,
    list_servers,
    look_at_server,
    server_view,
)
from cellwright.background import current_person
from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console, tool_server_tables
from cellwright.cli.render.console import is_interactive
from cellwright.cli.render.remedies import hint_text
from cellwright.cli.secret_input import secret_from_person, secret_from_stdin
from cellwright.cli.terminal_input import ask_line
from cellwright.errors import UserError
from cellwright.sandbox.host.project import project_of
from cellwright.settings import Settings
from cellwright.tools.mcp.servers import FILES_SHOWN, NamedServer, server_json, servers_at

app = typer.Typer(help="Servers whose tools agents may call (MCP): name them, look at what they say, allow it.",
                  no_args_is_help=True)  # fmt: skip
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the server is called.")]


@app.command("list")
def list_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Only this one, asked what it says now.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List servers with their tools and what would be said to a call; with a name, ask that one."""
    settings, project = Settings.read(), _project()
    if name:
        state = anyio.run(lambda: look_at_server(settings, name, project, on_progress=console.note))
        console.result(server_view(state, hint_text), as_json, tool_server_tables.server)
        raise typer.Exit(0 if state.problem is None else 1)
    states, proposed = list_servers(settings, project)
    view = {
        "servers": [server_view(state, hint_text) for state in states],
        "proposed": [{"name": each.name, "place": each.place} | server_json(each) for each in proposed],
    }
    console.result(view, as_json, tool_server_tables.servers)


@app.command()
def add(
    name: NameArgument,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND ARGS...]", help="What is started, in a cage of its own.")
    ] = None,
    package: Annotated[
        list[str] | None,
        typer.Option(
            "--package", metavar="NAME==VERSION", help="A Python package it needs, in an environment of its own."
        ),
    ] = None,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="A server that is reached over HTTP.")] = "",
    software: Annotated[
        list[Path] | None, typer.Option("--software", metavar="DIR", help="A folder the command needs to read.")
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", metavar="HOST[:PORT]", help="What it may reach; else no network.")
    ] = None,
    private_hosts: Annotated[
        bool, typer.Option("--private-hosts", help="Its hosts or address may be this machine or its network.")
    ] = False,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="VARIABLE", help="A secret it is given; `token` for one at an address."),
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")] = False,
    setting: Annotated[
        list[str] | None, typer.Option("--setting", metavar="VARIABLE=VALUE", help="A variable that is no secret.")
    ] = None,
    files: Annotated[
        str, typer.Option("--files", metavar="|".join(FILES_SHOWN), help="Whether it sees the project, at /project.")
    ] = "none",
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=1, max=3600, help="How long one call may take.")
    ] = 120,
    for_project: Annotated[
        list[Path] | None, typer.Option("--for-project", metavar="DIR", help="Only runs there may use it.")
    ] = None,
    proposed: Annotated[bool, typer.Option("--proposed", help="The one this project proposes by that name.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether a proposed one may run.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Name a server, or change one, and try it. Its tools wait until you have looked at them and allowed them."""
    settings = Settings.read()
    project = _project()
    known = servers_at(settings.ready_home()).get(name)
    if proposed:
        server = find_proposal(project, name)
        _confirm_proposal(server, project, yes=yes, as_json=as_json)
    else:
        if files not in FILES_SHOWN:
            raise UserError(f"Unknown --files {files!r}.", hint=f"One of: {', '.join(FILES_SHOWN)}.")
        asked = tuple(secret or ())
        server = NamedServer(
            name=name,
            command=tuple(command or ()),
            packages=tuple(package or ()),
            url=url,
            software=tuple(str(folder.expanduser().absolute()) for folder in software or ()),
            hosts=tuple(host or ()),
            private_hosts=private_hosts,
            variables=() if url else asked,
            settings=MappingProxyType(dict(_pair(word) for word in setting or ())),
            files=files,
            call_seconds=seconds,
            projects=tuple(str(folder.expanduser().resolve()) for folder in for_project or ()),
        )
        if known is not None and not command and not url:
            # Only a secret is given again.
            server = replace(known, variables=tuple(dict.fromkeys([*known.variables, *server.variables])))
    secrets = _secret_values(server, tuple(secret or server.variables), stdin=stdin)
    anyio.run(lambda: add_server(settings, server, project, secrets=secrets, on_progress=console.note))
    state = anyio.run(lambda: look_at_server(settings, name, project, on_progress=console.note))
    console.result(server_view(state, hint_text), as_json, tool_server_tables.added)
    raise typer.Exit(0 if state.problem is None else 1)


@app.command()
def allow(
    name: NameArgument,
    fingerprint: Annotated[
        str | None, typer.Option("--fingerprint", metavar="F", help="What you were shown; does not ask again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """See what is new or changed of a server's tools, and let agents know of it; exit 3 if that is not as shown."""
    settings = Settings.read()
    state = anyio.run(lambda: look_at_server(settings, name, _project(), on_progress=console.note))
    if state.problem is not None:
        raise state.problem
    view = server_view(state, hint_text)
    if not state.waiting:
        console.result(view, as_json, "Nothing of it waits to be allowed.")
        return
    if fingerprint is None:
        _confirm_tools(view, as_json=as_json)
        fingerprint = state.fingerprint
    allowed = anyio.run(
        lambda: allow_tools(settings, state, by=current_person(), fingerprint=fingerprint or "")
    )  # fmt: skip
    said = f"Allowed: {', '.join(allowed)}." if allowed else "What is gone is forgotten."
    console.result({"server": name, "allowed": list(allowed)}, as_json, said)


@app.command()
def remove(name: NameArgument, as_json: JsonOption = False) -> None:
    """Take a server away, with its secrets and what was allowed of it."""
    forgotten = forget_server(Settings.read(), name)
    note = f"{name} is removed" + (f", and its secrets: {', '.join(forgotten)}." if forgotten else ".")
    console.result({"server": name, "secrets_removed": list(forgotten)}, as_json, note)


def _project() -> Path:
    return project_of(Path.cwd() / "notebook.py")


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise UserError(f"{word!r} sets nothing.", hint="Write VARIABLE=VALUE.")
    return name, value


def _secret_values(server: NamedServer, wanted: tuple[str, ...], *, stdin: bool) -> dict[str, str]:
    for variable in wanted:
        if variable not in server.secret_names:
            raise UserError(f"The server is given no secret {variable!r}.", hint="One at an address has `token`.")
    if stdin and len(wanted) != 1:
        raise UserError("--stdin reads one secret.", hint="Name it with --secret, and give others in further commands.")
    if stdin:
        return {wanted[0]: secret_from_stdin(wanted[0]).strip()}
    if not wanted or not sys.stdin.isatty():
        return {}
    return {variable: secret_from_person(f"{variable} of {server.name}") for variable in wanted}


def _confirm_proposal(server: NamedServer, project: Path, *, yes: bool, as_json: bool) -> None:
    """What a project proposes runs only after somebody has seen what that is."""
    if yes:
        return
    if as_json or not is_interactive():
        raise UserError("Nobody is at this terminal to see what would run.", hint="Look, then add --yes.")
    tool_server_tables.proposal({"name": server.name, "project": str(project)} | server_json(server))
    if (anyio.run(ask_line, "Make it yours? [y/N]") or "").lower() not in {"y", "yes"}:
        console.note("Not added.")
        raise typer.Exit(1)


def _confirm_tools(view: dict[str, Any], *, as_json: bool) -> None:
    if as_json or not is_interactive():
        raise UserError(
            "Nobody is at this terminal to see what is allowed.",
            hint=f"Look with `cellwright tools list {shlex.quote(view['name'])}`, then add the --fingerprint it shows.",
        )
    tool_server_tables.waiting(view)
    if (anyio.run(ask_line, "Allow it? [y/N]") or "").lower() not in {"y", "yes"}:
        console.note("Not allowed.")
        raise typer.Exit(1)
