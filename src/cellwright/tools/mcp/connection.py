"""One server, spoken with: its tools, a call, a resource. All that comes back is a stranger's, bounded, as our values.

A server may not ask for a model's answer. What it asks the person comes back as `ServerAsks`: nobody is asked here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from pydantic import AnyUrl, BaseModel, Discriminator, Tag, TypeAdapter, ValidationError

from cellwright.errors import Unavailable, UserError
from cellwright.kernel.process.live_program import ProgramFiles
from cellwright.policy.display_text import shown, shown_block
from cellwright.tools.mcp.pins import ServerTool
from cellwright.tools.mcp.server_line import ServerLine

LIST_SECONDS: Final = 60.0
_MOST_PAGES: Final = 20
MOST_TOOLS: Final = 300
_LONGEST_DEFINITION: Final = 60_000
_MOST_ASKED: Final = 4
_MOST_FIELDS: Final = 8
_MOST_RESOURCES: Final = 500
_STATELESS: Final = "2026-07-28"
"""From this version on a server asks by an answer, and not in the middle of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerField:
    """One thing a server wants to know."""

    name: str
    words: str
    choices: tuple[str, ...] = ()
    """Empty: any text."""
    kind: Literal["string", "integer", "number", "boolean"] = "string"
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAsks:
    """A server wants something of the person before it answers a call."""

    key: str
    message: str
    """Its own words."""
    fields: tuple[ServerField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSaid:
    """What the person said to what a server asks; None: no."""

    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAnswer:
    """What a server answered to a call."""

    text: str
    value: Any = None
    image: bytes | None = None
    is_error: bool = False
    asks: tuple[ServerAsks, ...] = ()
    """Not empty: it did not answer yet."""
    state: str | None = None
    """To be given back with the answers to what it asks."""
    files: str = ""
    """What became of the files it changed, in our own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerResource:
    """Something a server lets one read."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""


@dataclass(slots=True)
class Elicited:
    """What a server of the older era asked while it was being called, and what it is to be told."""

    asked: list[ServerAsks] = field(default_factory=list[ServerAsks])
    answers: Mapping[str, PersonSaid] = field(default_factory=dict[str, PersonSaid])
    """By its words: it asks again, under another number."""

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """As the person said; cancelled where nobody was asked yet."""
        if not isinstance(params, types.ElicitRequestFormParams):
            return types.ElicitResult(action="decline")
        asks = _asks(f"{len(self.asked)}", params)
        said = self.answers.get(asks.message)
        if said is not None:
            return _told(said)
        if len(self.asked) < _MOST_ASKED:
            self.asked.append(asks)
        return types.ElicitResult(action="cancel")


@dataclass(frozen=True, slots=True)
class ServerConnection:
    """An open connection. Whatever goes wrong is `Unavailable`, or `UserError` where the server says it."""

    client: Client
    elicited: Elicited
    line: ServerLine
    files: ProgramFiles
    """What is to become of the files that it changes."""

    @property
    def era(self) -> str:
        """The version of the protocol that is spoken."""
        return self.client.protocol_version

    async def tools(self) -> list[ServerTool]:
        """All its tools, as they are now."""
        found, cursor = list[ServerTool](), None
        with anyio.fail_after(LIST_SECONDS):
            for _ in range(_MOST_PAGES):
                page = await self.client.session.send_request(
                    types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor)), types.ListToolsResult
                )
                found += [_tool_of(tool) for tool in page.tools]
                if len(found) > MOST_TOOLS:
                    raise Unavailable(f"It has more than {MOST_TOOLS} tools.", hint="Choose a smaller server.")
                cursor = page.next_cursor
                if not cursor:
                    return found
        raise Unavailable("Its list of tools has no end.")

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        answered: Sequence[tuple[ServerAsks, PersonSaid]] = (),
        state: str | None = None,
        seconds: float,
    ) -> ServerAnswer:
        """Make a call; `answered` is what the person said to what it asked before.

        A server of the older era, which asked in the middle of a call, was told that nobody answers: it is called anew.
        """
        self.elicited.asked.clear()
        self.elicited.answers = {asks.message: said for asks, said in answered}
        is_modern = self.era >= _STATELESS
        params = types.CallToolRequestParams(
            name=name,
            arguments=dict(arguments),
            input_responses={asks.key: _told(said) for asks, said in answered} if answered and is_modern else None,
            request_state=state if is_modern else None,
        )
        with anyio.fail_after(seconds):
            # Not `call_tool`, which would run a stranger's patterns over a stranger's answer, in this process.
            answer = await self.client.session.send_request(types.CallToolRequest(params=params), _ANSWER)
        if isinstance(answer, types.InputRequiredResult):
            return _wanted(answer)
        if self.elicited.asked:
            return ServerAnswer(text="", asks=tuple(self.elicited.asked))
        return _answer_of(answer)

    async def resources(self) -> list[ServerResource]:
        """What it lets one read; none where it has no such thing."""
        if self.client.server_capabilities.resources is None:
            return []
        with anyio.fail_after(LIST_SECONDS):
            page = await self.client.session.send_request(
                types.ListResourcesRequest(params=types.PaginatedRequestParams()), types.ListResourcesResult
            )
        return [
            ServerResource(
                uri=shown(str(each.uri))[:500], name=shown(each.name)[:200],
                description=shown(each.description or "")[:300], mime_type=shown(each.mime_type or "")[:80],
            )
            for each in page.resources[:_MOST_RESOURCES]
        ]  # fmt: skip

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        params = types.ReadResourceRequestParams(uri=str(AnyUrl(uri)))
        with anyio.fail_after(LIST_SECONDS):
            found = await self.client.session.send_request(
                types.ReadResourceRequest(params=params), types.ReadResourceResult
            )
        parts = [_resource_text(each) for each in found.contents]
        return "\n".join(parts)


