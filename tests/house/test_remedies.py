"""Rooms below `cli/` know no option and no command of ours: they give a remedy, which each interface words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from cellwright.cli.render.remedies import TERMINAL
from cellwright.remedies import ARGUMENTS, KINDS, NEUTRAL, Remedy, RemedyKind, Wording
from cellwright.server.http.page_remedies import PAGE
from tests.house.commands import commands
from tests.house.places import SOURCE

ROOMS = SOURCE / "cellwright"
INTERFACES = ("cli/", "testing/", "server/http/page_remedies.py")
JUSTIFIED: Mapping[str, str] = {
    "runs/views/questions.py": "the field `answer_with` is the command that answers, in every interface",
    "models/gateway/openai_http.py": "an answer in OpenAI's format to a program here, which has no other words",
    "server/daemon/predecessor.py": "for a command line of the version before, which can only show a text",
    "server/acp/session.py": "what a person reads in an editor, who may have no page open",
    "server/acp/offered_servers.py": "what a person reads in an editor, of what is done at a terminal",
    "server/mcp/following.py": "what a model reads and tells its person, who may have no page open",
    "sandbox/host/tiers.py": "the options are those of systemd-run",
}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@cache
def spelled() -> tuple[frozenset[str], re.Pattern[str]]:
    """Every option of ours, and what a command begins with."""
    from cellwright.cli.main import app

    tree = commands(app, "cellwright")
    first = sorted({command.words.split()[1] for command in tree if " " in command.words})
    options = frozenset(option for command in tree for option in command.options)
    return options, re.compile(rf"\bcellwright (?:{'|'.join(first)})\b")


def named(text: str) -> list[str]:
    """Options and commands of ours in a text; a lone option is an argument for another program."""
    options, command = spelled()
    found = [] if " " not in text else [option for option in OPTION.findall(text) if option in options]
    return found + command.findall(text)


def parsed() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOMS.rglob("*.py")):
        place, source = str(path.relative_to(ROOMS)), path.read_text(encoding="utf-8")
        # Most have none of it, and are not worth parsing.
        is_worth_it = any(sign in source for sign in (" --", "`--", "cellwright ", "remedy("))
        if is_worth_it and not place.startswith(INTERFACES):
            yield place, ast.parse(source)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text of a module but docstrings, an f-string as one with its values left out."""
    nodes = list(ast.walk(tree))
    unread = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    unread |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in unread:
                yield node.lineno, text
            case ast.JoinedStr(values=parts):
                yield node.lineno, "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in parts)
            case _:
                pass


def test_no_text_below_the_command_line_names_an_option_or_a_command_of_it() -> None:
    found = {place: [(line, text) for line, text in texts(tree) if named(text)] for place, tree in parsed()}
    assert {place: said for place, said in found.items() if said and place not in JUSTIFIED} == {}
    assert {place for place, said in found.items() if said} == JUSTIFIED.keys()


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('hint = "Name files with --data."', True),
        ('hint = f"See `cellwright journal show {run}`."', True),
        ('"""Read by `cellwright doctor`."""', False),
        ('command = ["uv", "--python", "x"]', False),
        ('hint = "Docker: --security-opt systempaths=unconfined."', False),
    ],
)
def test_the_check_finds_options_and_commands_of_ours_and_no_others(source: str, is_found: bool) -> None:
    assert any(named(text) for _, text in texts(ast.parse(source))) is is_found


@pytest.mark.parametrize("words", [NEUTRAL, TERMINAL, PAGE], ids=["for every reader", "terminal", "page"])
def test_every_kind_of_remedy_is_worded_for_every_reader(words: Mapping[RemedyKind, Wording]) -> None:
    said = {kind: Remedy(kind, dict.fromkeys(ARGUMENTS.get(kind, ()), "x")).said(words) for kind in KINDS}
    assert words.keys() == said.keys()
    assert [kind for kind, text in said.items() if not text[:1].isupper() and text[:1] not in "`“"] == []


def test_every_remedy_a_room_gives_has_the_arguments_of_its_kind() -> None:
    given: dict[str, set[str]] = {}
    wrong: list[str] = []
    for place, tree in parsed():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="remedy"), args=[ast.Constant(value=str(kind))], keywords=keywords):
                    names = {str(each.arg) for each in keywords} - {"lead"}
                    given.setdefault(kind, set()).update(names)
                    if kind not in KINDS or names != ARGUMENTS.get(kind, frozenset()):
                        wrong.append(f"{place}:{node.lineno}")
                case _:
                    pass
    assert wrong == []
    assert sorted(set(KINDS) - set(given)) == [], "a kind that nobody gives"
