"""Answers to what the host asks about a notebook's variables. No cell runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from marimo._plugins.ui._core.ui_element import UIElement

from cellwright_guest import facts_wire, json_values, previews, variable_facts, wire

if TYPE_CHECKING:
    from marimo._runtime.runtime import Kernel

_PREVIEW_TIMEOUT_SECONDS = 5.0
"""Timeout of all previews of one request."""


def look(asked: wire.Look, kernel: Kernel) -> wire.Looked:
    """Previews of those named, or of all that cells define."""
    held = _held(kernel.globals, asked.names or sorted(kernel.graph.definitions))
    shown = previews.preview_all(held, tokens_each=asked.tokens, seconds=_PREVIEW_TIMEOUT_SECONDS)
    return wire.Looked(request=asked.request, variables=shown)


def take(asked: wire.TakeValues, variables: dict[str, Any]) -> wire.Taken:
    """Those named, whole where JSON can say them."""
    found = [
        json_values.value_of(name, value, tokens=asked.tokens, json_bytes=asked.json_bytes)
        for name, value in _held(variables, asked.names)
    ]
    return wire.Taken(request=asked.request, values=found)


def facts(asked: facts_wire.AskFacts, variables: dict[str, Any]) -> facts_wire.FactsTold:
    """Facts to compare variables by; of a `mo.ui` element, of what it is set to."""
    held = _held(variables, asked.names)
    plain = [(name, value.value if isinstance(value, UIElement) else value) for name, value in held]
    return facts_wire.FactsTold(request=asked.request, facts=variable_facts.facts_of(plain))


def _held(variables: dict[str, Any], names: Iterable[str]) -> list[tuple[str, Any]]:
    return [(name, variables[name]) for name in names if name in variables]
