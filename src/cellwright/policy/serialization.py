"""Actions, questions and answers as JSON.

How they are kept, sent and read back. Grants follow from answers: see `grant_of`.

What is read is checked field by field. The values of `approvals` are their own schema; added are the tags that tell
states and replies apart, and what a question is about stands under `action` or `envelope`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cellwright.errors import UserError
from cellwright.policy.actions import ACTIONS, KINDS, Action, Kind
from cellwright.policy.approvals import Answered, No, Pending, QuestionState, Yes
from cellwright.policy.envelope import Envelope

_ACTION_ADAPTERS: Final[Mapping[Kind, TypeAdapter[Action]]] = {
    kind: TypeAdapter(member) for kind, member in ACTIONS.items()
}


def action_json(action: Action) -> dict[str, Any]:
    """An action as plain JSON values, its kind under `"action"`. Money is text: a float would round it."""
    return {"action": action.kind} | _ACTION_ADAPTERS[action.kind].dump_python(action, mode="json")


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
        action = _ACTION_ADAPTERS[kind].validate_json(json.dumps(members), strict=True)
    except (ValidationError, TypeError, ValueError) as error:
        wrong = " cannot be written as JSON"
        if isinstance(error, ValidationError):
            wrong = ", field {!r}: {}".format(*_first_mistake(error))
        raise UserError(f"Action {kind!r}{wrong}.", hint="Every field is needed with its own type.") from error
    kept = action_json(action)
    if lost := [name for name, value in members.items() if kept.get(name, _ABSENT) != value]:
        raise UserError(f"Action {kind!r} has no such field or value: {lost[0]!r}.", hint=f"Known: {', '.join(kept)}.")
    return action


_ABSENT: Final = object()
_KNOWN: Final = f'Give one of {", ".join(ACTIONS)} as "action".'


def _first_mistake(error: ValidationError) -> tuple[str, str]:
    """Where it is, and what."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"]


_QUESTION_HINT: Final = "Was the journal altered?"
_STATES: Final = {"pending": Pending, "answered": Answered}
_REPLIES: Final = {"yes": Yes, "no": No}
_TAGS: Final = {kind: tag for kinds in (_STATES, _REPLIES) for tag, kind in kinds.items()}
# Of lists, because a dataclass alone takes no configuration from here.
_QUESTION_ADAPTERS: Final[dict[type, TypeAdapter[list[Any]]]] = {
    kind: TypeAdapter(list[kind], config=ConfigDict(extra="forbid")) for kind in (*_TAGS, Envelope)
}


def question_json(state: QuestionState) -> dict[str, Any]:
    """A question and what became of it, as plain JSON values."""
    kept = _QUESTION_ADAPTERS[type(state)].dump_python([state], mode="json")[0]
    about = state.question.about
    asked = kept["question"] | {"action": None, "envelope": None}
    asked |= {"envelope": asked.pop("about")} if isinstance(about, Envelope) else {"action": action_json(about)}
    asked.pop("about", None)
    kept["question"] = asked
    if isinstance(state, Answered):
        kept["reply"] = {"says": _TAGS[type(state.reply)]} | kept["reply"]
    return {"state": _TAGS[type(state)]} | kept


def parse_question(data: object) -> QuestionState:
    """The question of `question_json`. Raises `UserError`."""
    try:
        kind, kept = _tagged(data, "state", _STATES)
        if "reply" in kept:
            reply, said = _tagged(kept["reply"], "says", _REPLIES)
            _require("lasts" in said or reply is No, "A yes says how long it lasts.")
            kept["reply"] = _parse(reply, said)
        asked = _object(kept.get("question"))
        action, envelope = asked.pop("action", None), asked.pop("envelope", None)
        is_one = (action is None) != (envelope is None) and "about" not in asked
        _require(is_one, "A question is about an action or about an envelope.")
        _require("expires_at" in asked, "A question says when it lapses, or that it never does.")
        about = parse_action(action) if envelope is None else _parse(Envelope, envelope)
        return cast("QuestionState", _parse(kind, {**kept, "question": {**asked, "about": about}}))
    except ValidationError as error:
        where, what = _first_mistake(error)
        raise UserError(f"No question, at {where.partition('.')[2]!r}: {what}.", hint=_QUESTION_HINT) from error


def _parse(kind: type, data: object) -> Any:
    return _QUESTION_ADAPTERS[kind].validate_python([data])[0]


def _tagged(data: object, tag: str, kinds: dict[str, type]) -> tuple[type, dict[str, Any]]:
    kept = _object(data)
    kind = kinds.get(str(kept.pop(tag, None)))
    if kind is None:
        raise UserError(f"No question, at {tag!r}: it is one of {', '.join(kinds)}.", hint=_QUESTION_HINT)
    return kind, kept


def _object(data: object) -> dict[str, Any]:
    _require(isinstance(data, dict), "No question: it is no JSON object.")
    return dict(cast("dict[str, Any]", data))


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise UserError(message, hint=_QUESTION_HINT)
