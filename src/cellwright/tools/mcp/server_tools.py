"""Tools made of what a person allowed of servers. What a server says of them is told as its words, never as ours.

Every call is taken for one that may change something, whatever the server says: it is judged, and made once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cellwright.errors import UserError
from cellwright.journal.effects import EffectFinding, EffectFound
from cellwright.journal.questions import Question
from cellwright.policy.actions import Action, CallServerTool
from cellwright.policy.display_text import shown
from cellwright.tools.mcp.pins import ServerTool
from cellwright.tools.mcp.tool_servers import CallUnanswered, ToolServers
from cellwright.tools.notebook_tools import ASKED
from cellwright.tools.tool import CallContext, Done, OneMore, Tool, ToolError, ToolResult, result_json

if TYPE_CHECKING:
    from cellwright.tools.mcp.connection import PersonSaid, ServerAnswer, ServerAsks

LISTED: Final = 15
"""Tools of servers that have a line in every prompt; the others are found by their words."""
_LONGEST_NAME: Final = 64
_LONGEST_WORDS: Final = 700
_LONGEST_FIELD: Final = 200
_LONGEST_SHAPE: Final = 12_000
_LONGEST_ARGUMENTS: Final = 1_000_000
_MOST_ROUNDS: Final = 3
_ASKS: Final = "server_asks"
_DECLINE: Final = "Do not answer it"
_ANSWER: Final = "Answer it"
_UNKNOWN: Final = "It was called, and nobody knows whether it was done: look. It is not called again by itself."


def server_tools(servers: ToolServers) -> list[Tool]:
    """A tool for each that a person allowed, in the order of servers and names."""
    found, taken = list[Tool](), set[str]()
    for server, allowed in servers.allowed.items():
        for _, each in sorted(allowed.items()):
            name = tool_name(server, each.tool.name, taken)
            taken.add(name)
            found.append(_tool_of(servers, server, each.tool, name, is_listed=len(found) < LISTED))
    return found


def tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """What agents call it: `server__tool`, in letters every provider takes."""
    name = f"{server}__{re.sub(r'[^A-Za-z0-9_]', '_', tool)}".replace("-", "_")
    if len(name) > _LONGEST_NAME or name in taken:
        name = f"{name[: _LONGEST_NAME - 7]}_{hashlib.sha256(tool.encode()).hexdigest()[:6]}"
    return name


def _tool_of(servers: ToolServers, server: str, tool: ServerTool, name: str, *, is_listed: bool) -> Tool:
    called = _ServerCall(servers, server, tool)
    words = " ".join(shown((tool.description or tool.title or tool.name).replace("\n", " ")).split())
    clipped = words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]} …"
    return Tool(
        name=name,
        description=f"The server {server} says: “{clipped.replace('”', '')}”",
        parameters=told_shape(tool.input_schema),
        run=called.run,
        validate=partial(_checked, tool.input_schema),
        action=called.action,
        comes_with="query",
        is_listed=is_listed,
        is_foreign=True,
        changes=True,
        find=called.find,
        go_on=called.go_on,
        seconds=None,
    )


class _ServerCall:
    """Calls of one tool."""

    def __init__(self, servers: ToolServers, server: str, tool: ServerTool) -> None:
        self._servers = servers
        self._server = server
        self._tool = tool

    def action(self, arguments: Mapping[str, Any]) -> Action:
        """What policy is asked about: the server's own name of it, and everything that will be sent."""
        return CallServerTool.of(self._server, self._tool.name, arguments, may_change=self._tool.may_change)

    async def run(self, arguments: Mapping[str, Any], calling: CallContext) -> ToolResult:
        """The first round."""
        return await self._round(arguments, calling, ())

    async def find(self, _: Any, __: CallContext) -> EffectFinding:
        """After a crash: nobody can look into somebody else's server, and it is never called twice by itself."""
        return EffectFound(result=result_json(Done(text=_UNKNOWN, value={"outcome": "unknown"})))

    async def go_on(
        self, arguments: Mapping[str, Any], calling: CallContext, result: ToolResult, one_more: OneMore
    ) -> ToolResult:
        """What the server asks is asked of the person, and the call goes on with what they said."""
        from cellwright.tools.mcp.connection import PersonSaid, read_asks

        for number in range(1, _MOST_ROUNDS + 1):
            asked = read_asks(_asked_in(result))
            if not asked:
                return result
            answered = [
                (asks, await self._ask(calling, asks) if self._servers.asks else PersonSaid()) for asks in asked
            ]
            work = partial(self._round, arguments, calling, answered)
            result = await one_more(f"answered {number}", work, partial(self.find, None, calling))
        return ToolError(kind="failed", message=f"The server {self._server} asks again and again.")

    async def _round(
        self, arguments: Mapping[str, Any], calling: CallContext, answered: Sequence[tuple[ServerAsks, PersonSaid]]
    ) -> ToolResult:
        states = self._servers.states
        try:
            answer = await self._servers.call(
                self._server, self._tool.name, arguments, answered=answered, state=states.pop(calling.key, None)
            )
        except CallUnanswered as problem:
            return ToolError(kind="unavailable", message=f"{problem.message} {_UNKNOWN}", is_untrusted=True)
        if answer.asks:
            states[calling.key] = answer.state
            asks = [asdict(each) for each in answer.asks]
            return Done(text="The server asks something of the person first.", value={_ASKS: asks}, is_untrusted=True)
        return _told(answer)

    async def _ask(self, calling: CallContext, asks: ServerAsks) -> PersonSaid:
        from cellwright.tools.mcp.connection import PersonSaid, field_value

        head = (
            f"The tool server {self._server!r} asks this, in its own words, while {self._tool.name!r} is called. "
            "What you answer goes to it: no password, no key."
        )
        said = await self._one(calling, f"{head}\n\n{asks.message}", (_ANSWER, _DECLINE))
        if said != _ANSWER:
            return PersonSaid()
        values = dict[str, Any]()
        for field in asks.fields:
            text = f"For the tool server {self._server!r}: {field.name}" + (f" ({field.words})" if field.words else "")
            said = await self._one(calling, text, (*field.choices, _DECLINE) if field.choices else ())
            if said == _DECLINE:
                return PersonSaid()
            if (value := field_value(field, said)) is not None:
                values[field.name] = value
        return PersonSaid(values=values)

    async def _one(self, calling: CallContext, text: str, choices: Sequence[str]) -> str:
        body = {"call": calling.call.id, "server": self._server}
        said: Any = await calling.flow.ask(Question(topic=ASKED, text=text, choices=tuple(choices), body=body))
        return str(said.get("choice", "") if isinstance(said, dict) else said)


