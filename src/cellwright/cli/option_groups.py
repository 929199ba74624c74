"""Options that several commands share: a parameter that is a dataclass stands for one option per field."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import typer

Function = TypeVar("Function", bound=Callable[..., None])


class GroupedCommands(typer.Typer):
    """Commands with a parameter that stands for several options, one for each field of its dataclass."""

    def command(self, *words: Any, **settings: Any) -> Callable[[Function], Function]:
        """Add a command; the function stays as it is."""
        register = super().command(*words, **settings)
        return lambda function: _add(register, function)

    def callback(self, *words: Any, **settings: Any) -> Callable[[Function], Function]:
        """Add what is called first; the function stays as it is."""
        register = super().callback(*words, **settings)
        return lambda function: _add(register, function)


def _add(register: Callable[[Callable[..., None]], object], function: Function) -> Function:
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    own = inspect.signature(function).parameters.values()
    parameters = [each.replace(annotation=hints[each.name]) for each in own if each.name not in groups]
    for kind in groups.values():
        of_fields = get_type_hints(kind, include_extras=True)
        options = inspect.signature(kind).parameters.values()
        parameters += [each.replace(annotation=of_fields[each.name]) for each in options]

    def command(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        function(**given)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # pyrefly: ignore[missing-attribute] - typer reads it
    register(command)
    return function
