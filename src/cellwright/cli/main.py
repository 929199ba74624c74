"""`cellwright`: the commands, and how errors become exit codes.

0 done · 1 failed · 2 usage · 3 refused · 4 waiting for a person · 130 interrupted by Ctrl-C
"""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from cellwright.cli import doctor, notebook, render
from cellwright.errors import CellwrightError, Defect, RefusedByPolicy, Unavailable, UserError

app = typer.Typer(
    name="cellwright",
    help="State a goal, get a notebook you can trust.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(notebook.app, name="notebook")
app.command()(doctor.doctor)


def main() -> NoReturn:
    """Run the command line; expected errors end in one line and a hint."""
    try:
        app(standalone_mode=True)
    except CellwrightError as problem:
        render.error(problem)
        sys.exit(exit_code(problem))
    except KeyboardInterrupt:
        render.note("Stopped.")
        sys.exit(130)
    except BaseExceptionGroup as group:
        sys.exit(_end_of_group(group))
    sys.exit(0)


def exit_code(problem: CellwrightError) -> int:
    """Which exit code an error deserves."""
    match problem:
        case UserError():
            return 2
        case RefusedByPolicy():
            return 3
        case Unavailable() | Defect():
            return 1
        case _:
            return 1


def _end_of_group(group: BaseExceptionGroup[BaseException]) -> int:
    """A task group wraps what was raised inside it: an expected error is still an expected error."""
    known, rest = group.split(CellwrightError)
    if rest is not None or known is None:
        if rest is not None and rest.subgroup(KeyboardInterrupt) is rest:
            return 130
        raise group
    problem = _first(known)
    render.error(problem)
    return exit_code(problem)


def _first(group: BaseExceptionGroup[CellwrightError]) -> CellwrightError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


__all__ = ["app", "main"]