def _asked_in(result: ToolResult) -> Any:
    """What the server asked, as the journal kept it; None if it answered."""
    return result.value.get(_ASKS) if isinstance(result, Done) and isinstance(result.value, dict) else None


def _told(answer: ServerAnswer) -> ToolResult:
    text = "\n".join(filter(None, [answer.text or "It answered with nothing.", answer.files]))
    if answer.is_error:
        return ToolError(kind="failed", message=f"The server says that it failed: {text}", is_untrusted=True)
    return Done(text=text, value=answer.value, image=answer.image, is_untrusted=True)


# ── arguments ──


def _checked(schema: Mapping[str, Any], arguments: Any) -> dict[str, Any]:
    """The arguments. Raises `UserError`. The server checks the rest: a stranger's patterns are not run here."""
    given = dict(arguments)
    properties = schema.get("properties")
    known = set(properties) if isinstance(properties, dict) else set[str]()
    needed = schema.get("required")
    missing = [str(name) for name in needed if name not in given] if isinstance(needed, list) else []
    if missing:
        raise UserError(f"{', '.join(missing)[:200]} is missing.")
    if schema.get("additionalProperties") is False and (more := sorted(set(given) - known)):
        raise UserError(f"it takes no {', '.join(more)[:200]}.")
    if len(json.dumps(given)) > _LONGEST_ARGUMENTS:
        raise UserError("the arguments are too long.")
    return given


def told_shape(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the arguments as a model is told of it: its words clipped, nothing invisible, an object."""
    shape = _clipped(schema, 0)
    if not isinstance(shape, dict) or len(json.dumps(shape)) > _LONGEST_SHAPE:
        names = schema.get("properties")
        shape = {"properties": {shown(str(name)): {} for name in list(names)[:40]} if isinstance(names, dict) else {}}
    shape.pop("$schema", None)
    return shape | {"type": "object", "properties": shape.get("properties") or {}}


def _clipped(value: Any, depth: int) -> Any:
    match value:
        case str():
            return shown(value.replace("\n", " "))[:_LONGEST_FIELD]
        case dict() if depth < 12:
            return {shown(str(name))[:_LONGEST_FIELD]: _clipped(each, depth + 1) for name, each in value.items()}
        case list() if depth < 12:
            return [_clipped(each, depth + 1) for each in value[:100]]
        case dict() | list():
            return {}
        case _:
            return value
