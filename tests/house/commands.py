"""The tree of CLI commands, and what of it no page mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import typer
import typer.main


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing a person can type."""

    words: str
    options: tuple[str, ...]


def commands(app: typer.Typer, name: str) -> list[Command]:
    """Every command of an app that does something, with its long options."""
    return sorted(_walk(typer.main.get_command(app), name), key=lambda command: command.words)


def undocumented(tree: Iterable[Command], pages: Iterable[str]) -> list[str]:
    """Commands and options that no page names; an option must stand on a page that names its command."""
    texts = list(pages)
    found: list[str] = []
    for command in tree:
        about = [text for text in texts if _mentions(text, command.words)]
        if not about:
            found.append(command.words)
        found += [
            f"{command.words} {option}"
            for option in command.options
            if about and not any(_mentions(text, option) for text in about)
        ]
    return found


def _walk(command: Any, words: str) -> Iterator[Command]:
    for name, below in _below(command):
        if not below.hidden:
            yield from _walk(below, f"{words} {name}")
    options = tuple(
        option
        for parameter in command.params
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--") and option not in {"--help", "--install-completion", "--show-completion"}
    )
    if options or not hasattr(command, "commands"):
        yield Command(words=words, options=options)


def _below(command: Any) -> list[tuple[str, Any]]:
    """Sub-commands, also those that are loaded only when asked for."""
    if not hasattr(command, "list_commands"):
        return []
    context = command.context_class(command)
    return [(name, command.resolve_command(context, [name])[1]) for name in command.list_commands(context)]


def _mentions(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", text) is not None
