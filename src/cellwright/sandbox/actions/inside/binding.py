"""A call's arguments under their parameters' names, with Python's own words for what does not fit."""

from __future__ import annotations

from typing import Any, TypedDict


class Parameters(TypedDict):
    """What a tool can be called with."""

    names: list[str]
    """In their order."""
    required: list[str]
    is_open: bool
    """Other names are taken too."""


def bind(tool: str, parameters: Parameters, positional: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name; `TypeError` as a Python function would raise it."""
    names = parameters["names"]
    if len(positional) > len(names):
        raise TypeError(f"{tool}() takes {len(names)} arguments but {len(positional)} were given")
    bound = dict(zip(names, positional, strict=False))
    for name, value in keywords.items():
        if name in bound:
            raise TypeError(f"{tool}() got multiple values for argument '{name}'")
        if name not in names and not parameters["is_open"]:
            known = ", ".join(names) or "nothing"
            raise TypeError(f"{tool}() got an unexpected keyword argument '{name}'; it takes {known}")
        bound[name] = value
    missing = [repr(name) for name in parameters["required"] if name not in bound]
    if missing:
        raise TypeError(f"{tool}() is missing required arguments: {', '.join(missing)}")
    return bound
