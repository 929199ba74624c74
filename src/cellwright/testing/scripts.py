"""Which answer a request gets: what was scripted for its like, else the next in line, else what is always said.

Scripts are also read and written as JSON: how another process, or a file, says what is to be answered.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from cellwright.errors import UserError
from cellwright.testing.accounting import Received
from cellwright.testing.answers import Answer, CallTool, CallTools, Fault, Say, SayJson, Tokens
from cellwright.testing.wire.reply import WireRequest

_KINDS: Final[dict[str, type[Answer]]] = {
    "say": Say,
    "call-tool": CallTool,
    "call-tools": CallTools,
    "say-json": SayJson,
    "fault": Fault,
}
_NAMES: Final = {type_: name for name, type_ in _KINDS.items()}


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
            return ScriptFile(line=tuple(map(_answer, value)))
        case {**lists} if set(lists) <= {"line", "always"}:
            return ScriptFile(**{name: tuple(map(_answer, values)) for name, values in lists.items()})
        case _:
            raise UserError("The script is neither a list nor an object with `line` and `always`.")


def write_script(script: ScriptFile) -> str:
    """The script as JSON text."""
    written = {"line": [_written(each) for each in script.line], "always": [_written(each) for each in script.always]}
    return json.dumps(written)


def _answer(value: Any) -> Answer:
    from pydantic import TypeAdapter, ValidationError

    kind = _KINDS.get(str(value.get("does"))) if isinstance(value, dict) else None
    if kind is None:
        raise UserError(f"{value!r} is no answer.", hint=f"`does` is one of: {', '.join(_KINDS)}.")
    given = {name: _inner(name, inner) for name, inner in value.items() if name != "does"}
    known = [field.name for field in fields(kind)]
    if unknown := set(given) - set(known):
        raise UserError(f"{_NAMES[kind]} has no {sorted(unknown)[0]!r}.", hint=f"It has: {', '.join(known)}.")
    try:
        return TypeAdapter[Answer](kind).validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise UserError(f"{_NAMES[kind]}: {path}: {first['msg']}.") from None


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
    from pydantic import TypeAdapter

    kind = type(answer)
    written = {"does": _NAMES[kind]} | TypeAdapter[Answer](kind).dump_python(answer, mode="json")
    return written | {"answer": _written(answer.answer)} if isinstance(answer, Fault) else written


Predicate = Callable[[Received], bool]


class Script:
    """What is to be answered."""

    def __init__(self) -> None:
        self._line: deque[Answer] = deque()
        self._always: deque[Answer] = deque()
        self._rules: list[tuple[Predicate, deque[Answer], bool]] = []

    def add(self, *answers: Answer) -> None:
        """One request each, in this order, after those already waiting."""
        self._line.extend(answers)

    def add_rule(self, predicate: Predicate, *answers: Answer, for_ever: bool) -> None:
        """For requests like these; the first rule that has an answer wins, before the line."""
        self._rules.append((predicate, deque(answers), for_ever))

    def add_file(self, script: ScriptFile) -> None:
        """What a script says, after what is here already."""
        self.add(*script.line)
        self._always.extend(script.always)

    def forget(self) -> None:
        """Nothing is scripted any more."""
        self._line.clear()
        self._always.clear()
        self._rules.clear()

    @property
    def left(self) -> int:
        """How many answers nobody has asked for yet; those of lasting rules do not count."""
        return len(self._line) + sum(len(answers) for _, answers, for_ever in self._rules if not for_ever)

    def next_for(self, received: Received, asked: WireRequest) -> Answer:
        """The answer to this request, taken from the script."""
        for predicate, answers, for_ever in self._rules:
            if answers and predicate(received):
                answer = answers.popleft()
                if for_ever:
                    answers.append(answer)
                return answer
        if self._line:
            return self._line.popleft()
        if self._always:
            self._always.rotate(-1)
            return self._always[-1]
        return echo(asked)


def echo(asked: WireRequest) -> Answer:
    """The user's own last words, or the smallest value of the shape that was asked for."""
    if asked.schema is not None:
        return SayJson(smallest(asked.schema, asked.schema))
    return Say(asked.prompt or "(nothing was said)")


def smallest(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """A small value of a JSON schema's shape: enough for what pydantic writes, not for every schema there is."""
    match schema:
        case {"$ref": str(path)}:
            target: Any = root
            for step in path.removeprefix("#/").split("/"):
                target = target[step]
            return smallest(target, root)
        case {"const": value}:
            return value
        case {"enum": [first, *_]}:
            return first
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"allOf": [first, *_]}:
            return smallest(first, root)
        case {"type": [first, *_]}:
            return smallest({**schema, "type": first}, root)
        case _:
            return _smallest_of_type(schema, root)


def _smallest_of_type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    match schema.get("type", "object").lower():
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "array":
            return [smallest(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "null":
            return None
        case _:
            properties: Mapping[str, Any] = schema.get("properties", {})
            needed = schema.get("required", list(properties))
            return {name: smallest(properties[name], root) for name in needed if name in properties}
