"""A notebook run by the daemon that is up: its zygote is warm, and this process loads next to nothing."""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any

import anyio

from cellwright.cli.notebook_options import NotebookChoice
from cellwright.cli.render import console
from cellwright.errors import CellwrightError, Unavailable
from cellwright.remedies import parse_remedy
from cellwright.server.daemon.connection import DaemonConnection, as_json, find_daemon, read_error
from cellwright.server.daemon.launch import DaemonLaunch
from cellwright.settings import Settings


def run_in_daemon(file: Path, chosen: NotebookChoice, settings: Settings) -> dict[str, Any] | None:
    """What came of it; None if no daemon of this version is up, and nothing was done."""
    launch = DaemonLaunch()
    try:
        found = find_daemon(settings, launch)
    except CellwrightError:
        # One that hangs, or is somebody else's: a notebook can do without.
        return None
    if found is None:
        return None
    with closing(found):
        if not isinstance(found, DaemonConnection) or found.version.version != launch.version:
            return None
        return _followed(found, file, chosen, settings)


def _followed(daemon: DaemonConnection, file: Path, chosen: NotebookChoice, settings: Settings) -> dict[str, Any]:
    words = chosen.words()
    if chosen.project is not None:
        words["project"] = str(chosen.project.absolute())
    body = {
        **words,
        "path": str(file.absolute()),
        "here": str(Path.cwd()),
        "may_ask": console.is_interactive(),
        "connection": dict(settings.connection.variables),
    }
    try:
        for line in daemon.follow_lines("POST", "/notebook-runs", as_json(body) or b""):
            match line:
                case {"result": result}:
                    return _worded(result)
                case {"problem": problem}:
                    raise read_error(json.dumps(problem).encode(), "")
                case {"note": text}:
                    console.note(text)
                case {"cell": cell} if not chosen.as_json:
                    console.cell_line(cell)
                case {"question": question}:
                    _answer(question, settings)
                case _:
                    pass
    except (ConnectionError, HTTPException) as error:
        raise _ended() from error
    raise _ended()


def _ended() -> Unavailable:
    return Unavailable("The daemon ended before the notebook did.", hint="Run it again: nothing was kept.")


def _answer(question: dict[str, Any], settings: Settings) -> None:
    """Asked at this terminal, told over a connection of its own: the other one still tells of the notebook."""
    from cellwright.cli.terminal_input import ask_to_keep_changes

    keep = anyio.run(ask_to_keep_changes, str(question["reason"]))
    if (daemon := find_daemon(settings, DaemonLaunch())) is None:
        raise _ended()
    with closing(daemon):
        daemon.ask("POST", f"/notebook-runs/questions/{question['id']}", as_json({"keep": keep}))


def _worded(result: dict[str, Any]) -> dict[str, Any]:
    if held_back := result["held_back"]:
        held_back["hint"] = parse_remedy(held_back["hint"]) or held_back["hint"]
    return result
