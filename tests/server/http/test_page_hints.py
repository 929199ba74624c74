"""Advice from the web door makes sense in the page: it names no option that only the command line has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cellwright
from cellwright.server.http.page_hints import IN_A_TERMINAL, page_hint

ROOT = Path(cellwright.__file__).parent
TERMINAL = (
    *(
        "cli/",
        "server/daemon/client.py",
        "server/daemon/connection.py",
        "server/daemon/messages.py",
        "server/daemon/predecessor.py",
        "server/daemon/launch.py",
    ),
    *("server/http/addresses.py", "server/daemon/web_server.py", "server/http/uvicorn_server.py"),
    *("journal/maintenance.py", "journal/chain.py"),
)
"""What speaks only to whoever typed a command."""
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"cellwright ([a-z-]+(?: [a-z-]+)?)")
QUOTED = re.compile(r"`cellwright [^`]*`")


def words(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(words(part) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(left=left, right=right):
            return words(left) + words(right)
        case ast.IfExp(body=body, orelse=other):
            return f"{words(body)} {words(other)}"
        case _:
            return ""


def errors() -> Iterator[tuple[str, str]]:
    """Each message and hint that a request may meet, with where it is."""
    for path in sorted(ROOT.rglob("*.py")):
        place = str(path.relative_to(ROOT))
        if place.startswith(TERMINAL):
            continue
        # Most have none, and are not worth parsing.
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "hint=" in source else ():
            if isinstance(node, ast.Call) and any(each.arg == "hint" for each in node.keywords):
                for part in (*node.args, *(each.value for each in node.keywords if each.arg == "hint")):
                    yield f"{place}:{node.lineno}", words(part)


def foreign(text: str) -> list[str]:
    """What of a text the page has no place for."""
    commands = [found for found in COMMAND.findall(text) if not found.startswith(tuple(IN_A_TERMINAL))]
    return commands + OPTION.findall(QUOTED.sub("", text))


def test_no_error_that_a_request_may_meet_speaks_of_the_command_line() -> None:
    found = list(errors())
    assert {where for where, text in found if foreign(text)}
    assert [(where, said) for where, text in found if foreign(said := page_hint(text))] == []


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Name files or folders with --data.", "Add files or folders to the goal."),
        ("Two --data options are named 'x'.", "Two files or folders are named 'x'."),
        ("See `cellwright journal show r-1`.", "See the list of runs."),
        ("Run `cellwright doctor`.", "See “This machine” in the settings."),
        (
            "`cellwright doctor` says what is missing; --allow-uncontained runs it all the same.",
            "“This machine” in the settings says what is missing.",
        ),
        ("`cellwright serve url` gives a fresh one.", "`cellwright serve url` gives a fresh one."),
        ("No data at '/x/--data'.", "No data at '/x/--data'."),
    ],
)
def test_advice_is_said_in_the_pages_words(typed: str, shown: str) -> None:
    assert page_hint(typed) == shown
