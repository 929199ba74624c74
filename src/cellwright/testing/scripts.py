"""Which answer a request gets: what was scripted for its like, else the next in line, else what is always said."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from cellwright.testing.answers import Answer, Say, SayJson
from cellwright.testing.requests import Received
from cellwright.testing.script_file import ScriptFile
from cellwright.testing.wire.reply import Asked

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

    def next_for(self, received: Received, asked: Asked) -> Answer:
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


def echo(asked: Asked) -> Answer:
    """The user's own last words, or the smallest value of the shape that was asked for."""
    if asked.schema is not None:
        return SayJson(smallest(asked.schema, asked.schema))
    return Say(asked.prompt or "(nothing was said)")


def smallest(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """A small value of a JSON schema's shape: enough for what pydantic writes, not for every schema there is."""
    match schema:
        case {"$ref": str(place)}:
            target: Any = root
            for step in place.removeprefix("#/").split("/"):
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
    match schema.get("type", "object"):
        case "string" | "STRING":
            return "x" * max(1, schema.get("minLength", 1))
        case "integer" | "number" | "INTEGER" | "NUMBER":
            return schema.get("minimum", 0)
        case "boolean" | "BOOLEAN":
            return False
        case "array" | "ARRAY":
            return [smallest(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "null" | "NULL":
            return None
        case _:
            properties: Mapping[str, Any] = schema.get("properties", {})
            needed = schema.get("required", list(properties))
            return {name: smallest(properties[name], root) for name in needed if name in properties}
