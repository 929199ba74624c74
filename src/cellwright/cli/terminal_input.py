"""Who sits at this terminal, and lines they type: waiting for one blocks nothing and can be given up."""

from __future__ import annotations

import os
import sys
from typing import Final

import anyio

from cellwright.background import current_person
from cellwright.cli.render import run_output
from cellwright.policy.approvals import Person

_MOST_BYTES: Final = 4096


def person_here() -> Person:
    """Who sits at this terminal, as the system knows them; what the environment claims does not count."""
    return Person(name=current_person(), door="cli")


def is_interactive() -> bool:
    """Whether a person sits at this terminal: sees what is asked, and can type."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_line(text: str) -> str | None:
    """What is typed after these words; None at the end of input (Ctrl-D)."""
    run_output.prompt(text)
    # Not `input`: a thread that waits for a line cannot be called back when the question is answered elsewhere.
    typed = await next_line()
    return None if typed is None else typed.strip()


async def next_line() -> str | None:
    """The next line of this terminal, which hands over whole lines; None at the end of input."""
    descriptor = sys.stdin.fileno()
    await anyio.wait_readable(descriptor)
    typed = os.read(descriptor, _MOST_BYTES)
    return typed.decode("utf-8", "replace").rstrip("\n") if typed else None
