"""Advice in the page makes sense there: it names no option that only the command line has."""

from __future__ import annotations

import re

import pytest

from cellwright.errors import RefusedByPolicy, UserError
from cellwright.remedies import ARGUMENTS, KINDS, Remedy, remedy
from cellwright.server.http.errors import read_error
from cellwright.server.http.page_remedies import IN_A_TERMINAL, PAGE, page_hint
from cellwright.server.http.problems import error_response

OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"cellwright ([a-z-]+(?: [a-z-]+)?)")
QUOTED = re.compile(r"`cellwright [^`]*`")


def foreign(text: str) -> list[str]:
    """What of a text the page has no place for."""
    commands = [found for found in COMMAND.findall(text) if not found.startswith(tuple(IN_A_TERMINAL))]
    return commands + OPTION.findall(QUOTED.sub("", text))


def test_no_remedy_in_the_page_speaks_of_what_only_the_command_line_has() -> None:
    said = {kind: Remedy(kind, dict.fromkeys(ARGUMENTS.get(kind, ()), "x")).said(PAGE) for kind in KINDS}
    assert {kind: found for kind, text in said.items() if (found := foreign(text))} == {}


@pytest.mark.parametrize(
    ("advice", "shown"),
    [
        (remedy("add_data", what="files or folders"), "Add files or folders to the goal."),
        (remedy("see_journal", run="r-1"), "See the list of runs."),
        (
            remedy("see_doctor", lead="Try again;", says="says what is missing"),
            "Try again; “This machine” in the settings says what is missing.",
        ),
        (remedy("allow_uncontained"), "“This machine” in the settings says what is missing."),
        (
            remedy("raise_limit", lead="Name a smaller project, or", limits="disk inodes"),
            "Name a smaller project, or move what is large out of the folder.",
        ),
        (remedy("get_address"), "`cellwright serve url` gives a fresh one."),
        ("Make it first.", "Make it first."),
    ],
)
def test_advice_is_said_in_the_pages_words(advice: str | Remedy, shown: str) -> None:
    assert page_hint(advice) == shown


def test_a_remedy_reaches_a_command_over_the_daemons_socket_as_the_value_it_was() -> None:
    advice = remedy("add_data", lead="Look at secret-1;", what="secret-1 or others")
    answer = error_response(UserError("Nothing at secret-1.", hint=advice), lambda text: text.replace("secret-1", "•"))
    read = read_error(bytes(answer.body), "")
    assert isinstance(read, UserError)
    assert (read.message, read.advice) == ("Nothing at •.", remedy("add_data", lead="Look at •;", what="• or others"))


@pytest.mark.parametrize(
    "more",
    [b"", b',"remedy":null', b',"remedy":{"kind":"dance","arguments":{},"lead":""}', b',"remedy":{"kind":"see_inbox"}'],
    ids=["of the version before", "none", "of a later version", "broken"],
)
def test_a_hint_without_a_remedy_this_version_knows_is_shown_as_its_text(more: bytes) -> None:
    read = read_error(b'{"error":{"kind":"refused","message":"No.","hint":"Ask --nicely."' + more + b"}}", "")
    assert isinstance(read, RefusedByPolicy)
    assert read.advice == "Ask --nicely."
