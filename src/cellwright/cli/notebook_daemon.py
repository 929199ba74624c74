"""A notebook run or verified by the daemon that is up: its zygote is warm, and this process loads next to nothing."""

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
from cellwright.remedies import Hint, parse_remedy
from cellwright.server.daemon.connection import DaemonConnection, as_json, find_daemon
from cellwright.server.daemon.launch import DaemonLaunch
from cellwright.server.http.errors import read_error
from cellwright.settings import Settings


def run_in_daemon(file: Path, chosen: NotebookChoice, settings: Settings) -> dict[str, Any] | None:
    """What came of it; None if no daemon of this version is up, and nothing was done."""
    result = _asked("/notebook-runs", _body(file, chosen, settings, may_ask=console.is_interactive()), chosen, settings)
    if result is not None and (held_back := result["held_back"]):
        held_back["hint"] = _read_hint(held_back["hint"])
    return result


def verify_in_daemon(
    file: Path, chosen: NotebookChoice, settings: Settings, *, seconds: float, is_strict: bool
) -> dict[str, Any] | None:
    """What a check from scratch found; None if no daemon of this version is up, and nothing was done."""
    body = _body(file, chosen, settings, seconds=seconds, is_strict=is_strict)
    result = _asked("/notebook-verifications", body, chosen, settings)
    for reason in result["reasons"] if result is not None else ():
        reason["hint"] = _read_hint(reason["hint"])
    return result


def _body(file: Path, chosen: NotebookChoice, settings: Settings, **more: Any) -> bytes:
    words = chosen.words()
    if chosen.project is not None:
        words["project"] = str(chosen.project.absolute())
    given = {"path": str(file.absolute()), "here": str(Path.cwd()), "connection": dict(settings.connection.variables)}
    return as_json({**words, **given, **more}) or b""


def _read_hint(hint: Any) -> Hint:
    return parse_remedy(hint) or hint


def _asked(route: str, body: bytes, chosen: NotebookChoice, settings: Settings) -> dict[str, Any] | None:
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
        return _followed(found, route, body, chosen, settings)


def _followed(
    daemon: DaemonConnection, route: str, body: bytes, chosen: NotebookChoice, settings: Settings
) -> dict[str, Any]:
    try:
        for line in daemon.follow_lines("POST", route, body):
            match line:
                case {"result": result}:
                    return result
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
