"""`cellwright`: the commands, and how errors become exit codes.

0 done · 1 failed · 2 usage · 3 refused · 4 waiting for a person · 130 interrupted by Ctrl-C
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from cellwright.cli.render import console
from cellwright.data.broker_process import give_secrets, secret_variables
from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.framing import BadFrame
from cellwright.models.client.gateway_process import hand_over_keys
from cellwright.models.config.keys import key_variables
from cellwright.settings import Settings, forget_variables
from cellwright.telemetry import masked_logs

_COMPLETION = "_CELLWRIGHT_COMPLETE"
"""How a shell says so; the name follows from the program's."""

_COMMANDS = {
    "run": "Turn a goal into a notebook: planned, built, checked from scratch, delivered.",
    "runs": "Runs at work and what came of others: watch, steer, answer, undo.",
    "research": "Answer a question out of documents, with the quotes it rests on.",
    "extract": "Rows with evidence out of documents: PDF, DOCX, HTML, text, e-mails.",
    "review": "Look over a marimo notebook, whoever made it: what is shown to be wrong, by code that fails.",
    "document": "Put names and words into a marimo notebook; nothing that computes is changed.",
    "report": "Show what a run found: as markdown, as its page, or as JSON.",
    "serve": "The daemon in which runs live: start it, look at it, end it.",
    "notebook": "Open a marimo notebook without a browser.",
    "attach": "Work in a notebook that is open in somebody's own `marimo edit`.",
    "data": "Data files and databases: what is in them, and how notebooks reach them.",
    "tools": "Servers whose tools agents may call (MCP): name them, look at what they say, allow it.",
    "inbox": "What runs ask you, and what you have allowed them.",
    "project": "The roles and skills a project brings along, and which of them you have accepted.",
    "rules": "What agents may do here.",
    "audit": "Show every action that was judged: who, what, when, under which rule, with which result.",
    "journal": "What Cellwright keeps of everything that happened.",
    "models": "The models agents use, what they cost, and their keys.",
    "gateway": "The process that holds your API keys and speaks to models.",
    "acp": "Be the agent in an editor: runs as sessions over ACP.",
    "mcp": "Let other people's agents use Cellwright: runs and notebooks as tools over MCP.",
    "doctor": "Check Python, marimo, the sandbox, the zygote, the disk and models.",
}
"""Each is a module beside this one with an `app`, loaded when it is called: a list of commands need not load them."""
_PACKAGES = {"run", "runs"}
"""Commands of several modules, each a package with a module `command`."""
_OF_ALL = {"install_completion", "show_completion"}
_FORMER = {"approvals", "questions"}
"""Spellings of the version before: not listed, each a part of `former_spellings`."""


class _Commands(TyperGroup):
    """The commands by name; only the one that is called is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """As it is listed."""
        return TyperCommand(name=cmd_name, help=_COMMANDS[cmd_name]) if cmd_name in _COMMANDS else None

    def invoke(self, ctx: Any) -> Any:
        """Ctrl-C ends it with a word: without this, typer says nothing."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            console.note("Stopped. A run that had begun stands in `cellwright runs list`.")
            raise typer.Exit(130) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As it is called, or completed."""
        name = args[0]
        if name not in _COMMANDS and name not in _FORMER:
            return super().resolve_command(ctx, args)
        module = f"{name}.command" if name in _PACKAGES else name
        module, part = ("former_spellings", name) if name in _FORMER else (module, "app")
        command = typer.main.get_command(getattr(importlib.import_module(f"cellwright.cli.{module}"), part))
        command.name = name
        # Completion is of the whole program: typer offers to install it with every command it is given.
        command.params = [each for each in command.params if each.name not in _OF_ALL]
        return name, command, args[1:]


app = typer.Typer(
    cls=_Commands,
    name="cellwright",
    help="State a goal, get a notebook you can trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"cellwright {importlib.metadata.version('cellwright')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """State a goal, get a notebook you can trust."""


def main() -> NoReturn:
    """Run the command line; expected errors end in one line and a hint."""
    try:
        # Where a shell asks what could be typed next: no gateway is started and no key handed over for a Tab.
        if _COMPLETION not in Settings.read().environment:
            _hand_over_own_keys()
        with masked_logs():
            app(standalone_mode=True)
    except CellwrightError as problem:
        console.error(problem)
        sys.exit(exit_code(problem))
    except KeyboardInterrupt:
        console.note("Stopped.")
        sys.exit(130)
    except BaseExceptionGroup as group:
        sys.exit(_end_of_group(group))
    sys.exit(0)


def _hand_over_own_keys() -> None:
    """A key in our environment goes to the gateway, a connection's secret to the broker; we begin again without."""
    settings = Settings.read()
    keys, secrets = key_variables(settings.environment), secret_variables(settings.environment)
    if not keys and not secrets:
        return
    if secrets:
        _hand_over_secrets(settings, secrets)
    launch = settings.gateway_launch()
    hand_over_keys(settings.environment, launch.home, sys.orig_argv, warn=console.note, launch=launch, also=secrets)
    # Still here: it began again before, and something put a key back.
    forget_variables([*keys, *secrets])


def _hand_over_secrets(settings: Settings, variables: Mapping[str, str]) -> None:
    values = {name: settings.environment[variable] for variable, name in variables.items()}
    try:
        give_secrets(settings.broker_launch(), values)
    except (CellwrightError, OSError, BadFrame, EOFError) as problem:
        console.note(f"The data broker did not take over {', '.join(sorted(variables))}: {problem}")


def exit_code(problem: CellwrightError) -> int:
    """Which exit code an error deserves."""
    return 2 if isinstance(problem, UserError) else 3 if isinstance(problem, RefusedByPolicy) else 1


def _end_of_group(group: BaseExceptionGroup[BaseException]) -> int:
    """A task group wraps what was raised inside it: an expected error is still an expected error."""
    known, rest = group.split(CellwrightError)
    if rest is not None or known is None:
        if rest is not None and rest.subgroup(KeyboardInterrupt) is rest:
            return 130
        raise group
    problem = _first(known)
    console.error(problem)
    return exit_code(problem)


def _first(group: BaseExceptionGroup[CellwrightError]) -> CellwrightError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