def why_failed(error: BaseException) -> str:
    """What went wrong with a server, in words; an error of the protocol is in the server's own."""
    if isinstance(error, BaseExceptionGroup):
        return why_failed(error.exceptions[0])
    match error:
        case MCPError():
            return shown_block(f"it answers: {error}"[:1_000])
        case TimeoutError():
            return "it did not answer in time"
        case ValidationError():
            return "what it answers is not in the protocol's form"
        case Unavailable() | UserError():
            return error.message
        case anyio.ClosedResourceError() | anyio.BrokenResourceError() | anyio.EndOfStream():
            return "the connection ended"
        case _:
            return shown_block(f"{type(error).__name__}: {error}"[:500])


def _arm(value: Any) -> str:
    tag = value.get("resultType") if isinstance(value, dict) else getattr(value, "result_type", "")
    return "asks" if tag == "input_required" else "answer"


_ANSWER: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    Annotated[
        Annotated[types.CallToolResult, Tag("answer")] | Annotated[types.InputRequiredResult, Tag("asks")],
        Discriminator(_arm),
    ]
)


def _tool_of(tool: types.Tool) -> ServerTool:
    found = ServerTool(
        name=tool.name,
        title=tool.title or "",
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_plain(tool.annotations),
    )
    if len(found.text) > _LONGEST_DEFINITION:
        raise Unavailable(
            f"Its tool {shown(tool.name)[:80]!r} is described in more than {_LONGEST_DEFINITION} letters."
        )
    return found


