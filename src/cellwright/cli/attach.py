"""`cellwright attach`: look at, edit and run a notebook in somebody's own `marimo edit`, with a yes each time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.to_thread
import typer

from cellwright.app.attached_goals import forget_token, keep_token
from cellwright.app.attached_notebooks import (
    edits_from_copy,
    find_servers,
    open_attached,
    save_copy,
)
from cellwright.app.notebook_runs import cell_view, refusal_view
from cellwright.cli.attached_server import given_token, meant_server
from cellwright.cli.render import console
from cellwright.cli.terminal_input import ask_line
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.kernel.attached.attached_notebook import AttachedNotebook, HostExecution
from cellwright.kernel.attached.marimo_server import ServerAddress
from cellwright.kernel.observation import Observation
from cellwright.kernel.process.call import CellSelection
from cellwright.notebook.edit_json import parse_edits
from cellwright.settings import Settings
from cellwright.tools.attached_tools import execution_text

app = typer.Typer(help="Work in a notebook that is open in somebody's own `marimo edit`.")


@app.command()
def attach(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="The server's address, without its token.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Which notebook; alone, finds its server.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="P", help="A file that holds the server's token.")
    ] = None,
    ask_token: Annotated[bool, typer.Option("--ask-token", help="Type the server's token, unseen.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep-token", help="Keep the token for goals and programs that work there later.")
    ] = False,
    forget: Annotated[bool, typer.Option("--forget-token", help="Forget the token that was kept.")] = False,
    list_servers: Annotated[bool, typer.Option("--list", help="Show the marimo servers that are found.")] = False,
    apply: Annotated[
        Path | None, typer.Option("--apply", metavar="EDITS.json", help="Make these edits and run what they affect.")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="stale|all|CELL,…", help="Run cells without changing them.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last turn made through Cellwright.")] = False,
    copy: Annotated[
        Path | None, typer.Option("--copy", metavar="FILE", help="Write the cells to a file, to work on in the cage.")
    ] = None,
    take: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Hand back what was done in such a copy.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Look at a notebook in somebody's own marimo; with an option, change or run it, after a yes at this terminal."""
    settings = Settings.read()
    if sum(bool(each) for each in (apply, run, undo, copy, take, list_servers)) > 1:
        raise UserError("These options exclude each other.", hint="Give one of --apply, --run, --undo, --copy, --from.")
    token = given_token(token_file, ask_token=ask_token)
    if keep or forget:
        console.result(_kept(url, token, settings, keep=keep), as_json, _show_kept)
        return
    if list_servers:
        given = [ServerAddress.parse(url, token)] if url else []
        found = anyio.run(find_servers, settings, given)
        console.result({"servers": found}, as_json, lambda _: _show_servers(found))
        return

    async def work() -> dict[str, Any]:
        wanted = str(file.resolve()) if file is not None else ""
        address = await meant_server(url, wanted, token, settings)
        async with _opened(address, wanted, settings) as notebook:
            if copy is not None:
                await anyio.to_thread.run_sync(save_copy, notebook, copy, settings)
                return {"copy": str(copy), "ok": True}
            if apply is not None:
                edits = parse_edits(_read_edits(apply), notebook.document)
                return _view(notebook, await notebook.apply(edits))
            if take is not None:
                return await _taken(notebook, take, settings)
            if undo:
                return _view(notebook, await notebook.undo())
            return _view(notebook, await notebook.run(_selection(run, notebook)) if run else None)

    result = anyio.run(work)
    console.result(result, as_json, _show)
    raise typer.Exit(0 if result["ok"] else 1)


def _opened(address: ServerAddress, file: str, settings: Settings) -> AbstractAsyncContextManager[AttachedNotebook]:
    return open_attached(address, ask=_ask, file=file, settings=settings)


async def _ask(wanted: HostExecution) -> bool:
    if not console.is_interactive():
        raise RefusedByPolicy(
            "Code of an attached notebook runs outside any cage, and nobody is at this terminal to allow it.",
            hint="Run this at a terminal; or work on a copy in the cage: --copy FILE, then --from FILE.",
        )
    console.people.print(execution_text(wanted), markup=False, soft_wrap=True)
    answer = await ask_line("Run this there? [y/N] ")
    return answer is not None and answer.lower() in {"y", "yes"}


