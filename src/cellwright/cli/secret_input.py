"""A secret that is typed without being shown, or piped in; never an argument, which others can read."""

from __future__ import annotations

import getpass
import sys
import warnings
from typing import Final

from cellwright.errors import UserError

_LONGEST: Final = 10_000


def secret_from_person(what: str) -> str:
    """What somebody types at this terminal. Raises `UserError` where nobody can, or where it would be shown."""
    if not sys.stdin.isatty():
        raise UserError("Nobody is at this terminal to type a secret.", hint="Pipe it in with --stdin.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(f"{what} (not shown): ")
    except getpass.GetPassWarning:
        raise UserError("This terminal would show the secret.", hint="Pipe it in with --stdin.") from None


def secret_from_stdin(what: str) -> str:
    """What was piped in. Raises `UserError`."""
    if sys.stdin.isatty():
        raise UserError("--stdin reads from a pipe, and this is a terminal.", hint="Leave --stdin out to type it.")
    text = sys.stdin.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        hint = f"Pipe in {what} and nothing else."
        raise UserError(f"What came from standard input is too long for {what}.", hint=hint)
    return text
