"""Scripts as JSON: how another process, or a file, says what is to be answered.

A script is a list of answers, or `{"line": [...], "always": [...]}` whose second list goes round and round once the
first is used up. An answer is an object: `does` names it, the rest are its fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from cellwright.errors import UserError
from cellwright.testing.answers import Answer, CallTool, CallTools, Fault, Say, SayJson, Tokens

_DEEDS: Final[dict[str, type[Answer]]] = {
    "say": Say,
    "call-tool": CallTool,
    "call-tools": CallTools,
    "say-json": SayJson,
    "fault": Fault,
}
_NAMES: Final = {type_: name for name, type_ in _DEEDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFile:
    """What a script says."""

    line: tuple[Answer, ...] = ()
    always: tuple[Answer, ...] = ()


def read_script(text: str | bytes) -> ScriptFile:
    """A script from JSON text. Raises `UserError`."""
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise UserError(f"The script is no JSON: {error}.") from None
    match value:
        case list():
            return ScriptFile(line=_answers(value))
        case {**lists} if set(lists) <= {"line", "always"}:
            return ScriptFile(line=_answers(lists.get("line", [])), always=_answers(lists.get("always", [])))
        case _:
            raise UserError("The script is neither a list nor an object with `line` and `always`.")


def write_script(script: ScriptFile) -> str:
    """The script as JSON text."""
    written = {"line": [_written(each) for each in script.line], "always": [_written(each) for each in script.always]}
    return json.dumps(written)


def _answers(values: Sequence[Any]) -> tuple[Answer, ...]:
    return tuple(_answer(value) for value in values)


def _answer(value: Any) -> Answer:
    from pydantic import TypeAdapter, ValidationError

    deed = _DEEDS.get(str(value.get("does"))) if isinstance(value, dict) else None
    if deed is None:
        raise UserError(f"{value!r} is no answer.", hint=f"`does` is one of: {', '.join(_DEEDS)}.")
    given = {name: _inner(name, inner) for name, inner in value.items() if name != "does"}
    known = [field.name for field in fields(deed) if field.name != "_"]
    if unknown := set(given) - set(known):
        raise UserError(f"{_NAMES[deed]} has no {sorted(unknown)[0]!r}.", hint=f"It has: {', '.join(known)}.")
    try:
        return TypeAdapter[Answer](deed).validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{_NAMES[deed]}: {place}: {first['msg']}.") from None


def _inner(name: str, value: Any) -> Any:
    match name, value:
        case (("tokens" | "reported"), dict()):
            try:
                return Tokens(**value)
            except TypeError as error:
                raise UserError(f"{name}: {error}.") from None
        case "calls", list():
            return tuple(_answer({"does": "call-tool"} | dict(call)) for call in value)
        case "answer", dict():
            return _answer(value)
        case _:
            return value


def _written(answer: Answer) -> dict[str, Any]:
    written: dict[str, Any] = {"does": _NAMES[type(answer)]}
    for field in fields(answer):
        value = getattr(answer, field.name)
        match value:
            case Tokens():
                value = asdict(value)
            case Say() | CallTool() | CallTools() | SayJson():
                value = _written(value)
            case tuple():
                value = [_written(each) for each in value]
            case Mapping():
                value = dict(value)
            case _:
                pass
        written[field.name] = value
    return written