async def _taken(notebook: AttachedNotebook, copy: Path, settings: Settings) -> dict[str, Any]:
    edits, kept = await anyio.to_thread.run_sync(edits_from_copy, notebook, copy, settings)
    if kept:
        console.note(f"Left as they are, because they were changed since: {', '.join(kept)}.")
    view = _view(notebook, await notebook.apply(edits) if edits else Observation(stale=notebook.stale))
    return {**view, "kept": list(kept), "ok": view["ok"] and not kept}


def _read_edits(path: Path) -> object:
    try:
        return json.loads(typer.get_text_stream("stdin").read() if str(path) == "-" else path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{str(path)!r} holds no JSON that can be read.", hint="A JSON list of edits.") from error


def _selection(text: str, notebook: AttachedNotebook) -> CellSelection:
    if text == "all":
        return "all"
    if text == "stale":
        return "stale"
    ids = {cell.name: cell.id for cell in notebook.document.cells} | {
        cell.id: cell.id for cell in notebook.document.cells
    }
    wanted = [word.strip() for word in text.split(",")]
    if unknown := [word for word in wanted if word not in ids]:
        raise UserError(f"There is no cell {unknown[0]!r}.", hint=f"Cells: {', '.join(ids.values()) or 'none'}.")
    return [ids[word] for word in wanted]


def _kept(url: str | None, token: str, settings: Settings, *, keep: bool) -> dict[str, Any]:
    if not url or (keep and not token):
        raise UserError("Which server, and which token?", hint="Give its address, and --ask-token or --token-file.")
    address = ServerAddress.parse(url, token)
    if keep:
        return {"server": address.url, "kept_in": keep_token(address, settings), "ok": True}
    return {"server": address.url, "forgotten": forget_token(address.url, settings), "ok": True}


def _show_kept(view: dict[str, Any]) -> None:
    if "kept_in" in view:
        console.note(f"The token of {view['server']} is kept ({view['kept_in']}); --forget-token forgets it.")
    else:
        console.note(f"{'Forgotten' if view['forgotten'] else 'No token was kept'}: {view['server']}.")


# ── what is shown ──


def _view(notebook: AttachedNotebook, seen: Observation | None) -> dict[str, Any]:
    outcomes = notebook.outcomes
    cells: Sequence[Any] = [outcomes[cell.id] for cell in notebook.document.cells] if seen is None else seen.cells
    codes = {cell.id: cell for cell in notebook.document.cells}
    return {
        "server": notebook.server.address.url,
        "path": notebook.path,
        "caged": False,
        "cells": [
            {**cell_view(each), "code": codes[each.id].code, "version": codes[each.id].version} for each in cells
        ],
        "stale": list(notebook.stale),
        "variables": [{"name": each.name, "type": each.type, "text": each.text} for each in notebook.look()],
        "refused": refusal_view(seen) if seen is not None else None,
        "problem": seen.problem if seen is not None else "",
        "ok": seen is None or seen.is_ok,
        "summary": notebook.summary() if seen is None else "",
    }


def _show(view: dict[str, Any]) -> None:
    if "copy" in view:
        console.note(f"Copied to {view['copy']}. Work on it there, then hand it back with --from {view['copy']}.")
        return
    console.note(f"{view['path'] or 'unsaved'} on {view['server']}: no cage, no branches, no limits there.")
    if view["summary"]:
        console.line(view["summary"])
    for cell in view["cells"] if not view["summary"] else ():
        shown = cell["output"]["text"] if cell["output"] else ""
        error = f"{cell['error']['type']}: {cell['error']['message']}" if cell["error"] else ""
        console.line(f"{cell['status']:<9} {cell['name']}  {' '.join(filter(None, [shown, error]))[:400]}".rstrip())
    if view["refused"]:
        console.note(f"refused: {view['refused']['message']}")
    if view["problem"]:
        console.note(view["problem"])


def _show_servers(found: list[dict[str, Any]]) -> None:
    if not found:
        console.note("No marimo server was found. One with a token writes itself down nowhere: give its address.")
    for view in found:
        token = ", wants its token" if view["needs_token"] else ""
        told = f"marimo {view['version']}{token}" if view["version"] else view["problem"]
        console.line(f"{view['url']}  {told}  {', '.join(filter(None, view['notebooks']))}".rstrip())
