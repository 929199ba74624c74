"""What was typed after `cellwright run`, as a goal: every mistake is said before anything starts."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

from cellwright.runs import Goal
from cellwright.runs.goal_reading import LONGEST, Typed, no_text, read_goal, read_words


def goal_here(typed: Typed, *, person: str, taken: Collection[str] = ()) -> Goal:
    """The goal, as seen from where this command was started. Raises `UserError`. Blocking."""
    return read_goal(typed, person=person, here=Path.cwd(), taken=taken, has_data=_has_data)


def words_here(typed: str | None) -> str:
    """The goal in words; `-`, or nothing while something is piped in, reads standard input. Raises `UserError`."""
    try:
        if typed == "-" or (typed is None and not sys.stdin.isatty()):
            typed = sys.stdin.read(LONGEST + 1)
    except UnicodeError as error:
        raise no_text() from error
    return read_words(typed or "")


def _has_data(project: Path) -> bool:
    # Only whoever asks for the analyst waits for what knows about data.
    from cellwright.app.run_data import project_data
    from cellwright.tools.project_files import ProjectFiles

    return bool(project_data(ProjectFiles(project)))
