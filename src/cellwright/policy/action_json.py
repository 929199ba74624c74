"""Actions as JSON: how they are kept, sent and read back. What is read is checked field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.policy.actions import ACTIONS, KINDS, Action, Kind

_ADAPTERS: Final[Mapping[Kind, TypeAdapter[Action]]] = {kind: TypeAdapter(member) for kind, member in ACTIONS.items()}


def action_json(action: Action) -> dict[str, Any]:
    """An action as plain JSON values, its kind under `"action"`. Money is text: a float would round it."""
    return {"action": action.kind} | _ADAPTERS[action.kind].dump_python(action, mode="json")


def parse_action(data: object) -> Action:
    """The action of `action_json`. Raises `UserError` naming the field; an unknown field is an error too.

    ```json
    {"action": "use-network", "host": "api.example.com", "port": 443}
    ```
    """
    if not isinstance(data, dict):
        raise UserError("An action must be a JSON object.", hint=_KNOWN)
    given = cast("dict[str, Any]", data)
    kind = given.get("action")
    if kind not in KINDS:
        raise UserError(f"Unknown action {kind!r}.", hint=_KNOWN)
    members = {name: value for name, value in given.items() if name != "action"}
    try:
        action = _ADAPTERS[kind].validate_json(json.dumps(members), strict=True)
    except (ValidationError, TypeError, ValueError) as error:
        raise UserError(f"Action {kind!r}{_first(error)}", hint="Every field is needed with its own type.") from error
    kept = action_json(action)
    if lost := [name for name, value in members.items() if kept.get(name, _ABSENT) != value]:
        raise UserError(f"Action {kind!r} has no such field or value: {lost[0]!r}.", hint=f"Known: {', '.join(kept)}.")
    return action


_ABSENT: Final = object()
_KNOWN: Final = f'Give one of {", ".join(ACTIONS)} as "action".'


def _first(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return " cannot be written as JSON."
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f", field {field!r}: {first['msg']}."
