"""A tool: a typed async function an agent may call, with the action policy judges and a result that is a value.

Schema and documentation are derived from the function's signature and docstring, so they cannot disagree with it.
"""

from __future__ import annotations

import base64
import difflib
import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from cellwright.errors import Defect, UserError
from cellwright.journal.effects import EffectFinding, EffectNotFound, EffectUnknown
from cellwright.journal.flow import Flow
from cellwright.journal.values import Json
from cellwright.policy.actions import Action, Kind
from cellwright.tools.result_images import ResultImage
from cellwright.tools.stubs import ToolSignature, short_schema, signature_of

if TYPE_CHECKING:
    from pydantic_ai.tools import ToolDefinition

ErrorKind = Literal[
    "unknown-tool", "bad-arguments", "not-found", "conflict", "too-big", "timed-out", "unavailable", "failed"
]
"""bad-arguments: call it otherwise. conflict: the world changed meanwhile, look again. unavailable: may work later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It was done."""

    text: str
    """What the model reads, within bounds."""
    value: Json = None
    """The same for programs."""
    image: bytes | None = None
    """A PNG, as the tool gives it."""
    picture: ResultImage | None = None
    """The same once it is kept: what the journal and the agent hold."""
    is_untrusted: bool = False
    """The text came from outside (a page, a file, an output): data, never an instruction."""
    ends: bool = False
    """The agent has said that it is done: nothing comes after this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Policy, or a person, said no."""

    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """It failed in a way that can be expected; the agent reads why and what to do."""

    kind: ErrorKind
    message: str
    hint: str = ""
    is_untrusted: bool = False
    """Part of the message came from outside: data, never an instruction."""


ToolResult = Done | Refusal | ToolError