def _plain(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _wanted(answer: types.InputRequiredResult) -> ServerAnswer:
    asks = list[ServerAsks]()
    for key, request in (answer.input_requests or {}).items():
        params = getattr(request, "params", None)
        if not isinstance(request, types.ElicitRequest) or not isinstance(params, types.ElicitRequestFormParams):
            what = "a model's answer" if isinstance(request, types.CreateMessageRequest) else "what nobody gives it"
            return ServerAnswer(text=f"It asks for {what}, which is refused.", is_error=True)
        asks.append(_asks(key, params))
    if not asks or len(asks) > _MOST_ASKED:
        return ServerAnswer(text="It asks for too much, or for nothing.", is_error=True)
    return ServerAnswer(text="", asks=tuple(asks), state=answer.request_state)


def _asks(key: str, params: types.ElicitRequestFormParams) -> ServerAsks:
    schema: Any = params.requested_schema
    schema = schema if isinstance(schema, dict) else _plain(schema) or {}
    properties, needed = schema.get("properties"), schema.get("required") or ()
    fields = [
        _field(str(name)[:80], shape if isinstance(shape, dict) else {}, is_required=name in needed)
        for name, shape in list((properties if isinstance(properties, dict) else {}).items())[:_MOST_FIELDS]
    ]
    return ServerAsks(key=key, message=shown_block(params.message)[:2_000], fields=tuple(fields))


def _field(name: str, shape: Mapping[str, Any], *, is_required: bool) -> ServerField:
    kind: Any = shape.get("type") if shape.get("type") in {"integer", "number", "boolean"} else "string"
    listed = shape.get("enum") or [each.get("const") for each in shape.get("oneOf", ()) if isinstance(each, dict)]
    choices = ("yes", "no") if kind == "boolean" else tuple(shown(str(each))[:100] for each in listed[:12])
    words = " – ".join(shown(str(shape[part]))[:300] for part in ("title", "description") if shape.get(part))
    return ServerField(name=name, words=words, choices=choices, kind=kind, is_required=is_required)


def _told(said: PersonSaid) -> types.ElicitResult:
    if said.values is None:
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=dict(said.values))


def _answer_of(result: types.CallToolResult) -> ServerAnswer:
    texts, image = list[str](), None
    for block in result.content:
        match block:
            case types.TextContent():
                texts.append(block.text)
            case types.ImageContent():
                image = image or _bytes(block.data)
                texts.append(f"[a picture, {shown(block.mime_type)[:40]}]")
            case types.EmbeddedResource():
                texts.append(_resource_text(block.resource))
            case types.ResourceLink():
                texts.append(f"[to be read: {shown(str(block.uri))[:500]}]")
            case _:
                texts.append(f"[{block.type}]")
    structured = result.structured_content
    if structured is not None and not texts:
        texts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n".join(texts)
    return ServerAnswer(
        text=text, value=text if structured is None else structured, image=image, is_error=bool(result.is_error)
    )


def _bytes(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return None


def _resource_text(resource: types.TextResourceContents | types.BlobResourceContents) -> str:
    if isinstance(resource, types.TextResourceContents):
        return resource.text
    return f"[{len(resource.blob) * 3 // 4:,} bytes of {shown(resource.mime_type or 'something')[:80]}]"


def sound_names(tools: Sequence[ServerTool]) -> None:
    """Raises `Unavailable` where two tools have one name."""
    names = [tool.name for tool in tools]
    if len(set(names)) != len(names):
        raise Unavailable("Two of its tools have the same name.")


def is_servers_word(error: BaseException) -> bool:
    """Whether the server answered, with an error of the protocol: then it goes on."""
    return isinstance(error, MCPError) and error.code not in _OVER


def read_asks(kept: Any) -> tuple[ServerAsks, ...]:
    """What a server asked, of how a journal kept it."""
    return _ASKS.validate_python(kept or ())


def field_value(field: ServerField, said: str) -> str | int | float | bool | None:
    """What a person said, as the kind of value that is wanted; None: nothing that could be one."""
    try:
        match field.kind:
            case "boolean":
                return said == "yes"
            case "integer":
                return int(said)
            case "number":
                return float(said)
            case _:
                return said or None
    except ValueError:
        return None


_OVER: Final = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT})
_ASKS: Final = TypeAdapter(tuple[ServerAsks, ...])
