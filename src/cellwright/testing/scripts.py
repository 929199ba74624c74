"""Which answer a request gets: what was scripted for its like, else the next in line, else what is always said.

Scripts are also read and written as JSON: how another process, or a file, says what is to be answered.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cellwright.errors import UserError
from cellwright.testing.accounting import Received
from cellwright.testing.answers import Answer, Say, SayJson
from cellwright.testing.wire.reply import WireRequest

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFile:
    """What a script says."""

    line: tuple[Answer, ...] = ()
    always: tuple[Answer, ...] = ()


def read_script(text: str | bytes) -> ScriptFile:
    """A script from JSON text: a list of answers, or an object with `line` and `always`. Raises `UserError`."""
    from pydantic import ValidationError

    try:
        value: Any = json.loads(text)
        return ScriptFile(**_adapter().validate_python({"line": value} if isinstance(value, list) else value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the script"
        raise UserError(f"{place}: {first['msg']}.", hint="See docs/testing.md for what a script says.") from None
    except ValueError as error:
        raise UserError(f"The script is no JSON: {error}.") from None


def write_script(script: ScriptFile) -> str:
    """The script as JSON text."""
    return _adapter().dump_json({"line": script.line, "always": script.always}).decode()


@cache
def _adapter() -> TypeAdapter[dict[Literal["line", "always"], tuple[Answer, ...]]]:
    # Here, because it is slow to load and most tests read no script.
    from pydantic import Discriminator, TypeAdapter

    return TypeAdapter(dict[Literal["line", "always"], tuple[Annotated[Answer, Discriminator("does")], ...]])


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

    def next_for(self, received: Received) -> Answer:
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
        return echo(received)


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