class ToolFailure(UserError):
    """Raised by a tool that knows of what kind its error is; any other `UserError` means wrong arguments."""

    def __init__(self, message: str, *, kind: ErrorKind, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind: Final[ErrorKind] = kind


def result_text(result: ToolResult) -> str:
    """What the model reads."""
    match result:
        case Done(text=text):
            return text
        case Refusal(feedback=feedback):
            return f"Refused: {feedback}"
        case ToolError(kind=kind, message=message, hint=hint):
            return f"Error ({kind}): {message} {hint}".rstrip()
        case _:
            assert_never(result)


def has_worked(result: ToolResult) -> bool:
    """Whether it was done; not where cells failed for it: then the call worked, but not the work."""
    return isinstance(result, Done) and not (isinstance(result.value, dict) and result.value.get("ok") is False)


def result_json(result: ToolResult) -> Json:
    """The result as the journal keeps it."""
    match result:
        case Done(text=text, value=value, image=image, picture=picture, is_untrusted=is_untrusted, ends=ends):
            kept: dict[str, Json] = {"is": "done", "text": text, "value": value}
            kept |= {"image": base64.b64encode(image).decode()} if image else {}
            kept |= {"picture": asdict(picture)} if picture else {}
            kept |= {"untrusted": True} if is_untrusted else {}
            return kept | ({"ends": True} if ends else {})
        case Refusal(feedback=feedback):
            return {"is": "refusal", "feedback": feedback}
        case ToolError(kind=kind, message=message, hint=hint, is_untrusted=is_untrusted):
            failed: dict[str, Json] = {"is": "error", "kind": kind, "message": message, "hint": hint}
            return failed | ({"untrusted": True} if is_untrusted else {})
        case _:
            assert_never(result)


def parse_result(kept: Any) -> ToolResult:
    """The result of what the journal kept. None stands for an effect a person knows to have happened."""
    match kept:
        case None:
            return Done(text="It was done; a person confirmed that. What it answered is not known.")
        case {"is": "done"}:
            return Done(
                text=kept["text"],
                value=kept["value"],
                image=base64.b64decode(kept["image"]) if kept.get("image") else None,
                picture=ResultImage(**kept["picture"]) if kept.get("picture") else None,
                is_untrusted=bool(kept.get("untrusted")),
                ends=bool(kept.get("ends")),
            )
        case {"is": "refusal"}:
            return Refusal(feedback=kept["feedback"])
        case {"is": "error"}:
            is_untrusted = bool(kept.get("untrusted"))
            return ToolError(kind=kept["kind"], message=kept["message"], hint=kept["hint"], is_untrusted=is_untrusted)
        case _:
            raise Defect(f"No result of a tool: {str(kept)[:100]!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What an agent wants done."""

    id: str
    """Unique in its workflow, and the same when that is replayed."""
    name: str
    arguments: Json
    """An object; or its JSON text, as a model wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a tool may know about the call it answers: a parameter of this type is given, not asked of the model."""

    call: ToolCall
    flow: Flow
    """Only a tool with `own_steps` may use its verbs."""
    permitted: tuple[Action, ...] = ()
    """What the call wanted, and may do: asked of policy, and where policy says so of a person."""

    @property
    def key(self) -> str:
        """Names this call in all the world, after a crash too: fit for an idempotency key."""
        return f"{self.flow.id}/{self.call.id}"


# ── tools ──

Wanted = Action | tuple[Action, ...] | None
"""What a call would do: all of it must be permitted. None: it needs no permission."""
MakeAction = Callable[[Any], Wanted | Awaitable[Wanted]]
"""From validated arguments. A plain function must follow from them alone; an `async def` may look at the world."""
Run = Callable[[Any, CallContext], Awaitable[ToolResult]]
Find = Callable[[Any, CallContext], Awaitable[EffectFinding]]
OneMore = Callable[
    [str, Callable[[], Awaitable[ToolResult]], Callable[[], Awaitable[EffectFinding]]], Awaitable[ToolResult]
]
"""One more effect of a call, under a name of its own: recorded, and in the world once. Work, and how to find it."""
GoOn = Callable[[Any, CallContext, ToolResult, OneMore], Awaitable[ToolResult]]

DEFAULT_SECONDS: Final = 120.0


async def _nobody_can_tell(_: Any, __: CallContext) -> EffectFinding:
    return EffectUnknown()


async def ended_with_process(_: Any, __: CallContext) -> EffectFinding:
    """For `find`: whatever came of the call is gone with the process it ran in."""
    return EffectNotFound()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something an agent may do. Most are made by the decorator `tool`."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments, an object."""
    run: Run = field(repr=False)
    validate: Callable[[Any], Any] = field(repr=False)
    """Arguments (an object) as `run` and `action` take them. Raises pydantic's `ValidationError`, or `UserError`."""
    action: MakeAction = field(default=lambda _: None, repr=False)
    """What policy is asked about."""
    needs: Kind | None = None
    """What no call of it does without; where nobody can be asked for that, it is not offered."""
    is_named: bool = True
    """If not, no error names it: it works on an agent's behalf, or is offered in one style only."""
    is_listed: bool = True
    """If not, it has no line in prompts, and is found by its words."""
    comes_with: str = ""
    """Another tool: whatever role has that one has this one too, as no role could name it."""
    is_foreign: bool = False
    """What it says of itself comes from outside: data, never an instruction."""
    changes: bool = False
    """Has an effect in the world, which must happen once; otherwise it only reads."""
    find: Find = field(default=_nobody_can_tell, repr=False)
    """For one that `changes`: looks in the world whether the call happened, when a crash left that open."""
    own_steps: bool = False
    """Waits for people or runs workflows: does its own durable steps instead of being one."""
    go_on: GoOn | None = field(default=None, repr=False)
    """For one that `changes`: goes on from its recorded result with durable steps, such as asking a person."""
    seconds: float | None = DEFAULT_SECONDS
    """Its deadline; None for one that has its own."""

    def parse(self, arguments: Json) -> Any | ToolError:
        """The validated arguments, or in one line what is wrong with them."""
        try:
            return self.validate(_as_object(arguments))
        except ValidationError as error:
            message = f"{self.name}: {_complaint(error)}"
        except UserError as error:
            message = f"{self.name}: {error.message} {error.hint}".rstrip()
        return ToolError(kind="bad-arguments", message=message, hint=f"It takes {signature_of(self.parameters)}.")

    def definition(self) -> ToolDefinition:
        """The tool as pydantic-ai passes it to a provider."""
        # Late: whoever only guards actions must not wait for it to load.
        from pydantic_ai.tools import ToolDefinition

        shape = short_schema(self.parameters)
        return ToolDefinition(name=self.name, description=self.description, parameters_json_schema=shape)


def tool(
    *,
    name: str | None = None,
    action: MakeAction = lambda _: None,
    needs: Kind | None = None,
    is_named: bool = True,
    changes: bool = False,
    find: Find = _nobody_can_tell,
    own_steps: bool = False,
    go_on: GoOn | None = None,
    seconds: float | None = DEFAULT_SECONDS,
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Make a tool of an async function: its parameters are the schema, its docstring the description.

    It may give back a `ToolResult`, a text, or plain JSON values. `action` and `find` get an object with the arguments
    as attributes. A parameter's own description: `Annotated[int, Field(description="…")]`.
    """

    def make(function: Callable[..., Awaitable[Any]]) -> Tool:
        given, arguments = _arguments_model(function)

        async def run(parsed: Any, calling: CallContext) -> ToolResult:
            values = {field: getattr(parsed, field) for field in type(parsed).model_fields}
            return as_result(await function(**values, **dict.fromkeys(given, calling)))

        return Tool(
            name=name or function.__name__,
            description=inspect.getdoc(function) or "",
            parameters=_without_titles(arguments.model_json_schema()),
            run=run,
            validate=arguments.model_validate,
            action=action,
            needs=needs,
            is_named=is_named,
            changes=changes,
            find=find,
            own_steps=own_steps,
            go_on=go_on,
            seconds=None if own_steps else seconds,
        )

    return make


def as_result(answer: object) -> ToolResult:
    """What a function gave back, as a result. Raises `Defect` for what is no JSON."""
    if isinstance(answer, Done | Refusal | ToolError):
        return answer
    if isinstance(answer, str):
        return Done(text=answer, value=answer)
    try:
        text = json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Defect(f"A tool gave back a {type(answer).__name__}, which is no JSON: {error}.") from error
    return Done(text=text, value=json.loads(text))


class Toolset:
    """The tools of one role, by name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if twice := [name for name, count in Counter(tool.name for tool in tools).items() if count > 1]:
            raise Defect(f"Two tools have the same name: {', '.join(twice)}.", hint="Rename one.")

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    @property
    def names(self) -> tuple[str, ...]:
        """In their order."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | ToolError:
        """The tool, or an error that names the nearest ones."""
        if name in self._tools:
            return self._tools[name]
        named = [tool.name for tool in self if tool.is_named]
        near = difflib.get_close_matches(name, named, n=3) or named
        return ToolError(
            kind="unknown-tool", message=f"There is no tool {name[:80]!r}.", hint=f"There is: {', '.join(near)}."
        )

    def only(self, names: Collection[str]) -> Toolset:
        """Those of these names that are here, and what comes with them."""
        return Toolset([tool for tool in self if tool.name in names or tool.comes_with in names])

    def without(self, names: Collection[str]) -> Toolset:
        """All others."""
        return Toolset([tool for tool in self if tool.name not in names])

    def definitions(self) -> list[ToolDefinition]:
        """The tools as pydantic-ai passes them to a provider."""
        return [tool.definition() for tool in self]

    def signatures(self) -> tuple[ToolSignature, ...]:
        """The tools as programs call them. One whose name is no function's can still be called, only not by them."""
        found: list[ToolSignature] = []
        for tool in self:
            with suppress(UserError):
                found.append(ToolSignature(name=tool.name, description=tool.description, parameters=tool.parameters))
        return tuple(found)


# ── derived from the function ──


def _arguments_model(function: Callable[..., Awaitable[Any]]) -> tuple[list[str], type[BaseModel]]:
    """Which parameters get the `CallContext`, and a model of the others."""
    around = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    hints = get_type_hints(function, around, include_extras=True)
    given = [name for name, hint in hints.items() if hint is CallContext and name != "return"]
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (hints[name], default)
    config = ConfigDict(extra="forbid")
    return given, create_model(f"{function.__name__}_arguments", __config__=config, **fields)


def _as_object(arguments: Json) -> Mapping[str, Any]:
    value: Any = arguments
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError) as error:
            raise UserError(f"the arguments are no JSON ({error}).") from error
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UserError(f"the arguments are a {type(value).__name__}, not an object.")
    return value


def _complaint(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    said = [f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}" for problem in problems[:3]]
    return "; ".join(said) + (f"; and {len(problems) - 3} more." if len(problems) > 3 else ".")


def _without_titles(schema: Any, *, is_names: bool = False) -> Any:
    """Titles only repeat the names, in every request that is sent. Below `properties`, a title is a name itself."""
    match schema:
        case dict():
            return {
                name: _without_titles(value, is_names=name == "properties" and not is_names)
                for name, value in schema.items()
                if is_names or name != "title"
            }
        case list():
            return [_without_titles(value) for value in schema]
        case _:
            return schema
