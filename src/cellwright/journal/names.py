"""The names the journal gives to runs, their parts and their streams."""

from __future__ import annotations

import re
import secrets
from typing import Final, NewType

from cellwright.errors import UserError

RunId = NewType("RunId", str)
"""A top-level run. Its children are `RUN/name:1`, their children `RUN/name:1/name:2`, and so on."""
QuestionId = NewType("QuestionId", str)
"""A question a run waits for: the workflow that asks, and its step."""
Stream = NewType("Stream", str)
"""Events that are numbered together."""

_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_PLAIN: Final = re.compile(r"[^\x00-\x1f\x7f]{1,300}")


def new_run_id() -> RunId:
    """A name no other run has."""
    return RunId(secrets.token_hex(8))


def run_id(text: str) -> RunId:
    """The text as a run's name. Raises `UserError`."""
    if not _RUN.fullmatch(text):
        raise UserError(
            f"{text!r} is no name for a run.", hint="Letters, digits, dot, dash and underscore, at most 100."
        )
    return RunId(text)


def run_of(workflow: str) -> RunId:
    """The top-level run a workflow belongs to."""
    return RunId(workflow.partition("/")[0])


def stream_of(run: str) -> Stream:
    """Where everything about a run, children included, is told."""
    return Stream(f"run:{run_of(run)}")


def plain(text: str, what: str) -> str:
    """The text, if it may name a stream or an event: one line, nothing invisible. Raises `UserError`."""
    if not _PLAIN.fullmatch(text):
        raise UserError(f"{text!r} is no name for a {what}.", hint="One line of at most 300 characters.")
    return text
